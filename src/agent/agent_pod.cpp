#include "agent/agent_pod.h"

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

}  // namespace

Result<AgentPod> AgentPod::from_node(const json::Node& node) {
  AgentPod pod;
  TRY(json::decode_into(node, static_cast<model::Pod&>(pod), ""));
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
  return pod;
}

json::Value AgentPod::to_json() const { return json::encode(static_cast<const model::Pod&>(*this)); }

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
