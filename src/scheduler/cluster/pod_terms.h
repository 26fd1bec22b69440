// Who may stand beside whom: pod affinity, anti-affinity and topology spread as counts per topology
// domain, kept current pod by pod. A term is a selector over pods and a topology key; it knows, per
// domain, how many placed pods it matches and how many placed pods carry it. No filter or score
// ever walks over pods.
//
// Part of Cluster, single-threaded. Counts are rebuilt when nodes change their shape (settle) and
// follow every move of a pod otherwise.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/cluster/ids.h"
#include "scheduler/cluster/names.h"
#include "scheduler/cluster/node.h"
#include "scheduler/cluster/node_term.h"

namespace hekla::scheduler {

using LabelPairs = std::vector<std::pair<NameId, NameId>>;

// Pods of some namespaces whose labels meet all requirements.
struct PodSelector {
  bool nothing = false;  // no selector at all: matches no pod
  bool every_namespace = false;
  std::vector<NameId> namespaces;
  bool has_namespace_selector = false;
  std::vector<NodeRequirement> namespace_labels;
  std::vector<NodeRequirement> labels;
};

enum class TermUse : std::uint8_t { affinity, anti, scored, spread };

// The nodes a spread constraint looks at.
struct SpreadScope {
  std::vector<std::pair<NameId, NameId>> node_selector;
  bool has_required_terms = false;
  std::vector<NodeTerm> required_terms;
  bool honor_taints = false;
  std::vector<PodToleration> tolerations;
  std::vector<NameId> topology_keys;  // a node must have all of them
};

struct TermSpec {
  TermUse use = TermUse::affinity;
  std::vector<PodSelector> selectors;  // all must match
  NameId topology_key;
  SpreadScope scope;  // of spread
  std::string text;   // equal texts are equal terms
};

// One topology key: which node is in which domain.
struct Topology {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  NameId key;
  std::vector<std::uint32_t> domain_of;      // by node
  std::vector<std::vector<NodeId>> members;  // by domain
  // Few nodes per domain (a host name): judged node by node. Otherwise whole groups of nodes are
  // judged at once.
  bool fine = false;
};

struct PodTerm {
  TermSpec spec;
  std::uint32_t topology = 0;
  std::uint32_t users = 0;
  std::vector<LabelSetId> matched_sets;
  std::vector<std::int32_t> count;  // by domain: placed pods that match
  std::vector<std::int64_t>
      carried;             // by domain: placed pods that have this term, or their weights
  std::int64_t total = 0;  // matching pods in any domain
  // Of spread: domains with a node in scope, and the least count among them.
  std::vector<bool> in_scope;                // by node
  std::vector<std::int32_t> domains_having;  // by count
  std::int32_t domains = 0;
  std::int32_t least = 0;
  // Rises when nodes outside the changed domain are affected too.
  std::uint64_t epoch = 0;

  std::int32_t at(std::uint32_t domain) const {
    return domain == Topology::kNone ? 0 : count[domain];
  }
};

// What a class of pods wants of its neighbours, and what they want of it.
struct ClassTerms {
  struct Spread {
    TermId term;
    std::int32_t max_skew = 1, min_domains = 0;
    bool self = false;  // its own pods count
    bool soft = false;
  };
  struct Weighted {
    TermId term;
    std::int32_t weight = 0;
  };
  std::vector<TermId> affinity;
  bool affinity_self = false;
  std::vector<TermId> anti;
  std::vector<Weighted> preferred;
  std::vector<Weighted> drawn;  // carried for others to be scored by
  std::vector<Spread> spread;
  std::vector<TermId> matched;  // carried terms (anti, scored) that match pods of this class

  bool empty() const {
    return affinity.empty() && anti.empty() && preferred.empty() && spread.empty() &&
           matched.empty();
  }
};

class PodTerms {
 public:
  explicit PodTerms(Names& names) : names_(names) {}

  // ---- label sets: namespace and labels of pods, shared ----
  struct LabelSet {
    NameId ns;
    LabelPairs labels;
    std::vector<TermId> matched;
    std::vector<TaskId> tasks;
    std::string key;
  };
  LabelSetId intern_labels(NameId ns, LabelPairs labels);
  void join(LabelSetId set, TaskId task) { sets_[set.index()].tasks.push_back(task); }
  void leave(LabelSetId set, TaskId task);
  const LabelSet& at(LabelSetId id) const { return sets_[id.index()]; }
  // The carried terms that match, ascending.
  std::vector<TermId> carried_matches(LabelSetId id) const;

  // ---- terms ----
  // A term without users is forgotten by release(). `added` says whether it is new.
  TermId intern(TermSpec spec, bool* added);
  void use(TermId id) { ++terms_[id.index()].users; }
  void release(TermId id);
  const PodTerm& at(TermId id) const { return terms_[id.index()]; }
  const Topology& topology(const PodTerm& term) const { return topologies_[term.topology]; }
  const Topology& topology(TermId id) const { return topologies_[at(id).topology]; }
  std::uint32_t domain(TermId id, NodeId node) const {
    const Topology& where = topology(id);
    return node.index() < where.domain_of.size() ? where.domain_of[node.index()] : Topology::kNone;
  }
  bool matches(const PodSelector& selector, NameId ns, const LabelPairs& labels) const;

  // ---- counts ----
  // Nodes have changed: counts are worthless until settle().
  void unsettle() { settled_ = false; }
  bool settled() const { return settled_; }
  // Lays out topologies anew with all counts at zero; the owner then adds every placed pod.
  void lay_out(std::span<const Node> nodes);
  // The same for a term that has just appeared.
  void lay_out(TermId id, std::span<const Node> nodes) { lay_out(terms_[id.index()], nodes); }
  // A pod with these labels and terms came to the node (sign 1) or left it (-1). `leaving` pods do
  // not count for spread. Nodes to look at again are appended to `touched`.
  void count(LabelSetId labels, const ClassTerms& terms, NodeId node, bool leaving, int sign,
             std::vector<NodeId>& touched);
  // The same for one term that has just appeared.
  void count_term(TermId id, NodeId node, bool leaving, int sign, std::vector<NodeId>& touched);

  bool any() const { return live_terms_ > 0; }

  // The labels of a namespace, for terms that choose namespaces by them. Returns the label sets
  // that may match other terms now; their counts are worthless until settle().
  std::vector<LabelSetId> set_namespace(NameId ns, LabelPairs labels);

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  bool matches(const PodTerm& term, const LabelSet& set) const;
  void find_matches(LabelSetId id);
  void lay_out(PodTerm& term, std::span<const Node> nodes);
  std::uint32_t intern_topology(NameId key);
  void touch(const PodTerm& term, std::uint32_t domain, std::vector<NodeId>& touched) const;
  static bool pivot(const PodTerm& term, Pair& out);

  Names& names_;
  std::vector<LabelSet> sets_;
  std::vector<LabelSetId> free_sets_;
  boost::unordered_flat_map<std::string, std::uint32_t> set_ids_;
  boost::unordered_flat_map<Pair, std::vector<LabelSetId>> sets_by_pair_;
  std::vector<PodTerm> terms_;
  std::vector<TermId> free_terms_;
  boost::unordered_flat_map<std::string, std::uint32_t> term_ids_;
  boost::unordered_flat_map<Pair, std::vector<TermId>> terms_by_pair_;
  std::vector<TermId> unindexed_terms_;
  std::vector<Topology> topologies_;
  std::size_t live_terms_ = 0;
  boost::unordered_flat_map<std::uint32_t, LabelPairs> namespaces_;
  bool settled_ = false;
};

}  // namespace hekla::scheduler
