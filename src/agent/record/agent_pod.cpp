#include "agent/record/agent_pod.h"

#include <algorithm>

#include "json/codec.h"

namespace hekla::agent {
namespace {

struct EphemeralName {
  std::string name, targetContainerName;
};
BOOST_DESCRIBE_STRUCT(EphemeralName, (), (name, targetContainerName))
struct ReadinessGate {
  std::string conditionType;
};
BOOST_DESCRIBE_STRUCT(ReadinessGate, (), (conditionType))

struct PodOs {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(PodOs, (), (name))
struct ResizePolicy {
  std::string resourceName, restartPolicy;
};
BOOST_DESCRIBE_STRUCT(ResizePolicy, (), (resourceName, restartPolicy))
struct ReadOnlyMount {
  std::string mountPath, recursiveReadOnly;
};
BOOST_DESCRIBE_STRUCT(ReadOnlyMount, (), (mountPath, recursiveReadOnly))
struct VolumeDevice {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(VolumeDevice, (), (name))
struct ContainerExtras {
  std::string name;
  std::vector<ResizePolicy> resizePolicy;
  std::vector<ReadOnlyMount> volumeMounts;
  std::vector<VolumeDevice> volumeDevices;
};
BOOST_DESCRIBE_STRUCT(ContainerExtras, (), (name, resizePolicy, volumeMounts, volumeDevices))

void take_extras(const ContainerExtras& one, AgentPod& pod) {
  for (const ResizePolicy& policy : one.resizePolicy)
    if (policy.restartPolicy == "RestartContainer")
      pod.restart_to_resize[one.name].insert(policy.resourceName);
  for (const ReadOnlyMount& mount : one.volumeMounts)
    if (mount.recursiveReadOnly == "Enabled" || mount.recursiveReadOnly == "IfPossible")
      pod.recursive_read_only[one.name].insert(mount.mountPath);
  for (const VolumeDevice& device : one.volumeDevices) pod.block_volumes.insert(device.name);
}

}  // namespace

Result<AgentPod> AgentPod::from_node(const json::Node& node) {
  AgentPod pod;
  TRY(json::decode_into(node, static_cast<model::Pod&>(pod)));
  std::optional<json::Node> spec = node.find("spec");
  if (!spec || !spec->is_object()) return pod;
  std::vector<model::Container> containers;
  std::vector<EphemeralName> names;
  std::vector<ReadinessGate> gates;
  TRY(json::decode_member(*spec, "ephemeralContainers", containers));
  TRY(json::decode_member(*spec, "ephemeralContainers", names));
  TRY(json::decode_member(*spec, "readinessGates", gates));
  for (model::Container& container : containers)
    pod.spec.containers.push_back(std::move(container));
  for (const EphemeralName& one : names) pod.ephemeral[one.name] = one.targetContainerName;
  for (const ReadinessGate& gate : gates) pod.readiness_gates.push_back(gate.conditionType);
  PodOs os;
  TRY(json::decode_member(*spec, "os", os));
  pod.os = os.name;
  bool host_users = true;
  TRY(json::decode_member(*spec, "hostUsers", host_users));
  pod.own_users = !host_users;
  TRY(json::decode_member(*spec, "setHostnameAsFQDN", pod.fqdn_hostname));
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    std::vector<ContainerExtras> extras;
    TRY(json::decode_member(*spec, list, extras));
    for (const ContainerExtras& one : extras) take_extras(one, pod);
  }
  return pod;
}

json::Value AgentPod::to_json() const {
  return json::encode(static_cast<const model::Pod&>(*this));
}

void sync_ephemeral(PodRecord& record, const AgentPod& pod) {
  for (const auto& [name, target] : pod.ephemeral) {
    auto found = std::ranges::find(record.containers, name, &ContainerRecord::name);
    if (found == record.containers.end()) {
      record.containers.push_back({.name = name});
      found = std::prev(record.containers.end());
    }
    found->ephemeral = true;
    found->target = target;
  }
}

}  // namespace hekla::agent
