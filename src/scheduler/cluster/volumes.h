// Persistent volumes and claims as the scheduler sees them: which claim a pod uses, where its
// volume can be reached, and which free volume a claim that waits for its first pod could have.
// Part of Cluster; objects are digested once per change. What a session promises a pod's claims
// (assume) holds until the API says the same or the pod gives its node up.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/selector.h"
#include "scheduler/cluster/companions.h"
#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/node_term.h"
#include "scheduler/cluster/task.h"

namespace hekla::scheduler {

using VolumeId = Id<struct VolumeTag>;

struct VolumeClaim {
  std::string ns, name, uid;
  bool known = false;  // the object exists; otherwise only pods have named it
  bool deleting = false, lost = false;
  bool bound = false;      // for good
  bool once_pod = false;   // ReadWriteOncePod
  VolumeId volume;         // spec.volumeName
  std::string class_name;  // empty: none
  bool has_class = false;  // spec.storageClassName is there
  std::int64_t bytes = 0;
  std::uint32_t modes = 0;
  bool block = false;
  bool has_selector = false;
  model::Selector selector;
  NodeId selected;  // provisioning has been asked for on this node
  std::vector<TaskId> users;
  // What a session has promised it for a pod.
  TaskId assumed_for;
  VolumeId assumed_volume;
  NodeId assumed_node;
};

// A zone or region by label: a node must have one of the values.
struct VolumeZone {
  NameId key, old_key;
  std::vector<NameId> values;
};

struct Volume {
  std::string name;
  bool known = false;
  bool available = false;  // neither released nor failed
  std::string claim;       // "namespace/name" it belongs to or is kept for
  std::string claim_uid;
  std::string class_name;
  std::int64_t bytes = 0;
  std::uint32_t modes = 0;
  bool block = false;
  bool has_affinity = false;
  std::vector<NodeTerm> reachable;  // one must match
  std::vector<VolumeZone> zones;
  model::Labels labels;
  std::string driver, handle;  // of CSI
  ClaimId assumed_by;
};

struct StorageClass {
  bool waits = false;       // WaitForFirstConsumer
  bool provisions = false;  // has a provisioner that makes volumes
  std::string provisioner;
  std::vector<NodeTerm> topologies;  // allowedTopologies: one must match, if there are any
  bool is_default = false;
};

class Volumes {
 public:
  // Takes in what has changed since the last time. `node_of` interns a node's name.
  template <class NodeOf>
  void catch_up(const Companions& companions, Names& names, NodeOf node_of);

  ClaimId intern(std::string_view ns, std::string_view name);
  void join(ClaimId claim, TaskId task) { claims_[claim.index()].users.push_back(task); }
  void leave(ClaimId claim, TaskId task);

  const VolumeClaim& at(ClaimId id) const { return claims_[id.index()]; }
  const Volume& at(VolumeId id) const { return volumes_[id.index()]; }
  // The class by its name, or the default one for a claim that names none. Null if there is none.
  const StorageClass* class_of(const VolumeClaim& claim) const;
  // A free volume the claim could have that this node can reach: the smallest.
  VolumeId match(ClaimId claim, const Node& node, const Names& names) const;
  // How many volumes of a CSI driver a node can hold; -1: no limit known.
  std::int64_t limit(std::string_view node, std::string_view driver) const;
  bool has_limits() const { return !limits_.empty(); }

  void assume(TaskId task, ClaimId claim, VolumeId volume, NodeId node);
  // The task gives up what it was promised.
  void release(TaskId task, const std::vector<ClaimUse>& claims);

 private:
  void digest_claim(const std::string& key, const Companion* object, NodeId selected);
  void digest_volume(const std::string& key, const Companion* object, Names& names);
  void digest_class(const std::string& key, const Companion* object, Names& names);
  void digest_csi_node(const std::string& key, const Companion* object);
  VolumeId intern_volume(std::string_view name);
  void forget_assumption(VolumeClaim& claim);

  std::vector<VolumeClaim> claims_;
  std::vector<Volume> volumes_;
  boost::unordered_flat_map<std::string, std::uint32_t> claim_ids_, volume_ids_;
  std::map<std::string, std::vector<VolumeId>, std::less<>> by_class_;  // volumes that are known
  std::map<std::string, StorageClass, std::less<>> classes_;
  std::map<std::string, std::map<std::string, std::int64_t, std::less<>>, std::less<>> limits_;
  std::uint64_t seen_claims_ = 0, seen_volumes_ = 0, seen_classes_ = 0, seen_nodes_ = 0;
};

template <class NodeOf>
void Volumes::catch_up(const Companions& companions, Names& names, NodeOf node_of) {
  auto keys_of = [](const auto& index) {
    return [&index](auto visit) {
      for (const auto& [key, value] : index) visit(key);
    };
  };
  companions.catch_up(
      CompanionKind::volume, seen_volumes_, keys_of(volume_ids_),
      [&](const std::string& key, const Companion* object) { digest_volume(key, object, names); });
  companions.catch_up(CompanionKind::claim, seen_claims_, keys_of(claim_ids_),
                      [&](const std::string& key, const Companion* object) {
                        NodeId selected;
                        if (object != nullptr)
                          if (const std::string& node =
                                  object->metadata.annotation("volume.kubernetes.io/selected-node");
                              !node.empty())
                            selected = node_of(node);
                        digest_claim(key, object, selected);
                      });
  companions.catch_up(
      CompanionKind::storage_class, seen_classes_, keys_of(classes_),
      [&](const std::string& key, const Companion* object) { digest_class(key, object, names); });
  companions.catch_up(
      CompanionKind::csi_node, seen_nodes_, keys_of(limits_),
      [&](const std::string& key, const Companion* object) { digest_csi_node(key, object); });
}

}  // namespace hekla::scheduler
