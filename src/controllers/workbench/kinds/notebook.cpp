// Notebook: a StatefulSet of one pod, a Service in front of it and a route to it. Stopped by an
// annotation, by its user or for idleness; the status mirrors the pod's.
#include <algorithm>

#include "controllers/workbench/culling.h"
#include "controllers/workbench/route.h"
#include "framework/pods.h"
#include "json/parse.h"

namespace hekla::controllers::workbench {
namespace {

using framework::AnyObject;
using framework::Child;
using framework::Outcome;
using framework::View;
using json::Array;
using json::Object;
namespace resources = kube::resources;

const std::string kRewrite = "notebooks.kubeflow.org/http-rewrite-uri";
const std::string kHeaders = "notebooks.kubeflow.org/http-headers-request-set";
constexpr std::int64_t kPort = 8888;

std::string prefix_of(const AnyObject& notebook) {
  return "/notebook/" + notebook.metadata.ns + "/" + notebook.metadata.name;
}

// The port of the server: the first that its container names.
std::int64_t port_of(const AnyObject& notebook) {
  const Array* containers = json::array_at(notebook.spec, {"template", "spec", "containers"});
  if (!containers || containers->empty()) return kPort;
  const Array* ports = json::array_at(containers->front(), {"ports"});
  return ports && !ports->empty() ? json::int_at(ports->front(), {"containerPort"}, kPort) : kPort;
}

void complete_server(const AnyObject& notebook, Object& container) {
  if (json::string_at(container, {"workingDir"}).empty()) container["workingDir"] = "/home/jovyan";
  if (!json::find(container, "ports")) framework::add_port(container, "notebook-port", kPort);
  const json::Value* env = json::find(container, "env");
  const bool has_prefix =
      env && env->is_array() && std::ranges::any_of(env->get_array(), [](const json::Value& one) {
        return json::string_at(one, {"name"}) == "NB_PREFIX";
      });
  if (!has_prefix) framework::set_env(container, "NB_PREFIX", json::Value(prefix_of(notebook)));
  // A pod without one is ready before its server listens, and whoever connects sees a failure.
  if (!json::find(container, "readinessProbe"))
    container["readinessProbe"] =
        Object{{"tcpSocket", Object{{"port", port_of(notebook)}}}, {"periodSeconds", 1}};
}

json::Value pod_spec(const AnyObject& notebook, const WorkbenchOptions& options) {
  const json::Value* given = json::find_path(notebook.spec, {"template", "spec"});
  json::Value pod = Object{{"spec", given ? *given : json::Value(Object())}};
  bool first = true;
  framework::for_each_container(pod, false, [&](Object& container) {
    if (std::exchange(first, false)) complete_server(notebook, container);
  });
  if (options.add_fs_group && !json::find_path(pod, {"spec", "securityContext"}))
    json::at_path(pod, {"spec", "securityContext", "fsGroup"}) = 100;
  return *json::find(pod, "spec");
}

Child stateful_set(const AnyObject& notebook, const WorkbenchOptions& options) {
  const std::string& name = notebook.metadata.name;
  Object labels{{"statefulset", name}, {"notebook-name", name}}, annotations;
  for (const auto& [key, value] : notebook.metadata.labels) labels[key] = value;
  for (const auto& [key, value] : notebook.metadata.annotations)
    if (key.find("kubectl") == std::string::npos && key.find("notebook") == std::string::npos)
      annotations[key] = value;
  return {.resource = resources::stateful_sets,
          .body = Object{
              {"metadata", Object{{"name", name}}},
              {"spec", Object{{"replicas", is_stopped(notebook) ? 0 : 1},
                              {"serviceName", ""},
                              {"selector", Object{{"matchLabels", Object{{"statefulset", name}}}}},
                              {"template",
                               Object{{"metadata", Object{{"labels", std::move(labels)},
                                                          {"annotations", std::move(annotations)}}},
                                      {"spec", pod_spec(notebook, options)}}}}}}};
}

Child route(const AnyObject& notebook, const WorkbenchOptions& options) {
  const std::string &name = notebook.metadata.name, &ns = notebook.metadata.ns;
  const std::string prefix = prefix_of(notebook) + "/";
  const std::string& rewrite = notebook.metadata.annotation(kRewrite);
  Result<json::Value> headers = json::parse(notebook.metadata.annotation(kHeaders));
  return route_to({.name = "notebook-" + ns + "-" + name,
                   .prefix = prefix,
                   .rewrite = rewrite.empty() ? prefix : rewrite,
                   .service = name,
                   .headers = headers && headers->is_object() ? headers->get_object() : Object()},
                  ns, options);
}

// State of the container named like the notebook; a notebook written by hand often names it
// otherwise, and its first container is the server.
json::Value container_state(const AnyObject& notebook, const model::Pod& pod) {
  const auto& all = pod.status.containerStatuses;
  auto found = std::ranges::find(all, notebook.metadata.name, &model::ContainerStatus::name);
  if (found == all.end() && !pod.spec.containers.empty())
    found = std::ranges::find(all, pod.spec.containers.front().name, &model::ContainerStatus::name);
  return found == all.end() ? json::Value(Object()) : json::encode(found->state);
}

// The pod belongs to the StatefulSet, so it is read, not owned.
Object status(const AnyObject& notebook, const View& view, const model::Pod* pod) {
  auto set = view.child(resources::stateful_sets, notebook.metadata.name);
  Object status{{"readyReplicas", set ? json::int_at(set->status, {"readyReplicas"}) : 0},
                {"conditions", Array()},
                {"containerState", Object()}};
  if (!pod) return status;
  Array conditions;
  for (const model::PodCondition& one : pod->status.conditions)
    conditions.push_back(json::encode(one));
  status["conditions"] = std::move(conditions);
  status["containerState"] = container_state(notebook, *pod);
  return status;
}

void wake_by_pod(const model::Pod* before, const model::Pod* after, const framework::Wake& wake) {
  const model::ObjectMeta& meta = (after ? after : before)->metadata;
  if (const std::string& name = meta.label("notebook-name"); !name.empty()) wake({meta.ns, name});
}

framework::KindDescription describe(const WorkbenchOptions& options);

}  // namespace

extern const WorkbenchKind workbench_kind_notebook;
const WorkbenchKind workbench_kind_notebook{{"kubeflow.org", "v1", "notebooks", "Notebook"},
                                            describe};

namespace {

framework::KindDescription describe(const WorkbenchOptions& options) {
  return {.name = "notebook-controller",
          .resource = workbench_kind_notebook.resource,
          .owns = {owned(resources::stateful_sets), owned(resources::services),
                   owned(virtual_services, true)},
          .follows = {framework::follow<model::Pod>(resources::pods, wake_by_pod)},
          .reconcile = [options](const AnyObject& notebook, const View& view) -> Result<Outcome> {
            const std::string &name = notebook.metadata.name, &ns = notebook.metadata.ns;
            auto pod = view.find<model::Pod>(resources::pods, {ns, name + "-0"});
            Outcome outcome;
            outcome.children = {stateful_set(notebook, options),
                                service_to(name, Object{{"statefulset", name}}, port_of(notebook)),
                                route(notebook, options)};
            outcome.status = status(notebook, view, pod.get());
            if (options.cull_after)
              cull(notebook, pod != nullptr, *options.cull_after, view.now(), outcome);
            return outcome;
          }};
}

}  // namespace
}  // namespace hekla::controllers::workbench
