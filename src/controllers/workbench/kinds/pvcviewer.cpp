// PVCViewer: a Deployment that mounts a claim, a Service in front of it and a route to it.
#include "controllers/workbench/claim_node.h"
#include "controllers/workbench/route.h"

namespace hekla::controllers::workbench {
namespace {

using framework::AnyObject;
using framework::Child;
using framework::Outcome;
using framework::View;
using json::Array;
using json::Object;
namespace resources = kube::resources;

constexpr std::int64_t kPort = 8080;

std::string child_name(const AnyObject& viewer) { return "pvcviewer-" + viewer.metadata.name; }

Object labels_of(const AnyObject& viewer) {
  return {{"app.kubernetes.io/name", viewer.metadata.name},
          {"app.kubernetes.io/instance", child_name(viewer)},
          {"app.kubernetes.io/part-of", "pvc-viewer"}};
}

// A viewer's way through the gateway. One that brings neither pod nor networking has upstream's
// usual one; one that brings its pod alone is not routed to.
struct Way {
  bool routed = false;
  json::Value port = kPort;
  std::string prefix, rewrite, timeout;
};

Way way_of(const AnyObject& viewer) {
  const json::Value* given = json::find(viewer.spec, "networking");
  Way way;
  way.routed = given || !json::find(viewer.spec, "podSpec");
  if (const json::Value* port = given ? json::find(*given, "targetPort") : nullptr)
    way.port = *port;
  std::string base = given ? json::text_at(*given, {"basePrefix"}) : std::string();
  if (base.empty()) base = "/pvcviewer";
  way.prefix = base + "/" + viewer.metadata.ns + "/" + viewer.metadata.name + "/";
  way.rewrite = given ? json::text_at(*given, {"rewrite"}) : std::string();
  if (way.rewrite.empty()) way.rewrite = way.prefix;
  way.timeout = given ? json::text_at(*given, {"timeout"}) : std::string("30s");
  return way;
}

// The pod of who brings none: a file browser on the claim.
Object usual_pod(const AnyObject& viewer, const Way& way, const WorkbenchOptions& options) {
  const char* volume = "viewer-volume";
  Array env;
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"FB_ADDRESS", "0.0.0.0"},
           {"FB_PORT", "8080"},
           {"FB_DATABASE", "/tmp/filebrowser.db"},
           {"FB_NOAUTH", "true"},
           {"FB_BASEURL", way.prefix}})
    env.push_back(Object{{"name", name}, {"value", value}});
  Object container{
      {"name", "main"},
      {"image", options.viewer_image},
      {"env", std::move(env)},
      {"workingDir", "/data"},
      {"ports", Array{Object{{"containerPort", kPort}}}},
      {"readinessProbe", Object{{"tcpSocket", Object{{"port", kPort}}}, {"periodSeconds", 1}}},
      {"volumeMounts", Array{Object{{"name", volume}, {"mountPath", "/data"}}}}};
  Object claim{{"claimName", json::text_at(viewer.spec, {"pvc"})}};
  return {
      {"containers", Array{std::move(container)}},
      {"volumes", Array{Object{{"name", volume}, {"persistentVolumeClaim", std::move(claim)}}}}};
}

// As with TensorBoards, a choice of node stays.
void choose_node(const AnyObject& viewer, const View& view, Object& pod) {
  if (!json::bool_at(viewer.spec, {"rwoScheduling"}) || json::find(pod, "affinity")) return;
  if (auto made = view.child(resources::deployments, child_name(viewer))) {
    if (const json::Value* chosen = json::find_path(made->spec, {"template", "spec", "affinity"}))
      pod["affinity"] = *chosen;
  } else if (std::optional<json::Value> node = affinity_of_claim(
                 view, {viewer.metadata.ns, json::text_at(viewer.spec, {"pvc"})})) {
    pod["affinity"] = std::move(*node);
  }
}

Child deployment(const AnyObject& viewer, const View& view, const Way& way,
                 const WorkbenchOptions& options) {
  const Object* given = json::object_at(viewer.spec, {"podSpec"});
  Object pod = given ? *given : usual_pod(viewer, way, options);
  choose_node(viewer, view, pod);
  const Object labels = labels_of(viewer);
  return {
      .resource = resources::deployments,
      .body = Object{{"metadata", Object{{"name", child_name(viewer)}, {"labels", labels}}},
                     {"spec", Object{{"replicas", 1},
                                     {"selector", Object{{"matchLabels", labels}}},
                                     {"template", Object{{"metadata", Object{{"labels", labels}}},
                                                         {"spec", std::move(pod)}}}}}}};
}

Object status(const AnyObject& viewer, const View& view, const Way& way) {
  auto made = view.child(resources::deployments, child_name(viewer));
  const Array* conditions = made ? json::array_at(made->status, {"conditions"}) : nullptr;
  Object status{{"conditions", conditions ? *conditions : Array()},
                {"ready", made && json::int_at(made->status, {"readyReplicas"}) > 0}};
  if (way.routed) status["url"] = way.prefix;
  return status;
}

framework::KindDescription describe(const WorkbenchOptions& options);

}  // namespace

extern const WorkbenchKind workbench_kind_pvcviewer;
const WorkbenchKind workbench_kind_pvcviewer{
    {"kubeflow.org", "v1alpha1", "pvcviewers", "PVCViewer"}, describe};

namespace {

framework::KindDescription describe(const WorkbenchOptions& options) {
  return {.name = "pvcviewer-controller",
          .resource = workbench_kind_pvcviewer.resource,
          .owns = {owned(resources::deployments), pruned(resources::services, false),
                   pruned(virtual_services, true)},
          .follows = {framework::follow<model::Pod>(resources::pods),
                      framework::follow<AnyObject>(resources::persistent_volume_claims)},
          .reconcile = [options](const AnyObject& viewer, const View& view) -> Result<Outcome> {
            const Way way = way_of(viewer);
            const std::string name = child_name(viewer);
            Outcome outcome;
            outcome.children = {deployment(viewer, view, way, options)};
            if (way.routed) {
              outcome.children.push_back(
                  service_to(name, labels_of(viewer), way.port, labels_of(viewer)));
              outcome.children.push_back(route_to({.name = name,
                                                   .prefix = way.prefix,
                                                   .rewrite = way.rewrite,
                                                   .service = name,
                                                   .timeout = way.timeout},
                                                  viewer.metadata.ns, options));
            }
            outcome.status = status(viewer, view, way);
            return outcome;
          }};
}

}  // namespace
}  // namespace hekla::controllers::workbench
