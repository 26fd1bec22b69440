// volumes-web-app: claims with who uses them, and their viewers.
#include <array>
#include <map>
#include <set>

#include "dashboard/apps/app.h"
#include "dashboard/apps/jupyter_notebook.h"
#include "dashboard/resources.h"

namespace hekla::dashboard {

namespace {

const kube::Resource& kClaims = kube::resources::persistent_volume_claims;

std::set<std::string> claims_in(const json::Value& pod_spec) {
  std::set<std::string> out;
  if (const json::Array* volumes = json::array_at(pod_spec, {"volumes"}))
    for (const json::Value& volume : *volumes)
      if (std::string name = json::text_at(volume, {"persistentVolumeClaim", "claimName"});
          !name.empty())
        out.insert(std::move(name));
  return out;
}

bool is_viewer(const json::Value& pod) {
  return json::string_at(pod, {"metadata", "labels", "app.kubernetes.io/part-of"}) == "pvc-viewer";
}

json::Object claim_status(const json::Value& claim, const json::Array& events) {
  if (!json::string_at(claim, {"metadata", "deletionTimestamp"}).empty())
    return status_object("terminating", "Deleting Volume...");
  if (json::string_at(claim, {"status", "phase"}) == "Bound")
    return status_object("ready", "Bound");
  if (events.empty()) return status_object("waiting", "Provisioning Volume...");
  const std::string reason = json::text_at(events.front(), {"reason"});
  const std::string message = "Pending: " + json::text_at(events.front(), {"message"});
  if (reason == "WaitForFirstConsumer")
    return status_object("unavailable",
                         "Pending: This volume will be bound when its first consumer is created.");
  if (reason == "Provisioning") return status_object("waiting", message);
  const bool warns =
      reason == "FailedBinding" || json::string_at(events.front(), {"type"}) == "Warning";
  return status_object(warns ? "warning" : "ready", message);
}

json::Object viewer_of(const json::Value* viewer) {
  if (!viewer) return {{"status", "uninitialized"}, {"url", nullptr}};
  const bool deleted = !json::string_at(*viewer, {"metadata", "deletionTimestamp"}).empty();
  const char* state = deleted                                       ? "terminating"
                      : json::bool_at(*viewer, {"status", "ready"}) ? "ready"
                                                                    : "waiting";
  const std::string url = json::text_at(*viewer, {"status", "url"});
  return {{"status", state}, {"url", url.empty() ? json::Value() : json::Value(url)}};
}

struct Surroundings {
  json::Array claims, notebooks, viewers, events;
};

json::Object claim_row(const json::Value& claim, const Surroundings& all) {
  const std::string name = json::text_at(claim, {"metadata", "name"});
  json::Array notebooks, events;
  for (const json::Value& notebook : all.notebooks)
    if (const json::Value* spec = json::find_path(notebook, {"spec", "template", "spec"});
        spec && claims_in(*spec).contains(name))
      notebooks.push_back(json::Value(json::text_at(notebook, {"metadata", "name"})));
  for (const json::Value& event : all.events)
    if (json::string_at(event, {"involvedObject", "name"}) == name) events.push_back(event);
  const json::Value* viewer = nullptr;
  for (const json::Value& one : all.viewers)
    if (json::string_at(one, {"spec", "pvc"}) == name) viewer = &one;
  std::string capacity = json::text_at(claim, {"status", "capacity", "storage"});
  if (capacity.empty())
    capacity = json::text_at(claim, {"spec", "resources", "requests", "storage"});
  const json::Value* modes = json::find_path(claim, {"spec", "accessModes"});
  return {{"name", name},
          {"namespace", json::text_at(claim, {"metadata", "namespace"})},
          {"status", claim_status(claim, events)},
          {"age", json::text_at(claim, {"metadata", "creationTimestamp"})},
          {"capacity", capacity},
          {"modes", modes ? *modes : json::Value(json::Array{})},
          {"class", json::text_at(claim, {"spec", "storageClassName"})},
          {"notebooks", std::move(notebooks)},
          {"viewer", viewer_of(viewer)}};
}

// Notebooks, viewers and events are beside the point where they are not served or not allowed.
void claims(const AppCallPtr& call) {
  const std::string& ns = call->part(0);
  auto all = std::make_shared<Surroundings>();
  call->need(list_request(kClaims, ns), [=](const ApiAnswer& claims) {
    all->claims = claims.items();
    call->ask(list_request(kNotebooks, ns), [=](const ApiAnswer& notebooks) {
      all->notebooks = notebooks.items();
      call->ask(list_request(kViewers, ns), [=](const ApiAnswer& viewers) {
        all->viewers = viewers.items();
        call->ask(list_request(kube::resources::events, ns,
                               "fieldSelector=involvedObject.kind%3DPersistentVolumeClaim"),
                  [=](const ApiAnswer& events) {
                    all->events = events.items();
                    json::Array out;
                    for (const json::Value& claim : all->claims)
                      out.push_back(claim_row(claim, *all));
                    call->succeed({{"pvcs", std::move(out)}});
                  });
      });
    });
  });
}

void claim(const AppCallPtr& call) {
  call->need(get_request(kClaims, {call->part(0), call->part(1)}),
             [call](const ApiAnswer& got) { call->succeed({{"pvc", got.body}}); });
}

json::Array pods_with(const ApiAnswer& pods, const std::string& name) {
  json::Array out;
  for (const json::Value& pod : pods.items())
    if (const json::Value* spec = json::find(pod, "spec"); spec && claims_in(*spec).contains(name))
      out.push_back(pod);
  return out;
}

void pods(const AppCallPtr& call) {
  call->need(list_request(kube::resources::pods, call->part(0)), [call](const ApiAnswer& all) {
    call->succeed({{"pods", pods_with(all, call->part(1))}});
  });
}

void events(const AppCallPtr& call) {
  call->need(list_request(kube::resources::events, call->part(0),
                          "fieldSelector=involvedObject.kind%3DPersistentVolumeClaim%2C"
                          "involvedObject.name%3D" +
                              net::url_encode(call->part(1))),
             [call](const ApiAnswer& answer) { call->succeed({{"events", answer.items()}}); });
}

void create(const AppCallPtr& call) {
  std::optional<json::Value> body = call->json_body();
  if (!body) return;
  for (const char* needed : {"name", "mode", "class", "size", "type"})
    if (!json::find(*body, needed))
      return call->refuse(
          400, std::string("Parameter '") + needed + "' is missing from the request's body.");
  json::Object spec{
      {"accessModes", json::Array{json::Value(json::text_at(*body, {"mode"}))}},
      {"resources",
       json::Object{{"requests", json::Object{{"storage", json::text_at(*body, {"size"})}}}}}};
  const std::string storage = json::text_at(*body, {"class"});
  if (storage == "{none}")
    spec["storageClassName"] = "";
  else if (storage != "{empty}")
    spec["storageClassName"] = storage;
  const std::string name = json::text_at(*body, {"name"});
  json::Object claim{{"apiVersion", "v1"},
                     {"kind", "PersistentVolumeClaim"},
                     {"metadata", json::Object{{"name", name}, {"namespace", call->part(0)}}},
                     {"spec", std::move(spec)}};
  call->need(create_request(kClaims, call->part(0), std::move(claim)), [call](const ApiAnswer&) {
    call->succeed({{"message", "PVC created successfully."}});
  });
}

// Viewers give way; anybody else keeps the volume.
void remove(const AppCallPtr& call) {
  const kube::Key key{call->part(0), call->part(1)};
  call->need(list_request(kube::resources::pods, key.ns), [call, key](const ApiAnswer& all) {
    std::string users;
    for (const json::Value& pod : pods_with(all, key.name))
      if (!is_viewer(pod))
        users += (users.empty() ? "" : ", ") + json::text_at(pod, {"metadata", "name"});
    if (!users.empty())
      return call->refuse(
          409, "Cannot delete PVC '" + key.name + "' because it is being used by pods: " + users);
    call->need(delete_request(kClaims, key, "Background"), [call, key](const ApiAnswer&) {
      call->succeed({{"message", "PVC " + key.name + " successfully deleted."}});
    });
  });
}

void open_viewer(const AppCallPtr& call) {
  std::optional<json::Value> body = call->json_body();
  if (!body) return;
  const std::string name = json::text_at(*body, {"name"});
  if (name.empty())
    return call->refuse(400, "Parameter 'name' is missing from the request's body.");
  json::Object viewer{{"apiVersion", kViewers.api_version()},
                      {"kind", kViewers.kind},
                      {"metadata", json::Object{{"name", name}, {"namespace", call->part(0)}}},
                      {"spec", json::Object{{"pvc", name}}}};
  call->need(create_request(kViewers, call->part(0), std::move(viewer)),
             [call, name](const ApiAnswer&) { call->succeed({{"name", name}}); });
}

void close_viewer(const AppCallPtr& call) {
  call->need(delete_request(kViewers, {call->part(0), call->part(1)}, "Background"),
             [call](const ApiAnswer&) { call->succeed({{"name", call->part(1)}}); });
}

}  // namespace

std::span<const AppRoute> volumes_routes() {
  static constexpr std::array<AppRoute, 8> routes{{
      {"GET", "/api/namespaces/*/pvcs", claims},
      {"GET", "/api/namespaces/*/pvcs/*", claim},
      {"GET", "/api/namespaces/*/pvcs/*/pods", pods},
      {"GET", "/api/namespaces/*/pvcs/*/events", events},
      {"POST", "/api/namespaces/*/pvcs", create},
      {"DELETE", "/api/namespaces/*/pvcs/*", remove},
      {"POST", "/api/namespaces/*/viewers", open_viewer},
      {"DELETE", "/api/namespaces/*/viewers/*", close_viewer},
  }};
  return routes;
}

}  // namespace hekla::dashboard
