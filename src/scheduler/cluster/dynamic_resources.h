// Dynamic resource allocation: which devices (ResourceSlice) a pod's claims (ResourceClaim) could
// have on a node. Objects are digested once per change (device_claim.h, devices.h); what is
// promised to a claim holds until the API says it is allocated, or its users are released.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/cluster/companions.h"
#include "scheduler/cluster/device_claim.h"
#include "scheduler/cluster/device_search.h"
#include "scheduler/cluster/devices.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/task.h"

namespace hekla::scheduler {

// What one claim gets; nothing if it shares what was promised to another pod. Valid until the next
// catch_up.
struct ClaimDevices {
  const ClaimSpec* claim = nullptr;
  std::vector<ChosenDevice> devices;
};

class DynamicResources {
 public:
  DynamicResources() = default;
  // A copy would look into the slices of the other.
  DynamicResources(const DynamicResources&) = delete;
  DynamicResources(DynamicResources&&) = default;
  DynamicResources& operator=(const DynamicResources&) = delete;
  DynamicResources& operator=(DynamicResources&&) = default;

  void catch_up(const Companions& companions, Names& names);

  // Why the pod can go nowhere yet; empty if nothing speaks against it.
  std::string blocked(const Task& task) const;
  // What the claims that have nothing yet would get on the node; nothing, with the reason, if they
  // cannot have it or others have it elsewhere.
  std::optional<std::vector<ClaimDevices>> choose(const Task& task, const Node& node,
                                                  const Names& names, std::string& why) const;
  void assume(const std::string& pod_uid, const Node& node,
              const std::vector<ClaimDevices>& chosen);
  void release(const std::string& pod_uid);

  // What stands in the claim's status once the pod may use it; the allocation is null if it is
  // there already, the list empty if the pod is known as a user.
  json::Value allocation_of(const std::string& claim) const;
  json::Value reserved_for(const std::string& claim, const Task& task) const;

 private:
  struct Promise {
    std::set<std::string> users;  // pod uids
    std::string node;
    bool pinned = false;          // to that node; otherwise to those the terms allow
    std::vector<NodeTerm> terms;  // all must hold
    std::vector<AllocatedDevice> devices;
    json::Value allocation;
  };

  void forget_selectors();
  void digest_claim(const std::string& key, const Companion* object, Names& names);
  void count(const std::vector<AllocatedDevice>& devices, int by);
  std::string objection(const ClaimSpec& claim) const;
  static bool usable_at(const Promise& promise, const Node& node, const Names& names);
  static json::Value allocation_json(const ClaimDevices& chosen, const Node& node,
                                     const std::map<std::string, DeviceClassSpec>& classes);

  DeviceSelectors selectors_;
  std::map<std::string, ClaimSpec> claims_;
  Devices devices_;
  std::map<std::string, DeviceClassSpec> classes_;
  std::map<std::string, Promise> promises_;     // by claim
  std::unordered_map<std::string, int> taken_;  // by device, how many claims and promises have it
  std::uint64_t seen_claims_ = 0, seen_slices_ = 0, seen_classes_ = 0;
};

}  // namespace hekla::scheduler
