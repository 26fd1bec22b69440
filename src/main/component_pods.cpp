#include "main/component_pods.h"

#include "agent/agent.h"
#include "base/build_info.h"
#include "base/crypto.h"
#include "base/log.h"
#include "model/time.h"

namespace hekla {
namespace {

// volcano-scheduler-7878844b4f-swztb, volcano-admission-init-5qtt8: the same whenever it is
// computed.
std::string pod_name(const Component& component) {
  constexpr std::size_t kTemplateDigits = 10, kPodDigits = 5;
  const std::string digest = sha256_hex(component.ns + "/" + component.name);
  if (component.once) return component.name + "-" + digest.substr(0, kPodDigits);
  return component.name + "-" + digest.substr(0, kTemplateDigits) + "-" +
         digest.substr(kTemplateDigits, kPodDigits);
}

std::string image() { return std::string("hekla:") + build_info().version; }

json::Object container_status(const Component& component, const std::string& since,
                              std::int32_t restarts) {
  json::Object running{{"startedAt", since}};
  json::Object status{{"name", component.name},
                      {"image", image()},
                      {"imageID", ""},
                      {"ready", true},
                      {"started", true},
                      {"restartCount", restarts},
                      {"state", json::Object{{"running", std::move(running)}}}};
  if (restarts > 0) {
    // How the process before ended is not known.
    json::Object ended{{"exitCode", 255}, {"reason", "Unknown"}, {"finishedAt", since}};
    status.emplace("lastState", json::Object{{"terminated", std::move(ended)}});
  }
  return status;
}

// The status of a pod whose work was done when the process started.
json::Object done_status(const Component& component, const std::string& since) {
  json::Array conditions;
  for (const auto& [type, status] :
       {std::pair("Initialized", "True"), std::pair("Ready", "False"),
        std::pair("ContainersReady", "False"), std::pair("PodScheduled", "True")}) {
    json::Object condition{{"type", type}, {"status", status}, {"lastTransitionTime", since}};
    if (std::string_view(type) != "PodScheduled") condition["reason"] = "PodCompleted";
    conditions.push_back(std::move(condition));
  }
  json::Object ended{
      {"exitCode", 0}, {"reason", "Completed"}, {"startedAt", since}, {"finishedAt", since}};
  json::Object container{{"name", component.name},
                         {"image", image()},
                         {"imageID", ""},
                         {"ready", false},
                         {"started", false},
                         {"restartCount", 0},
                         {"state", json::Object{{"terminated", std::move(ended)}}}};
  return {{"phase", "Succeeded"},
          {"startTime", since},
          {"conditions", std::move(conditions)},
          {"containerStatuses", json::Array{std::move(container)}}};
}

json::Object status_of(const Component& component, const std::string& since,
                       const std::string& begun, std::int32_t restarts) {
  json::Array conditions, containers;
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"})
    conditions.push_back(
        json::Object{{"type", type}, {"status", "True"}, {"lastTransitionTime", since}});
  containers.push_back(container_status(component, since, restarts));
  return {{"phase", "Running"},
          {"startTime", begun},
          {"conditions", std::move(conditions)},
          {"containerStatuses", std::move(containers)}};
}

json::Value pod_of(const Component& component, const std::string& name, const std::string& node) {
  json::Array tolerations, containers;
  tolerations.push_back(json::Object{{"operator", "Exists"}});
  containers.push_back(json::Object{{"name", component.name}, {"image", image()}});
  json::Object labels{{"app", component.name}, {agent::kInProcessAnnotation, "true"}};
  // The mark of pods that a node runs by itself: kubectl drain leaves them alone.
  json::Object annotations{{agent::kInProcessAnnotation, "true"},
                           {"kubernetes.io/config.mirror", name}};
  json::Object metadata{{"name", name},
                        {"namespace", component.ns},
                        {"labels", std::move(labels)},
                        {"annotations", std::move(annotations)}};
  json::Object spec{{"nodeName", node},
                    {"automountServiceAccountToken", false},
                    {"hostNetwork", true},
                    {"tolerations", std::move(tolerations)},
                    {"restartPolicy", component.once ? "Never" : "Always"},
                    {"containers", std::move(containers)}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

std::move_only_function<void(kube::WriteResult)> report(const char* what, const std::string& pod) {
  return [what, pod](const kube::WriteResult& result) {
    // The informer may lag behind: the next look will be right.
    if (result || result.error().code == Code::not_found ||
        result.error().code == Code::already_exists || result.error().code == Code::conflict)
      return;
    log_warn("main", what, {{"pod", pod}, {"error", result.error().message}});
  };
}

}  // namespace

const std::vector<Component>& platform_components() {
  // Pods of Kubeflow join when its components are here.
  static const std::vector<Component> all{
      {"volcano-system", "volcano-admission", {"admission", "apiserver"}},
      {"volcano-system", "volcano-admission-init", {"admission-init"}, true},
      {"volcano-system", "volcano-controllers", {"controllers", "job-controller"}},
      {"volcano-system", "volcano-scheduler", {"scheduler"}},
      {"local-path-storage", "local-path-provisioner", {"local-path"}}};
  return all;
}

const Component* component_of_pod(const std::string& ns, const std::string& pod) {
  for (const Component& component : platform_components())
    if (component.ns == ns && pod_name(component) == pod) return &component;
  return nullptr;
}

ComponentPods::ComponentPods(kube::Client& client, std::string node, WallTime started)
    : client_(client),
      node_(std::move(node)),
      started_(started),
      pods_(client, kube::resources::pods,
            kube::ListOptions{.label_selector = agent::kInProcessAnnotation}) {}

void ComponentPods::start() {
  pods_.on_settled([this] { settle(); });
  pods_.start();
}

void ComponentPods::settle() {
  const bool first = !std::exchange(settled_, true);
  for (const Component& component : platform_components()) {
    const std::string name = pod_name(component);
    auto pod = pods_.get({component.ns, name});
    if (!pod && first)
      make(component, name);
    else if (!pod)
      make_later(component, name);
    else if (pod->metadata.deletionTimestamp || pod->spec.nodeName != node_)
      remove(*pod);
    else if (component.once ? pod->status.phase != "Succeeded"
                            : first || pod->status.phase != "Running")
      update(component, *pod);
  }
}

void ComponentPods::make(const Component& component, const std::string& name) {
  kube::Write write;
  write.verb = kube::Write::Verb::create;
  write.resource = kube::resources::pods;
  write.key = {component.ns, name};
  write.body = pod_of(component, name, node_);
  client_.write(std::move(write), report("make a component's pod", name));
}

// Clients that delete a pod and wait for its end must have time to see it gone: kubectl would take
// the new one for the old and wait for ever.
void ComponentPods::make_later(const Component& component, const std::string& name) {
  client_.executor().post_after(std::chrono::seconds(2),
                                [this, &component, name, alive = std::weak_ptr(alive_)] {
                                  if (alive.lock() && !pods_.get({component.ns, name}))
                                    make(component, name);
                                });
}

void ComponentPods::remove(const model::Pod& pod) {
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = kube::resources::pods;
  write.key = {pod.metadata.ns, pod.metadata.name};
  write.grace_period_seconds = 0;
  write.precondition_uid = pod.metadata.uid;
  client_.write(std::move(write), report("remove a component's pod", pod.metadata.name));
}

// Another process than the one that wrote the status is a restart.
void ComponentPods::update(const Component& component, const model::Pod& pod) {
  const std::string since = model::format_rfc3339(started_);
  const std::string begun =
      pod.status.startTime ? model::format_rfc3339(*pod.status.startTime.at) : since;
  std::int32_t restarts = 0;
  if (!pod.status.containerStatuses.empty())
    restarts = pod.status.containerStatuses[0].restartCount + 1;
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = kube::resources::pods;
  write.key = {pod.metadata.ns, pod.metadata.name};
  write.subresource = "status";
  write.body =
      json::Object{{"status", component.once ? done_status(component, since)
                                             : status_of(component, since, begun, restarts)}};
  client_.write(std::move(write), report("update a component's pod", pod.metadata.name));
}

}  // namespace hekla
