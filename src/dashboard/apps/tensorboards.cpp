// tensorboards-web-app.
#include <array>

#include "dashboard/apps/app.h"
#include "dashboard/apps/jupyter_notebook.h"
#include "dashboard/resources.h"

namespace hekla::dashboard {

namespace {

json::Object board_status(const json::Value& board) {
  if (!json::string_at(board, {"metadata", "deletionTimestamp"}).empty())
    return status_object("terminating", "Deleting Tensorboard...");
  return json::int_at(board, {"status", "readyReplicas"}) >= 1
             ? status_object("ready", "The Tensorboard server is ready to connect")
             : status_object("unavailable", "The Tensorboard server is currently unavailable");
}

void boards(const AppCallPtr& call) {
  call->need(list_request(kTensorboards, call->part(0)), [call](const ApiAnswer& answer) {
    json::Array out;
    for (const json::Value& board : answer.items())
      out.push_back(json::Object{{"name", json::text_at(board, {"metadata", "name"})},
                                 {"namespace", json::text_at(board, {"metadata", "namespace"})},
                                 {"logspath", json::text_at(board, {"spec", "logspath"})},
                                 {"age", json::text_at(board, {"metadata", "creationTimestamp"})},
                                 {"status", board_status(board)}});
    call->succeed({{"tensorboards", std::move(out)}});
  });
}

void create(const AppCallPtr& call) {
  std::optional<json::Value> body = call->json_body();
  if (!body) return;
  for (const char* needed : {"name", "logspath"})
    if (json::text_at(*body, {needed}).empty())
      return call->refuse(
          400, std::string("Parameter '") + needed + "' is missing from the request's body.");
  json::Object labels;
  if (const json::Value* configurations = json::find(*body, "configurations")) {
    if (!configurations->is_array())
      return call->refuse(400, "Labels for PodDefaults are not list");
    for (const json::Value& label : configurations->get_array())
      if (label.is_string()) labels[label.get_string()] = "true";
  }
  const std::string name = json::text_at(*body, {"name"});
  json::Object board{
      {"apiVersion", kTensorboards.api_version()},
      {"kind", kTensorboards.kind},
      {"metadata",
       json::Object{{"name", name}, {"namespace", call->part(0)}, {"labels", std::move(labels)}}},
      {"spec", json::Object{{"logspath", json::text_at(*body, {"logspath"})}}}};
  call->need(create_request(kTensorboards, call->part(0), std::move(board)),
             [call](const ApiAnswer&) {
               call->succeed({{"message", "Tensorboard created successfully."}});
             });
}

void remove(const AppCallPtr& call) {
  call->need(
      delete_request(kTensorboards, {call->part(0), call->part(1)}, "Background"),
      [call](const ApiAnswer&) {
        call->succeed({{"message", "Tensorboard " + call->part(1) + " successfully deleted."}});
      });
}

void claims(const AppCallPtr& call) {
  call->need(list_request(kube::resources::persistent_volume_claims, call->part(0)),
             [call](const ApiAnswer& answer) {
               json::Array names;
               for (const json::Value& claim : answer.items())
                 names.push_back(json::Value(json::text_at(claim, {"metadata", "name"})));
               call->succeed({{"pvcs", std::move(names)}});
             });
}

void pod_defaults(const AppCallPtr& call) {
  call->need(list_request(kPodDefaults, call->part(0)),
             [call](const ApiAnswer& answer) { call->succeed({{"poddefaults", answer.items()}}); });
}

}  // namespace

std::span<const AppRoute> tensorboards_routes() {
  static constexpr std::array<AppRoute, 5> routes{{
      {"GET", "/api/namespaces/*/tensorboards", boards},
      {"POST", "/api/namespaces/*/tensorboards", create},
      {"DELETE", "/api/namespaces/*/tensorboards/*", remove},
      {"GET", "/api/namespaces/*/pvcs", claims},
      {"GET", "/api/namespaces/*/poddefaults", pod_defaults},
  }};
  return routes;
}

}  // namespace hekla::dashboard
