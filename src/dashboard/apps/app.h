// The web APIs of Kubeflow's own apps, as scripts and their tests know them. A route is a pure
// question to the Kubernetes API as the visitor, and JSON out of its objects; the API server
// authorises each call.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "dashboard/page/as_user.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/web_route.h"

namespace hekla::dashboard {

// A call of the Kubernetes API. `verb` is RBAC's word, for the refusal's text.
struct ApiRequest {
  std::string verb, method;
  kube::Resource resource;
  kube::Key key;
  std::string subresource = {};
  std::string query = {};
  json::Value body = {};
  std::string content_type = "application/json";
};
ApiRequest get_request(const kube::Resource& resource, kube::Key key);
ApiRequest list_request(const kube::Resource& resource, const std::string& ns,
                        std::string query = {});
ApiRequest create_request(const kube::Resource& resource, const std::string& ns, json::Value body,
                          bool dry_run = false);
ApiRequest delete_request(const kube::Resource& resource, kube::Key key, const char* propagation);

struct ApiAnswer {
  int status = 0;
  std::string text;
  json::Value body;  // null where the text is none
  bool ok() const { return status < 300; }
  // The message of a Status, else the text.
  std::string message() const;
  const json::Array& items() const;
};

class AppCall;
using AppCallPtr = std::shared_ptr<AppCall>;

// One request of an app on its way. Continuations run on whatever thread the API server answers on,
// one after the other.
class AppCall : public std::enable_shared_from_this<AppCall> {
 public:
  AppCall(kube::WebExchange exchange, ApiDoor door, const Clock& clock);

  const net::Request& request() const { return exchange_.request; }
  const std::string& user() const { return exchange_.user.name; }
  const kube::User& identity() const { return exchange_.user; }
  const Clock& clock() const { return clock_; }
  // The n-th `*` of the route's pattern.
  const std::string& part(std::size_t n) const { return parts.at(n); }
  // The body as JSON; answered with 400 by itself, and null then.
  std::optional<json::Value> json_body();

  // Any answer.
  void ask(const ApiRequest& request, std::function<void(ApiAnswer)> then);
  // The same with the platform's own rights: for what upstream's apps show to everybody, the
  // form's configuration, storage classes, the vendors of devices.
  void ask_as_platform(const ApiRequest& request, std::function<void(ApiAnswer)> then);
  // Only a good one; others become the app's own refusal.
  void need(const ApiRequest& request, std::function<void(ApiAnswer)> then);

  // {"status": 200, "success": true, "user": ..., fields}
  void succeed(json::Object fields);
  // {"success": false, "log": ..., "status": ..., "user": ...}
  void refuse(int status, std::string log);
  // Anything else, as it is.
  void respond(const json::Value& value, int status = 200);
  void respond_text(std::string text, int status = 200);
  // An answer of the API server as the app's refusal.
  void refuse(const ApiRequest& request, const ApiAnswer& answer);

  std::vector<std::string> parts;

 private:
  void send(net::Request request, std::function<void(ApiAnswer)> then);

  kube::WebExchange exchange_;
  ApiDoor door_;
  const Clock& clock_;
};

struct AppRoute {
  std::string_view method, pattern;  // "/api/namespaces/*/notebooks"
  void (*run)(const AppCallPtr& call);
};

// Runs the route below `prefix` that fits; false when there is none.
bool run_route(std::span<const AppRoute> routes, std::string_view prefix, const AppCallPtr& call);

// Routes that jupyter, volumes and tensorboards share.
std::span<const AppRoute> shared_routes();
std::span<const AppRoute> jupyter_routes();
std::span<const AppRoute> volumes_routes();
std::span<const AppRoute> tensorboards_routes();
std::span<const AppRoute> central_routes();
std::span<const AppRoute> kfam_routes();

}  // namespace hekla::dashboard
