#include "gateway/activity/kernels.h"

#include <algorithm>

#include "json/parse.h"
#include "model/time.h"

namespace hekla::gateway {

std::optional<WallTime> last_use(std::string_view answer, WallTime now) {
  const Result<json::Value> all = json::parse(answer);
  if (!all || !all->is_array()) return std::nullopt;
  std::optional<WallTime> last;
  for (const json::Value& one : all->get_array()) {
    if (!one.is_object()) continue;
    if (json::string_at(one, {"execution_state"}) == "busy") return now;
    const Result<WallTime> used = model::parse_rfc3339(json::string_at(one, {"last_activity"}));
    if (used) last = std::max(last.value_or(WallTime{}), std::min(*used, now));
  }
  return last;
}

Result<std::unique_ptr<KernelAsker>> KernelAsker::make(net::OpenSocket sockets, Activity& activity,
                                                       const Clock& clock) {
  net::ClientOptions options;
  options.open_socket = std::move(sockets);
  options.connect_timeout = std::chrono::seconds(5);
  auto client = TRY(net::Client::make(std::move(options)));
  return std::make_unique<KernelAsker>(std::move(client), activity, clock);
}

void KernelAsker::ask(const RouteTable& table) {
  for (const RouteTable::NotebookServer& server : table.notebook_servers())
    for (const char* what : {"api/kernels", "api/terminals"}) {
      net::ClientRequest request;
      request.url = "http://" + server.at.address + ":" + std::to_string(server.at.port) +
                    server.prefix + what;
      request.headers.set("Accept", "application/json");
      request.timeout = std::chrono::seconds(5);
      request.max_body_bytes = 1 << 20;
      client_->send(std::move(request),
                    [&activity = activity_, &clock = clock_,
                     notebook = server.notebook](const Result<net::Response>& answer) {
                      if (!answer || answer->status != 200) return;
                      if (const auto used = last_use(answer->body, clock.wall()))
                        activity.mark(notebook)->note(*used);
                    });
    }
}

}  // namespace hekla::gateway
