#include "dashboard/apps/app.h"

#include <utility>

#include "dashboard/apps/capture.h"
#include "json/parse.h"

namespace hekla::dashboard {

namespace {

std::string path_of(const ApiRequest& request) {
  const kube::Resource& resource = request.resource;
  std::string out = resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/";
  out += resource.version;
  if (resource.namespaced && !request.key.ns.empty())
    out += "/namespaces/" + net::url_encode(request.key.ns);
  out += "/" + resource.plural;
  if (!request.key.name.empty()) out += "/" + net::url_encode(request.key.name);
  if (!request.subresource.empty()) out += "/" + request.subresource;
  return out;
}

net::Request http_request(const ApiRequest& asked) {
  net::Request out;
  out.method = asked.method;
  out.path = net::url_decode(path_of(asked));
  out.target = path_of(asked) + (asked.query.empty() ? "" : "?" + asked.query);
  out.query = net::Query::parse(asked.query);
  out.headers.add("Accept", asked.subresource == "log" ? "*/*" : "application/json");
  if (!asked.body.is_null()) {
    out.headers.add("Content-Type", asked.content_type);
    out.body = json::serialize(asked.body);
  }
  return out;
}

std::vector<std::string> segments(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) out.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

ApiRequest get_request(const kube::Resource& resource, kube::Key key) {
  return {"get", "GET", resource, std::move(key)};
}
ApiRequest list_request(const kube::Resource& resource, const std::string& ns, std::string query) {
  return {"list", "GET", resource, {ns, ""}, "", std::move(query)};
}
ApiRequest create_request(const kube::Resource& resource, const std::string& ns, json::Value body,
                          bool dry_run) {
  return {"create", "POST", resource, {ns, ""}, "", dry_run ? "dryRun=All" : "", std::move(body)};
}
ApiRequest delete_request(const kube::Resource& resource, kube::Key key, const char* propagation) {
  return {"delete",       "DELETE", resource,
          std::move(key), "",       std::string("propagationPolicy=") + propagation};
}

std::string ApiAnswer::message() const {
  const std::string said = json::text_at(body, {"message"});
  return said.empty() ? text : said;
}

const json::Array& ApiAnswer::items() const {
  static const json::Array none;
  const json::Array* found = json::array_at(body, {"items"});
  return found ? *found : none;
}

AppCall::AppCall(kube::WebExchange exchange, ApiDoor door, const Clock& clock)
    : exchange_(std::move(exchange)), door_(std::move(door)), clock_(clock) {}

std::optional<json::Value> AppCall::json_body() {
  if (exchange_.request.headers.get("Content-Type") != "application/json") {
    refuse(400, "Request is not in JSON format.");
    return std::nullopt;
  }
  Result<json::Value> body = json::parse(exchange_.request.body);
  if (!body || !body->is_object()) {
    refuse(400, "Request is not in JSON format.");
    return std::nullopt;
  }
  return std::move(*body);
}

void AppCall::send(net::Request request, std::function<void(ApiAnswer)> then) {
  door_(std::move(request),
        std::make_shared<Capture>(
            [self = shared_from_this(), then = std::move(then)](int status, std::string text) {
              ApiAnswer answer{status, std::move(text), nullptr};
              if (Result<json::Value> body = json::parse(answer.text))
                answer.body = std::move(*body);
              then(std::move(answer));
            }));
}

void AppCall::ask(const ApiRequest& request, std::function<void(ApiAnswer)> then) {
  send(as_user(http_request(request), "", exchange_.user), std::move(then));
}

void AppCall::ask_as_platform(const ApiRequest& request, std::function<void(ApiAnswer)> then) {
  send(http_request(request), std::move(then));
}

void AppCall::need(const ApiRequest& request, std::function<void(ApiAnswer)> then) {
  ask(request, [self = shared_from_this(), request, then = std::move(then)](ApiAnswer answer) {
    answer.ok() ? then(std::move(answer)) : self->refuse(request, answer);
  });
}

void AppCall::refuse(const ApiRequest& request, const ApiAnswer& answer) {
  if (answer.status == 404)
    return refuse(404, "The requested resource could not be found in the API Server");
  if (answer.status == 403 && answer.message().find("is forbidden: User ") != std::string::npos)
    return refuse(403, "User '" + user() + "' is not authorized to " + request.verb + " " +
                           request.resource.api_version() + "/" + request.resource.plural +
                           (request.key.ns.empty() ? std::string()
                                                   : " in namespace '" + request.key.ns + "'"));
  refuse(answer.status, answer.message());
}

void AppCall::succeed(json::Object fields) {
  json::Object out{{"status", 200}, {"success", true}, {"user", user()}};
  for (auto& [name, value] : fields) out[name] = std::move(value);
  respond(out);
}

void AppCall::refuse(int status, std::string log) {
  respond(json::Object{{"success", false}, {"log", log}, {"status", status}, {"user", user()}},
          status);
}

void AppCall::respond(const json::Value& value, int status) {
  net::Response out;
  out.status = status;
  out.headers.set("Content-Type", "application/json");
  out.headers.set("Cache-Control", "no-store");
  out.body = json::serialize(value);
  exchange_.writer->respond(std::move(out));
}

void AppCall::respond_text(std::string text, int status) {
  net::Response out;
  out.status = status;
  out.headers.set("Content-Type", "text/plain; charset=utf-8");
  out.headers.set("X-Content-Type-Options", "nosniff");
  out.body = std::move(text);
  exchange_.writer->respond(std::move(out));
}

bool run_route(std::span<const AppRoute> routes, std::string_view prefix, const AppCallPtr& call) {
  const std::vector<std::string> given =
      segments(std::string_view(call->request().path).substr(prefix.size()));
  for (const AppRoute& route : routes) {
    if (route.method != call->request().method) continue;
    const std::vector<std::string> wanted = segments(route.pattern);
    if (wanted.size() != given.size()) continue;
    std::vector<std::string> parts;
    bool fits = true;
    for (std::size_t at = 0; at < wanted.size() && fits; ++at) {
      fits = wanted[at] == "*" || wanted[at] == given[at];
      if (wanted[at] == "*") parts.push_back(given[at]);
    }
    if (!fits) continue;
    call->parts = std::move(parts);
    route.run(call);
    return true;
  }
  return false;
}

}  // namespace hekla::dashboard
