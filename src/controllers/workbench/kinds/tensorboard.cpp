// Tensorboard: a Deployment that reads logs, a Service in front of it and a route to it.
#include "controllers/workbench/claim_node.h"
#include "controllers/workbench/route.h"
#include "model/time.h"

namespace hekla::controllers::workbench {
namespace {

using framework::AnyObject;
using framework::Child;
using framework::Outcome;
using framework::View;
using json::Array;
using json::Object;
namespace resources = kube::resources;

constexpr std::int64_t kPort = 6006;
constexpr std::string_view kClaimScheme = "pvc://";

// Logs as the spec names them: the directory that the program reads, and what is mounted for it.
struct Logs {
  std::string directory, claim;
  json::Value volume, mount;  // null: none
};

Object claim_volume(const std::string& name, const std::string& claim) {
  return {{"name", name},
          {"persistentVolumeClaim", Object{{"claimName", claim}, {"readOnly", true}}}};
}

Logs logs_of(const std::string& path) {
  if (path.starts_with(kClaimScheme)) {
    const std::string rest = path.substr(kClaimScheme.size());
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string claim = rest.substr(0, slash),
                      sub = rest.substr(std::min(slash + 1, rest.size()));
    Object mount{{"name", "tbpd"}, {"readOnly", true}, {"mountPath", "/tensorboard_logs/"}};
    if (!sub.empty()) mount["subPath"] = sub;
    return {"/tensorboard_logs/", claim, claim_volume("tbpd", claim), std::move(mount)};
  }
  if (path.starts_with("gs://"))
    return {path, "",
            Object{{"name", "gcp-creds"}, {"secret", Object{{"secretName", "user-gcp-sa"}}}},
            Object{{"name", "gcp-creds"}, {"readOnly", true}, {"mountPath", "/secret/gcp"}}};
  if (path.starts_with("s3://") || path.starts_with("/cns/")) return {path, "", nullptr, nullptr};
  return {path, "tb-volume", claim_volume("tb-volume", "tb-volume"),
          Object{{"name", "tb-volume"}, {"readOnly", true}, {"mountPath", path}}};
}

json::Value container(const Logs& logs, const WorkbenchOptions& options) {
  Object program{
      {"name", "tensorboard"},
      {"image", options.tensorboard_image},
      {"imagePullPolicy", "IfNotPresent"},
      {"command", Array{"tensorboard"}},
      {"workingDir", "/"},
      {"args", Array{"--logdir=" + logs.directory, "--bind_all"}},
      {"ports", Array{Object{{"containerPort", kPort}}}},
      // A pod without one is ready long before the program listens.
      {"readinessProbe", Object{{"tcpSocket", Object{{"port", kPort}}}, {"periodSeconds", 1}}}};
  if (!logs.mount.is_null()) program["volumeMounts"] = Array{logs.mount};
  return program;
}

// An affinity that was chosen stays: the pods that decided it may be gone, and another choice would
// start the program anew.
std::optional<json::Value> affinity(const AnyObject& board, const View& view, const Logs& logs) {
  if (logs.claim.empty()) return std::nullopt;
  if (auto made = view.child(resources::deployments, board.metadata.name)) {
    const json::Value* chosen = json::find_path(made->spec, {"template", "spec", "affinity"});
    return chosen ? std::optional(*chosen) : std::nullopt;
  }
  return affinity_of_claim(view, {board.metadata.ns, logs.claim});
}

Child deployment(const AnyObject& board, const View& view, const WorkbenchOptions& options) {
  const std::string& name = board.metadata.name;
  const Logs logs = logs_of(json::text_at(board.spec, {"logspath"}));
  Object labels;
  for (const auto& [key, value] : board.metadata.labels) labels[key] = value;
  labels["app"] = name;
  Object pod{{"restartPolicy", "Always"}, {"containers", Array{container(logs, options)}}};
  if (!logs.volume.is_null()) pod["volumes"] = Array{logs.volume};
  if (std::optional<json::Value> node = affinity(board, view, logs))
    pod["affinity"] = std::move(*node);
  return {
      .resource = resources::deployments,
      .body = Object{
          {"metadata", Object{{"name", name}}},
          {"spec", Object{{"replicas", 1},
                          {"selector", Object{{"matchLabels", Object{{"app", name}}}}},
                          {"template", Object{{"metadata", Object{{"labels", std::move(labels)}}},
                                              {"spec", std::move(pod)}}}}}}};
}

// A state is added when the newest condition of the Deployment is of another type than the last.
Object status(const AnyObject& board, const View& view) {
  auto deployment = view.child(resources::deployments, board.metadata.name);
  const Array* before = json::array_at(board.status, {"conditions"});
  Array states = before ? *before : Array();
  const Array* conditions =
      deployment ? json::array_at(deployment->status, {"conditions"}) : nullptr;
  if (conditions && !conditions->empty()) {
    const std::string state = json::text_at(conditions->back(), {"type"});
    if (states.empty() || json::string_at(states.back(), {"deploymentState"}) != state)
      states.push_back(
          Object{{"deploymentState", state}, {"lastProbeTime", model::format_rfc3339(view.now())}});
  }
  constexpr std::size_t kStatesMax = 20;
  if (states.size() > kStatesMax) states.erase(states.begin());
  return {{"conditions", std::move(states)},
          {"readyReplicas", deployment ? json::int_at(deployment->status, {"readyReplicas"}) : 0}};
}

framework::KindDescription describe(const WorkbenchOptions& options);

}  // namespace

extern const WorkbenchKind workbench_kind_tensorboard;
const WorkbenchKind workbench_kind_tensorboard{
    {"tensorboard.kubeflow.org", "v1alpha1", "tensorboards", "Tensorboard"}, describe};

namespace {

framework::KindDescription describe(const WorkbenchOptions& options) {
  return {.name = "tensorboard-controller",
          .resource = workbench_kind_tensorboard.resource,
          .owns = {owned(resources::deployments), owned(resources::services),
                   owned(virtual_services, true)},
          .follows = {framework::follow<model::Pod>(resources::pods),
                      framework::follow<AnyObject>(resources::persistent_volume_claims)},
          .reconcile = [options](const AnyObject& board, const View& view) -> Result<Outcome> {
            const std::string &name = board.metadata.name, &ns = board.metadata.ns;
            Outcome outcome;
            outcome.children = {deployment(board, view, options),
                                service_to(name, Object{{"app", name}}, kPort),
                                route_to({.name = name,
                                          .prefix = "/tensorboard/" + ns + "/" + name + "/",
                                          .rewrite = "/",
                                          .service = name,
                                          .timeout = "300s"},
                                         ns, options)};
            outcome.status = status(board, view);
            return outcome;
          }};
}

}  // namespace
}  // namespace hekla::controllers::workbench
