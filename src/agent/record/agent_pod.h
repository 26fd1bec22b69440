// A pod as the agent reads it: with the members only a node cares about.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/record/pod_record.h"
#include "json/node.h"
#include "model/core.h"

namespace hekla::agent {

struct AgentPod : model::Pod {
  // Ephemeral containers stand behind the others in spec.containers; here are their names and the
  // containers whose processes they see ("" for none).
  std::map<std::string, std::string> ephemeral;
  std::vector<std::string> readiness_gates;  // types of conditions
  std::string os;                            // that its containers are made for; empty: not said
  // Resources of which another amount needs another run, by container.
  std::map<std::string, std::set<std::string>> restart_to_resize;

  bool own_users = false;               // hostUsers: false
  bool fqdn_hostname = false;           // setHostnameAsFQDN
  std::set<std::string> block_volumes;  // that containers want as devices
  // Mount paths below which everything is to be read-only, by container.
  std::map<std::string, std::set<std::string>> recursive_read_only;

  static Result<AgentPod> from_node(const json::Node& node);
  json::Value to_json() const;
};

using AgentPodPtr = std::shared_ptr<const AgentPod>;

// Gives the record what the pod has got since.
void sync_ephemeral(PodRecord& record, const AgentPod& pod);

}  // namespace hekla::agent
