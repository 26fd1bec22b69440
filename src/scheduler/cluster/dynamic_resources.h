// Dynamic resource allocation: which devices (ResourceSlice) a pod's claims (ResourceClaim) could
// have on a node. Claims ask for a number of devices of a DeviceClass, or for all; selectors in CEL
// are understood as far as they compare the driver or an attribute with a constant and are joined by
// "&&"; anything else is refused by name. Digested once per change; what is promised to a claim holds
// until the API says it is allocated, or it is released.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "scheduler/cluster/companions.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/node_term.h"
#include "scheduler/cluster/task.h"

namespace hekla::scheduler {

struct GivenDevice {
  std::string request, driver, pool, device;
  std::string key() const { return driver + "/" + pool + "/" + device; }
};

// What one claim gets.
struct ClaimDevices {
  std::string claim;  // "namespace/name"
  std::vector<GivenDevice> devices;
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
  void assume(const std::string& pod_uid, const Node& node, std::vector<ClaimDevices> chosen);
  void release(const std::string& pod_uid);

  // What stands in the claim's status once the pod may use it; the allocation is null if it is
  // there already.
  json::Value allocation_of(const std::string& claim) const;
  json::Value reserved_for(const std::string& claim, const Task& task) const;

 private:
  struct Device {
    std::string name;
    std::map<std::string, std::string> attributes;  // "domain/name" to a literal
  };
  struct Slice {
    std::string driver, pool, node;
    bool everywhere = false;
    bool has_terms = false;
    std::vector<NodeTerm> terms;
    std::vector<Device> devices;
  };
  // attribute == literal; an empty attribute is the driver.
  struct Equation {
    std::string attribute, literal;
  };
  struct Selector {
    std::vector<Equation> equations;
    std::string unreadable;  // the expression that is beyond us
  };
  struct Wish {
    std::string name, class_name;
    Selector selector;
    bool all = false;
    std::int64_t count = 1;
    std::string refused;  // something else that is beyond us
  };
  struct Request {
    std::string name;
    std::vector<Wish> alternatives;  // the first that can be had
  };
  struct Claim {
    std::vector<Request> requests;
    std::string match_attribute;  // equal in all devices
    std::string refused;
    bool allocated = false;
    std::vector<GivenDevice> devices;
    bool has_terms = false;
    std::vector<NodeTerm> terms;
    std::set<std::string> reserved;  // uids
    json::Value reserved_json;
  };
  struct Promise {
    std::string pod_uid, node;
    std::vector<GivenDevice> devices;
  };

  static Selector read_selector(const json::Array* selectors);
  static void add_expression(std::string_view expression, Selector& out);
  static Wish read_wish(const json::Value& from);
  static Slice read_slice(const json::Value& body, Names& names);
  static Claim read_claim(const json::Value& body, Names& names);

  bool reaches(const Slice& slice, const Node& node, const Names& names) const;
  bool matches_device(const Slice& slice, const Device& device, const Wish& wish) const;
  // By key, those that reach the node.
  using SliceRef = const std::pair<const std::string, Slice>*;
  std::vector<SliceRef> slices_at(const Node& node, const Names& names) const;
  // `taken`: beside those that everybody knows of.
  std::optional<std::vector<GivenDevice>> give(const Wish& wish, const std::vector<SliceRef>& slices,
                                               const std::set<std::string>& taken,
                                               const std::string& attribute,
                                               const std::string& value) const;
  std::optional<std::vector<GivenDevice>> satisfy(const Claim& claim,
                                                  const std::vector<SliceRef>& slices,
                                                  const std::set<std::string>& taken) const;
  const std::unordered_set<std::string>& taken_devices() const;
  std::string objection(const Claim& claim, const std::string& name) const;

  std::map<std::string, Claim> claims_;
  std::map<std::string, Slice> slices_;
  std::map<std::string, Selector> classes_;
  std::map<std::string, Promise> promises_;  // by claim
  // For questions about many nodes: the slices of each node beside those of several, and every device
  // that somebody has; none after a change.
  std::unordered_map<std::string, std::vector<SliceRef>> local_slices_;
  std::vector<SliceRef> wide_slices_;
  mutable std::optional<std::unordered_set<std::string>> taken_;
  std::uint64_t seen_claims_ = 0, seen_slices_ = 0, seen_classes_ = 0;
};

}  // namespace hekla::scheduler
