#include "scheduler/cluster/volume_fit.h"

#include <algorithm>
#include <set>

namespace hekla::scheduler {

namespace {

bool reaches(const Volume& volume, const Node& node, const Names& names) {
  return !volume.has_affinity ||
         std::any_of(volume.reachable.begin(), volume.reachable.end(),
                     [&](const NodeTerm& term) { return matches(term, node, names); });
}

// The volume a claim has or has been promised; invalid if none.
VolumeId volume_of(const VolumeClaim& claim) {
  return claim.bound ? claim.volume : claim.assumed_volume;
}

bool can_be_made(const Cluster& cluster, const VolumeClaim& claim, const Node& node) {
  const StorageClass* kind = cluster.volumes().class_of(claim);
  if (kind == nullptr || !kind->provisions) return false;
  return kind->topologies.empty() ||
         std::any_of(kind->topologies.begin(), kind->topologies.end(),
                     [&](const NodeTerm& term) { return matches(term, node, cluster.names()); });
}

// For a claim that waits for its first pod. A volume that another claim of the same pod takes is
// not free any more.
bool find_volume(const Cluster& cluster, ClaimId id, NodeId node, std::vector<ClaimPlan>& plans) {
  const VolumeClaim& claim = cluster.volumes().at(id);
  NodeId decided = claim.selected.valid() ? claim.selected : claim.assumed_node;
  if (decided.valid()) return decided == node;
  VolumeId found = cluster.volumes().match(id, cluster.at(node), cluster.names());
  bool taken = std::any_of(plans.begin(), plans.end(), [&](const ClaimPlan& other) {
    return found.valid() && other.volume == found;
  });
  if (taken) found = {};
  if (!found.valid() && !can_be_made(cluster, claim, cluster.at(node))) return false;
  plans.push_back({id, found});
  return true;
}

bool in_use(const Cluster& cluster, const VolumeClaim& claim, const Task& task) {
  return std::any_of(claim.users.begin(), claim.users.end(), [&](TaskId id) {
    const Task& other = cluster.at(id);
    return &other != &task && other.node.valid() && !is_completed(other.status);
  });
}

// A node that knows nothing of zones is in all of them.
bool zone_matches(const Volume& volume, const Node& node) {
  auto in = [&](const VolumeZone& zone) {
    NameId have = node.shape.label(zone.key);
    return have.valid() ? have : node.shape.label(zone.old_key);
  };
  if (std::none_of(volume.zones.begin(), volume.zones.end(),
                   [&](const VolumeZone& zone) { return in(zone).valid(); }))
    return true;
  return std::all_of(volume.zones.begin(), volume.zones.end(), [&](const VolumeZone& zone) {
    return std::find(zone.values.begin(), zone.values.end(), in(zone)) != zone.values.end();
  });
}

void add_handles(const Cluster& cluster, const Task& task, const std::string& driver,
                 std::set<std::string>& handles) {
  for (const ClaimUse& use : task.claims) {
    const VolumeClaim& claim = cluster.volumes().at(use.claim);
    VolumeId volume = volume_of(claim);
    if (volume.valid()) {
      const Volume& one = cluster.volumes().at(volume);
      if (one.driver == driver) handles.insert(one.handle);
      continue;
    }
    // One that will be made counts by its claim.
    const StorageClass* kind = cluster.volumes().class_of(claim);
    if (kind != nullptr && kind->provisioner == driver) handles.insert(claim.ns + "/" + claim.name);
  }
}

bool exceeds_limits(const Cluster& cluster, const Task& task, NodeId id) {
  const Node& node = cluster.at(id);
  for (const ClaimUse& use : task.claims) {
    const VolumeClaim& claim = cluster.volumes().at(use.claim);
    VolumeId volume = volume_of(claim);
    const StorageClass* kind = cluster.volumes().class_of(claim);
    if (!volume.valid() && kind == nullptr) continue;
    const std::string& driver =
        volume.valid() ? cluster.volumes().at(volume).driver : kind->provisioner;
    std::int64_t limit = cluster.volumes().limit(node.name, driver);
    if (limit < 0) continue;
    std::set<std::string> handles;
    for (TaskId other : node.tasks) add_handles(cluster, cluster.at(other), driver, handles);
    std::size_t before = handles.size();
    add_handles(cluster, task, driver, handles);
    if (handles.size() > before && static_cast<std::int64_t>(handles.size()) > limit) return true;
  }
  return false;
}

}  // namespace

std::string_view words_for(VolumeConflict conflict) {
  switch (conflict) {
    case VolumeConflict::none:
      return "";
    case VolumeConflict::once_pod:
      return "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
             "already in-use by another pod";
    case VolumeConflict::unreachable:
      return "node(s) didn't match PersistentVolume's node affinity";
    case VolumeConflict::nothing_fits:
      return "node(s) didn't find available persistent volumes to bind";
    case VolumeConflict::no_volume:
      return "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
    case VolumeConflict::zone:
      return "node(s) had no available volume zone";
    case VolumeConflict::limit:
      return "node(s) exceed max volume count";
  }
  return "";
}

std::string blocked_claims(const Cluster& cluster, const Task& task) {
  const Volumes& volumes = cluster.volumes();
  for (const ClaimUse& use : task.claims) {
    const VolumeClaim& claim = volumes.at(use.claim);
    std::string name = "persistentvolumeclaim \"" + claim.name + "\"";
    if (!claim.known)
      return use.ephemeral ? "waiting for ephemeral volume controller to create the " + name
                           : name + " not found";
    if (claim.lost)
      return name + " bound to non-existent persistentvolume \"" +
             (claim.volume.valid() ? volumes.at(claim.volume).name : "") + "\"";
    if (claim.deleting) return name + " is being deleted";
  }
  for (const ClaimUse& use : task.claims) {
    const VolumeClaim& claim = volumes.at(use.claim);
    if (claim.bound || claim.assumed_volume.valid()) continue;
    const StorageClass* kind = volumes.class_of(claim);
    // A claim that names its volume is about to be bound to it, whatever its class.
    if (kind == nullptr || !kind->waits || claim.volume.valid())
      return "pod has unbound immediate PersistentVolumeClaims";
  }
  return {};
}

VolumeConflict volume_conflict(const Cluster& cluster, TaskId id, NodeId node,
                               const VolumeChecks& checks) {
  const Task& task = cluster.at(id);
  const Volumes& volumes = cluster.volumes();
  std::vector<ClaimPlan> plans;
  for (const ClaimUse& use : task.claims) {
    const VolumeClaim& claim = volumes.at(use.claim);
    if (claim.once_pod && in_use(cluster, claim, task)) return VolumeConflict::once_pod;
    VolumeId has = volume_of(claim);
    if (!has.valid()) {
      if (checks.binding && !find_volume(cluster, use.claim, node, plans))
        return VolumeConflict::nothing_fits;
      continue;
    }
    const Volume& volume = volumes.at(has);
    if (checks.binding && !volume.known) return VolumeConflict::no_volume;
    if (checks.zone && !zone_matches(volume, cluster.at(node))) return VolumeConflict::zone;
    if (checks.binding && !reaches(volume, cluster.at(node), cluster.names()))
      return VolumeConflict::unreachable;
  }
  if (checks.limits && volumes.has_limits() && exceeds_limits(cluster, task, node))
    return VolumeConflict::limit;
  return VolumeConflict::none;
}

std::vector<ClaimPlan> plan_claims(const Cluster& cluster, const Task& task, NodeId node) {
  std::vector<ClaimPlan> plans;
  for (const ClaimUse& use : task.claims) {
    const VolumeClaim& claim = cluster.volumes().at(use.claim);
    if (claim.bound || claim.assumed_for.valid() || claim.selected.valid()) continue;
    find_volume(cluster, use.claim, node, plans);
  }
  return plans;
}

}  // namespace hekla::scheduler
