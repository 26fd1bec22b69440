// Notebook: a StatefulSet of one pod, a Service in front of it and a route to it. Stopped by an
// annotation; the status mirrors the pod's.
#include <algorithm>

#include "controllers/workspace/workspace_kind.h"
#include "framework/pods.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::controllers::workspace {
namespace {

using framework::AnyObject;
using framework::Child;
using framework::Outcome;
using framework::View;
using json::Array;
using json::Object;
namespace resources = kube::resources;

const std::string kStopped = "kubeflow-resource-stopped";
const std::string kRewrite = "notebooks.kubeflow.org/http-rewrite-uri";
const std::string kHeaders = "notebooks.kubeflow.org/http-headers-request-set";
constexpr std::int64_t kPort = 8888;

std::string prefix_of(const AnyObject& notebook) {
  return "/notebook/" + notebook.metadata.ns + "/" + notebook.metadata.name;
}

json::Value pod_spec(const AnyObject& notebook, const WorkspaceOptions& options) {
  const json::Value* given = json::find_path(notebook.spec, {"template", "spec"});
  json::Value pod = Object{{"spec", given ? *given : json::Value(Object())}};
  bool first = true;
  framework::for_each_container(pod, false, [&](Object& container) {
    if (!std::exchange(first, false)) return;
    if (json::string_at(container, {"workingDir"}).empty())
      container["workingDir"] = "/home/jovyan";
    if (!json::find(container, "ports")) framework::add_port(container, "notebook-port", kPort);
    const json::Value* env = json::find(container, "env");
    const bool has =
        env && env->is_array() &&
        std::any_of(env->get_array().begin(), env->get_array().end(), [](const json::Value& one) {
          return json::string_at(one, {"name"}) == "NB_PREFIX";
        });
    if (!has) framework::set_env(container, "NB_PREFIX", json::Value(prefix_of(notebook)));
  });
  if (options.add_fs_group && !json::find_path(pod, {"spec", "securityContext"}))
    json::at_path(pod, {"spec", "securityContext", "fsGroup"}) = 100;
  return *json::find(pod, "spec");
}

Child stateful_set(const AnyObject& notebook, const WorkspaceOptions& options) {
  const std::string& name = notebook.metadata.name;
  Object labels{{"statefulset", name}, {"notebook-name", name}}, annotations;
  for (const auto& [key, value] : notebook.metadata.labels) labels[key] = value;
  for (const auto& [key, value] : notebook.metadata.annotations)
    if (key.find("kubectl") == std::string::npos && key.find("notebook") == std::string::npos)
      annotations[key] = value;
  const int replicas = notebook.metadata.annotations.contains(kStopped) ? 0 : 1;
  return {.resource = resources::stateful_sets,
          .body = Object{
              {"metadata", Object{{"name", name}}},
              {"spec", Object{{"replicas", replicas},
                              {"serviceName", ""},
                              {"selector", Object{{"matchLabels", Object{{"statefulset", name}}}}},
                              {"template",
                               Object{{"metadata", Object{{"labels", std::move(labels)},
                                                          {"annotations", std::move(annotations)}}},
                                      {"spec", pod_spec(notebook, options)}}}}}}};
}

Child service(const AnyObject& notebook) {
  const std::string& name = notebook.metadata.name;
  std::int64_t port = kPort;
  if (const Array* containers = json::array_at(notebook.spec, {"template", "spec", "containers"});
      containers && !containers->empty())
    if (const Array* ports = json::array_at(containers->front(), {"ports"});
        ports && !ports->empty())
      port = json::int_at(ports->front(), {"containerPort"}, kPort);
  return {.resource = resources::services,
          .body = Object{{"metadata", Object{{"name", name}}},
                         {"spec", Object{{"type", "ClusterIP"},
                                         {"selector", Object{{"statefulset", name}}},
                                         {"ports", Array{Object{{"name", "http-" + name},
                                                                {"port", 80},
                                                                {"targetPort", port},
                                                                {"protocol", "TCP"}}}}}}}};
}

Child route(const AnyObject& notebook, const WorkspaceOptions& options) {
  const std::string &name = notebook.metadata.name, &ns = notebook.metadata.ns;
  const std::string prefix = prefix_of(notebook) + "/";
  const std::string& rewrite = notebook.metadata.annotation(kRewrite);
  Result<json::Value> headers = json::parse(notebook.metadata.annotation(kHeaders));
  Object match{{"uri", Object{{"prefix", prefix}}}};
  Object destination{{"host", name + "." + ns + ".svc." + options.cluster_domain},
                     {"port", Object{{"number", 80}}}};
  Object set = headers && headers->is_object() ? headers->get_object() : Object();
  Object http{{"match", Array{std::move(match)}},
              {"rewrite", Object{{"uri", rewrite.empty() ? prefix : rewrite}}},
              {"headers", Object{{"request", Object{{"set", std::move(set)}}}}},
              {"route", Array{Object{{"destination", std::move(destination)}}}}};
  return {.resource = virtual_services,
          .body = Object{{"metadata", Object{{"name", "notebook-" + ns + "-" + name}}},
                         {"spec", Object{{"hosts", Array{options.gateway_host}},
                                         {"gateways", Array{options.gateway}},
                                         {"http", Array{std::move(http)}}}}}};
}

// The pod belongs to the StatefulSet, so it is read, not owned.
Object status(const AnyObject& notebook, const View& view) {
  const std::string& name = notebook.metadata.name;
  auto set = view.child(resources::stateful_sets, name);
  Object status{{"readyReplicas", set ? json::int_at(set->status, {"readyReplicas"}) : 0},
                {"conditions", Array()},
                {"containerState", Object()}};
  auto pod = view.find<model::Pod>(resources::pods, {notebook.metadata.ns, name + "-0"});
  if (!pod) return status;
  Array conditions;
  for (const model::PodCondition& one : pod->status.conditions)
    conditions.push_back(json::encode(one));
  status["conditions"] = std::move(conditions);
  for (const model::ContainerStatus& one : pod->status.containerStatuses)
    if (one.name == name) status["containerState"] = json::encode(one.state);
  return status;
}

void wake_by_pod(const model::Pod* before, const model::Pod* after, const framework::Wake& wake) {
  const model::ObjectMeta& meta = (after ? after : before)->metadata;
  if (const std::string& name = meta.label("notebook-name"); !name.empty()) wake({meta.ns, name});
}

framework::KindDescription describe(const WorkspaceOptions& options);

}  // namespace

extern const WorkspaceKind workspace_kind_notebook;
const WorkspaceKind workspace_kind_notebook{{"kubeflow.org", "v1", "notebooks", "Notebook"},
                                            describe};

namespace {

framework::KindDescription describe(const WorkspaceOptions& options) {
  return {.name = "notebook-controller",
          .resource = workspace_kind_notebook.resource,
          .owns = {{.resource = resources::stateful_sets},
                   {.resource = resources::services},
                   {.resource = virtual_services, .optional = true}},
          .follows = {framework::follow<model::Pod>(resources::pods, wake_by_pod)},
          .reconcile = [options](const AnyObject& notebook, const View& view) -> Result<Outcome> {
            Outcome outcome;
            outcome.children = {stateful_set(notebook, options), service(notebook),
                                route(notebook, options)};
            outcome.status = status(notebook, view);
            return outcome;
          }};
}

}  // namespace
}  // namespace hekla::controllers::workspace
