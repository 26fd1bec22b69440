#include "objects/serving/call.h"

#include "objects/wire/xml.h"

namespace hekla::objects {

net::Headers Call::headers() const {
  net::Headers headers;
  headers.add("Server", "Hekla");
  headers.add("x-amz-request-id", id);
  headers.add("Date", http_time(store.clock().wall()));
  return headers;
}

void Call::answer(int status, net::Headers more, std::string body) {
  net::Response response;
  response.status = status;
  response.headers = headers();
  for (const auto& [name, value] : more.all()) response.headers.add(name, value);
  response.body = std::move(body);
  writer->respond(std::move(response));
}

void Call::answer_xml(std::string body, net::Headers more) {
  more.add("Content-Type", "application/xml");
  answer(200, std::move(more), std::move(body));
}

void Call::fail(const S3Error& error) {
  if (error.status == 304 || request.method == "HEAD") return answer(error.status);
  net::Headers more;
  more.add("Content-Type", "application/xml");
  const std::string resource = "/" + bucket + (key.empty() ? "" : "/" + key);
  answer(error.status, std::move(more), error_document(error, resource, id));
}

void Call::resume(const CallPtr& call, Task task) {
  if (call->thread && call->thread->post(task)) return;
  if (task) task();
}

}  // namespace hekla::objects
