#include "dashboard/page/answer.h"

namespace hekla::dashboard {

net::Response json_response(const json::Value& value, int status) {
  net::Response out;
  out.status = status;
  out.headers.set("Content-Type", "application/json");
  out.headers.set("Cache-Control", "no-store");
  out.headers.set("X-Content-Type-Options", "nosniff");
  out.headers.set("Cross-Origin-Resource-Policy", "same-origin");
  out.body = json::serialize(value) + "\n";
  return out;
}

net::Response error_response(const Error& error) {
  const int status = http_status_of(error.code);
  return json_response(json::Object{{"kind", "Status"},
                                    {"apiVersion", "v1"},
                                    {"status", "Failure"},
                                    {"message", error.message},
                                    {"reason", reason_of(error.code)},
                                    {"code", status}},
                       status);
}

void on_loop(Executor& loop, const std::shared_ptr<net::ResponseWriter>& writer, Task task) {
  if (!loop.try_post(task))
    writer->respond(error_response({Code::too_many_requests, "busy; come again"}));
}

}  // namespace hekla::dashboard
