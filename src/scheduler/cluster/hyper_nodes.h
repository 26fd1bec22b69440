// The network's shape: hypernodes are groups of nodes, or of hypernodes, close to one another; the
// lower the tier the closer. A virtual one at the top has everything. Part of Cluster; made anew
// when HyperNode objects, nodes or their labels change.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/cluster/companions.h"
#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/job.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"

namespace hekla::scheduler {

struct HyperNode {
  std::string name;
  std::int32_t tier = 0;
  std::string tier_name;
  HyperNodeId parent;                 // invalid at the top
  std::vector<HyperNodeId> children;  // by name
  std::vector<NodeId> nodes;          // everything below, ascending
};

class HyperNodes {
 public:
  static constexpr std::string_view kTop = "<cluster-top-hypernode>";

  // `find` looks a node up by its name.
  using FindNode = std::function<NodeId(std::string_view)>;
  void lay_out(const Companions& companions, std::span<const Node> nodes, const FindNode& find,
               const Names& names);

  // Whether there are HyperNode objects at all.
  bool any() const { return named_ > 0; }
  // Empty unless the objects contradict each other (a cycle, two parents); jobs that care about the
  // network then wait.
  const std::string& problem() const { return problem_; }
  // By id, in the order of names; the top is the last.
  std::span<const HyperNode> all() const { return all_; }
  const HyperNode& at(HyperNodeId id) const { return all_[id.index()]; }
  HyperNodeId top() const { return HyperNodeId(all_.size() - 1); }
  HyperNodeId find(std::string_view name) const;
  // The lowest hypernode with this node in it; invalid for a node in none.
  HyperNodeId of(NodeId node) const {
    return node.index() < lowest_.size() ? lowest_[node.index()] : HyperNodeId();
  }
  // The lowest that has both below it. An invalid id is no constraint.
  HyperNodeId common(HyperNodeId a, HyperNodeId b) const;
  bool contains(HyperNodeId outer, HyperNodeId inner) const;
  // -1 when no hypernode has this tier name.
  std::int32_t tier_of(std::string_view tier_name) const;
  std::int32_t lowest_tier() const { return lowest_tier_; }
  // The highest tier a wish allows; -1: it has none.
  std::int32_t allowed_tier(const TopologyWish& wish) const {
    if (!wish.given) return -1;
    if (!wish.hard) return at(top()).tier;
    return wish.tier >= 0 || wish.tier_name.empty() ? wish.tier : tier_of(wish.tier_name);
  }

 private:
  void add_members(const Companion& object, HyperNodeId id, std::span<const Node> nodes,
                   const FindNode& find_node, const Names& names);
  void adopt(HyperNodeId parent, std::string_view child);
  void adopt_matching(HyperNodeId parent, std::string_view pattern);
  void add_top(std::span<const Node> nodes);
  void find_cycle();
  void gather();

  std::vector<HyperNode> all_;
  std::size_t named_ = 0;            // without the top
  std::vector<HyperNodeId> lowest_;  // by node
  std::int32_t lowest_tier_ = 1;
  std::string problem_;
};

}  // namespace hekla::scheduler
