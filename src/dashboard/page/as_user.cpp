#include "dashboard/page/as_user.h"

#include <cctype>
#include <utility>

#include "base/check.h"

namespace hekla::dashboard {

namespace {

// Headers that may go on to the API server: none that says who asks.
bool passes(std::string_view name) {
  std::string lower;
  for (char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower != "authorization" && lower != "cookie" && lower != "origin" && lower != "referer" &&
         !lower.starts_with("impersonate-") && !lower.starts_with("x-remote-") &&
         !lower.starts_with("x-xsrf-");
}

}  // namespace

net::Request as_user(net::Request request, std::string_view prefix, const kube::User& user) {
  CHECK(!user.name.empty(), "somebody asks");
  CHECK(request.path.starts_with(prefix) && request.target.starts_with(prefix),
        "the route's own prefix");
  request.path.erase(0, prefix.size());
  request.target.erase(0, prefix.size());
  net::Headers kept;
  for (const auto& [name, value] : request.headers.all())
    if (passes(name)) kept.add(name, value);
  kept.add("Impersonate-User", user.name);
  if (!user.uid.empty()) kept.add("Impersonate-Uid", user.uid);
  for (const std::string& group : user.groups) kept.add("Impersonate-Group", group);
  for (const auto& [name, values] : user.extra)
    for (const std::string& value : values)
      kept.add("Impersonate-Extra-" + net::url_encode(name), value);
  request.headers = std::move(kept);
  request.peer.reset();
  return request;
}

kube::WebHandler api_handler(ApiDoor door, std::string prefix) {
  return [door = std::move(door), prefix = std::move(prefix)](kube::WebExchange exchange) {
    const std::string& target = exchange.request.target;
    // A path that is written in another way than it reads could mean two things.
    if (!target.starts_with(prefix) || target.size() == prefix.size() ||
        target[prefix.size()] != '/')
      return exchange.writer->respond({.status = 400, .body = "bad path\n"});
    door(as_user(std::move(exchange.request), prefix, exchange.user), std::move(exchange.writer));
  };
}

}  // namespace hekla::dashboard
