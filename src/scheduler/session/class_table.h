// For one class of pods: which nodes can take one, how good each is, and the best at once. Built
// once, then kept current node by node through the cluster's change log, within a session and
// across sessions.
//
// All nodes are looked at, always; Volcano samples. Among equal scores the node with the lowest id
// wins; Volcano draws lots.
//
// Scores that are normalised over the candidates (preferred affinity, soft taints) change for every
// node when the candidates change. They depend on the node's shape alone, so nodes fall into few
// profiles of equal raw values: the table keeps a tournament tree of local scores per profile and
// compares the profiles' winners, which is exact and costs O(profiles) to ask and O(log nodes) to
// update.
//
// Filters that judge whole groups of nodes at once (a zone that has its share of a spread) split
// the profiles by group and are asked once per group and refresh instead of once per node.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/cluster/cluster.h"
#include "scheduler/session/plugin.h"

namespace hekla::scheduler {

// The plugins a table asks, as the configuration left them.
struct NodeRules {
  std::vector<Plugin*> filters;
  std::vector<Plugin*> scores;
  struct Normalized {
    Plugin* plugin = nullptr;
    std::size_t which = 0;
    NormalizedScore how;
  };
  std::vector<Normalized> normalized;
  std::uint64_t version = 0;  // of the configuration
};

enum class Fit : std::uint8_t { none, future, idle };

class ClassTable {
 public:
  struct Pick {
    NodeId node;
    Fit fit = Fit::none;
    double score = 0;
  };

  // Catches up with the cluster. Must precede the questions below after any change.
  void refresh(const Cluster& cluster, ClassId pods, const NodeRules& rules, Reasons& reasons);

  // The best node with idle resources, or else the best that will have them; nothing when no node
  // fits.
  std::optional<Pick> best() const;
  Fit fit(NodeId node) const {
    const Entry& entry = entries_[node.index()];
    return profiles_[entry.profile].reason == kFeasible ? entry.fit : Fit::none;
  }
  ReasonId reason(NodeId node) const {
    const Entry& entry = entries_[node.index()];
    return entry.reason != kFeasible ? entry.reason : profiles_[entry.profile].reason;
  }
  // Every node, by id.
  std::span<const NodeId> nodes() const { return live_; }
  // The score of a node that fits, without what is relative to other candidates.
  double local_score(NodeId node) const { return entries_[node.index()].score; }
  // Adds what is relative, `candidates` being all there are.
  void add_relative_scores(std::span<const NodeId> candidates, std::span<double> scores) const;
  // "0/3 nodes are unavailable: 1 Insufficient cpu, 2 node(s) ...", without a prefix or with
  // "available" for pods that expect kube-scheduler's words.
  std::string explain(const Reasons& reasons, bool kube_scheduler_words) const;

  std::uint64_t last_used = 0;

 private:
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  struct Entry {
    double score = 0;
    std::uint32_t leaf = 0;
    std::uint32_t profile = 0;
    ReasonId reason = kFeasible;
    Fit fit = Fit::none;
  };
  struct Profile {
    std::vector<std::int64_t> raw;       // one per normalised score, then one per kind of group
    std::vector<std::uint32_t> members;  // node indexes, ascending
    // Winners; leaves in the second half. Empty until a node changes: many a table is asked once.
    std::vector<std::uint32_t> tree;
    std::uint32_t winner = kNobody;
    ReasonId reason = kFeasible;  // the whole group is out of the question
  };

  void rebuild(const Cluster& cluster, const NodeRules& rules, Reasons& reasons);
  // Per normalised score, then per kind of group, the values of the live nodes.
  using Columns = std::vector<std::vector<std::int64_t>>;
  Columns raw_values(const Cluster& cluster, const NodeRules& rules);
  bool are_profiled(const Columns& raw) const;
  void make_profiles(const Cluster& cluster, const Columns& raw);
  void evaluate(const Cluster& cluster, std::span<const NodeId> nodes, const NodeRules& rules,
                Reasons& reasons);
  // What has changed of the nodes in the log; false: so many that everything is better made anew.
  bool catch_up(const Cluster& cluster, std::span<const NodeId> changed, const NodeRules& rules,
                Reasons& reasons);
  void replay(NodeId node);
  void judge_groups(const NodeRules& rules);
  void grow_tree(Profile& profile);
  std::uint32_t better(std::uint32_t a, std::uint32_t b) const;
  void count_reason(ReasonId reason, int by);

  ClassId class_;
  const PodClass* pods_ = nullptr;
  std::uint64_t serial_ = 0, shape_version_ = 0, rules_version_ = 0;
  std::uint64_t cursor_ = 0, epoch_ = 0;
  bool grouped_ = false;
  std::vector<NodeId> live_;  // ascending
  std::vector<Entry> entries_;
  std::vector<Profile> profiles_;
  std::vector<NormalizedScore> how_;
  std::vector<std::uint32_t> reason_counts_;
  std::vector<ReasonId> insufficient_;  // by dimension, as far as needed
  // scratch of catch_up() and evaluate()
  std::vector<NodeId> stale_;
  std::vector<NodeId> feasible_;
  std::vector<ReasonId> reason_scratch_;
  std::vector<double> score_scratch_;
};

// The text of explain() from how many nodes have each reason.
std::string explain_reasons(const Reasons& reasons, std::span<const std::uint32_t> counts,
                            std::size_t nodes, bool kube_scheduler_words);

}  // namespace hekla::scheduler
