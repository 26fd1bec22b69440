#include "main/standin/shown_workloads.h"

#include <cstdlib>
#include <utility>

#include "base/crypto.h"
#include "base/log.h"
#include "model/gives_way.h"
#include "model/in_process.h"

namespace hekla {
namespace {

// Tells our own workloads from those that were installed: the images of others have other tags.
constexpr std::string_view kOwnTag = ":hekla";
const kube::Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet"};
// Clients that delete something and wait for its end must have time to see it gone.
constexpr std::chrono::seconds kBack{2};

std::string own_image(const Component& component) {
  return component.images.front() + std::string(kOwnTag);
}

bool is_ours(const model::Pod& pod) {
  return !pod.spec.containers.empty() && pod.spec.containers[0].image.ends_with(kOwnTag);
}

bool is_own(const json::Value& container) {
  return json::string_at(container, {"image"}).ends_with(kOwnTag);
}

bool has_own_container(const json::Value& spec) {
  const json::Array* containers = json::array_at(spec, {"template", "spec", "containers"});
  return containers && !containers->empty() && is_own(containers->front());
}

bool is_ours(const ShownDeployment& deployment) { return has_own_container(deployment.spec); }

json::Object labels_of(const ShownWorkload& shown) {
  json::Object out;
  for (const auto& [key, value] : shown.labels) out[key] = value;
  return out;
}

json::Object pod_spec(const Component& component, const std::string& container) {
  json::Array containers;
  containers.push_back(json::Object{{"name", container}, {"image", own_image(component)}});
  return {{"automountServiceAccountToken", false}, {"containers", std::move(containers)}};
}

json::Value deployment_of(const Component& component) {
  const ShownWorkload& shown = *component.shown;
  json::Object metadata = shown.helm.empty() ? json::Object() : helm_metadata(shown.helm, shown.ns);
  json::Value marked(std::move(metadata));
  json::at_path(marked, {"annotations", model::kGivesWay}) = "true";
  metadata = std::move(marked.get_object());
  metadata["name"] = shown.name;
  metadata["namespace"] = shown.ns;
  json::Object pod{{"metadata", json::Object{{"labels", labels_of(shown)}}},
                   {"spec", pod_spec(component, shown.container)}};
  json::Object spec{{"replicas", 1},
                    {"selector", json::Object{{"matchLabels", labels_of(shown)}}},
                    {"template", std::move(pod)}};
  return json::Object{{"apiVersion", "apps/v1"},
                      {"kind", "Deployment"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

// volcano-admission-init-5qtt8: the same whenever it is computed.
std::string once_name(const ShownWorkload& shown) {
  return shown.once + "-" + sha256_hex(shown.ns + "/" + shown.once).substr(0, 5);
}

json::Value once_pod(const Component& component) {
  const ShownWorkload& shown = *component.shown;
  json::Object spec = pod_spec(component, shown.once);
  spec["restartPolicy"] = "Never";
  json::Object metadata{{"name", once_name(shown)},
                        {"namespace", shown.ns},
                        {"labels", json::Object{{"app", shown.once}}}};
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

// Kept when an installation's takes its place: `kubectl apply` of theirs goes over it.
std::vector<kube::Write> service_of(const ShownWorkload& shown) {
  json::Array ports;
  for (const ShownPort& port : shown.ports)
    ports.push_back(json::Object{{"name", port.name},
                                 {"port", port.port},
                                 {"targetPort", port.target},
                                 {"protocol", "TCP"}});
  std::vector<kube::Write> writes(2);
  writes[0].resource = kube::resources::namespaces;
  writes[0].key = {"", shown.ns};
  writes[0].body = json::Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::Object{{"name", shown.ns}}}};
  writes[1].resource = kube::resources::services;
  writes[1].key = {shown.ns, shown.name};
  writes[1].body = json::Object{
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata",
       json::Object{{"name", shown.name}, {"namespace", shown.ns}, {"labels", labels_of(shown)}}},
      {"spec",
       json::Object{
           {"type", "NodePort"}, {"selector", labels_of(shown)}, {"ports", std::move(ports)}}}};
  return writes;
}

// The namespace may be gone for a while, and somebody else may be quicker: the next look is right.
void report(const kube::WriteResult& result, const std::string& name) {
  if (!result)
    log_debug("main", "a component's workload was not written",
              {{"name", name}, {"error", result.error().message}});
}

}  // namespace

void settle_ownership(const json::Value* old, json::Value& deployment) {
  const auto is_shown = [](const json::Value& one) {
    const json::Value* spec = json::find(one, "spec");
    return spec && has_own_container(*spec);
  };
  if (old && is_shown(*old)) {
    json::Value& containers = json::at_path(deployment, {"spec", "template", "spec", "containers"});
    json::Array kept;
    if (containers.is_array())
      for (const json::Value& one : containers.get_array())
        if (!is_own(one)) kept.push_back(one);
    if (!kept.empty()) containers = std::move(kept);
  }
  if (is_shown(deployment) ||
      !json::find_path(deployment, {"metadata", "annotations", model::kGivesWay}))
    return;
  json::at_path(deployment, {"metadata", "annotations"}).get_object().erase(model::kGivesWay);
}

json::Object helm_metadata(const std::string& release, const std::string& ns) {
  return {{"labels", json::Object{{"app.kubernetes.io/managed-by", "Helm"}}},
          {"annotations", json::Object{{"meta.helm.sh/release-name", release},
                                       {"meta.helm.sh/release-namespace", ns}}}};
}

ShownWorkloads::ShownWorkloads(kube::Client& client, const ComponentTable& table,
                               const kube::InProcessRegistry& registry,
                               const kube::Informer<model::Pod>& pods)
    : client_(client), registry_(registry), pods_(pods) {
  for (const Component& component : table.all())
    if (component.shown) workloads_.emplace_back(component, client_);
}

ShownWorkloads::Workload::Workload(const Component& of, kube::Client& client)
    : component(of),
      deployment(client, kube::resources::deployments,
                 kube::ListOptions{.ns = of.shown->ns,
                                   .field_selector = "metadata.name=" + of.shown->name}) {}

void ShownWorkloads::start() {
  for (Workload& workload : workloads_) {
    workload.deployment.on_settled([this, &workload] { settle(workload); });
    workload.deployment.start();
  }
}

void ShownWorkloads::settle() {
  for (Workload& workload : workloads_) settle(workload);
}

bool ShownWorkloads::others_have(const Component& component, bool once) const {
  bool found = false;
  pods_.for_each([&](const auto& pod) {
    found |= !pod->metadata.deletionTimestamp && !is_ours(*pod) &&
             (pod->spec.restartPolicy != "Always") == once &&
             pod->metadata.annotation(model::kInProcess) == component.name;
  });
  return found;
}

void ShownWorkloads::settle(Workload& workload) {
  if (!pods_.synced() || !workload.deployment.synced()) return;
  if (!registry_.part(workload.component.part)) return;  // a platform without it, or not yet
  const ShownWorkload& shown = *workload.component.shown;
  const auto deployment = workload.deployment.get({shown.ns, shown.name});
  const bool first = !std::exchange(workload.seen, true);
  const bool ours = deployment && is_ours(*deployment);
  if (!deployment && !others_have(workload.component, false)) {
    if (first)
      make(workload);
    else
      later(workload.making, [this, &workload] {
        if (!workload.deployment.get(
                {workload.component.shown->ns, workload.component.shown->name}) &&
            !others_have(workload.component, false))
          make(workload);
      });
  } else if (ours && !deployment->metadata.deletionTimestamp &&
             others_have(workload.component, false)) {
    remove(kube::resources::deployments, deployment->metadata);
  }
  if (deployment && !ours) remove_own_sets(workload);
  if (!shown.once.empty()) settle_once(workload, ours && !others_have(workload.component, true));
}

// Of a Deployment that has become somebody's: it may choose other pods than the ones of ours.
void ShownWorkloads::remove_own_sets(const Workload& workload) {
  pods_.for_each([&](const auto& pod) {
    if (!is_ours(*pod) || pod->metadata.deletionTimestamp ||
        pod->metadata.annotation(model::kInProcess) != workload.component.name)
      return;
    for (const model::OwnerReference& owner : pod->metadata.ownerReferences)
      if (owner.kind == "ReplicaSet")
        remove(kReplicaSets, {.name = owner.name, .ns = pod->metadata.ns, .uid = owner.uid});
  });
}

void ShownWorkloads::settle_once(Workload& workload, bool wanted) {
  const kube::Key key{workload.component.shown->ns, once_name(*workload.component.shown)};
  const auto pod = pods_.get(key);
  if (pod && !wanted && !pod->metadata.deletionTimestamp)
    remove(kube::resources::pods, pod->metadata);
  if (pod || !wanted) return;
  later(workload.making_once, [this, &workload, key] {
    if (!pods_.get(key)) make_once(workload);
  });
}

void ShownWorkloads::make(Workload& workload) {
  const ShownWorkload& shown = *workload.component.shown;
  std::vector<kube::Write> writes;
  if (!shown.ports.empty()) writes = service_of(shown);
  kube::Write& write = writes.emplace_back();
  write.verb = kube::Write::Verb::create;
  write.resource = kube::resources::deployments;
  write.key = {shown.ns, shown.name};
  write.body = deployment_of(workload.component);
  client_.batch(std::move(writes),
                [name = shown.name](const std::vector<kube::WriteResult>& results) {
                  report(results.back(), name);
                });
}

void ShownWorkloads::make_once(Workload& workload) {
  kube::Write write;
  write.verb = kube::Write::Verb::create;
  write.resource = kube::resources::pods;
  write.key = {workload.component.shown->ns, once_name(*workload.component.shown)};
  write.body = once_pod(workload.component);
  client_.write(std::move(write), [name = workload.component.shown->once](
                                      const kube::WriteResult& result) { report(result, name); });
}

void ShownWorkloads::remove(const kube::Resource& resource, const model::ObjectMeta& of) {
  kube::Write write;
  write.verb = kube::Write::Verb::remove;
  write.resource = resource;
  write.key = {of.ns, of.name};
  write.precondition_uid = of.uid;
  // A workload of ours may be somebody else's by now.
  if (!of.resourceVersion.empty())
    write.precondition_resource_version = std::strtoull(of.resourceVersion.c_str(), nullptr, 10);
  write.propagation_policy = "Background";
  client_.write(std::move(write),
                [name = of.name](const kube::WriteResult& result) { report(result, name); });
}

// Once at a time for each `flag`.
void ShownWorkloads::later(bool& flag, std::function<void()> then) {
  if (std::exchange(flag, true)) return;
  client_.executor().post_after(kBack,
                                [&flag, then = std::move(then), alive = std::weak_ptr(alive_)] {
                                  if (!alive.lock()) return;
                                  flag = false;
                                  then();
                                });
}

}  // namespace hekla
