#include "scheduler/cluster/pod_terms.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::scheduler {

namespace {

// Topologies whose domains have at most this many nodes are judged node by node.
constexpr std::size_t kFineDomain = 8;

NameId value_of(const LabelPairs& labels, NameId key) {
  auto at = std::lower_bound(labels.begin(), labels.end(), std::pair(key, NameId(0)));
  return at != labels.end() && at->first == key ? at->second : NameId();
}

bool meets(const std::vector<NodeRequirement>& requirements, const LabelPairs& labels,
           const Names& names) {
  for (const NodeRequirement& requirement : requirements)
    if (!holds(requirement, value_of(labels, requirement.key), names)) return false;
  return true;
}

bool is_in_scope(const SpreadScope& scope, const Node& node, const Names& names) {
  for (const auto& [key, value] : scope.node_selector)
    if (node.shape.label(key) != value) return false;
  for (NameId key : scope.topology_keys)
    if (!node.shape.label(key).valid()) return false;
  if (scope.has_required_terms &&
      std::none_of(scope.required_terms.begin(), scope.required_terms.end(),
                   [&](const NodeTerm& term) { return matches(term, node, names); }))
    return false;
  if (!scope.honor_taints) return true;
  return std::all_of(node.shape.taints.begin(), node.shape.taints.end(), [&](const Taint& taint) {
    if (taint.effect == Effect::prefer_no_schedule) return true;
    return std::any_of(scope.tolerations.begin(), scope.tolerations.end(),
                       [&](const PodToleration& t) { return t.tolerates(taint); });
  });
}

void move_domain(PodTerm& term, std::int32_t from, std::int32_t to) {
  auto highest = static_cast<std::size_t>(std::max(from, to));
  if (term.domains_having.size() <= highest) term.domains_having.resize(highest + 1, 0);
  --term.domains_having[static_cast<std::size_t>(from)];
  ++term.domains_having[static_cast<std::size_t>(to)];
  std::int32_t before = term.least;
  if (to < term.least) term.least = to;
  while (term.domains_having[static_cast<std::size_t>(term.least)] == 0) ++term.least;
  if (term.least != before) ++term.epoch;
}

}  // namespace

// ---- label sets

LabelSetId PodTerms::intern_labels(NameId ns, LabelPairs labels) {
  std::string key;
  auto add = [&](NameId id) {
    key.append(reinterpret_cast<const char*>(&id.value), sizeof id.value);
  };
  add(ns);
  for (const auto& [name, value] : labels) add(name), add(value);
  if (auto found = set_ids_.find(key); found != set_ids_.end()) return LabelSetId(found->second);
  LabelSetId id;
  if (free_sets_.empty()) {
    id = LabelSetId(sets_.size());
    sets_.emplace_back();
  } else {
    id = free_sets_.back();
    free_sets_.pop_back();
  }
  for (const auto& [name, value] : labels) sets_by_pair_[{name.value, value.value}].push_back(id);
  set_ids_.emplace(key, id.value);
  sets_[id.index()] = {ns, std::move(labels), {}, {}, std::move(key)};
  if (live_terms_ > 0) find_matches(id);
  return id;
}

void PodTerms::leave(LabelSetId id, TaskId task) {
  LabelSet& set = sets_[id.index()];
  auto at = std::find(set.tasks.rbegin(), set.tasks.rend(), task);
  CHECK(at != set.tasks.rend(), "a pod leaves labels it does not have");
  *at = set.tasks.back();
  set.tasks.pop_back();
  if (!set.tasks.empty()) return;
  for (TermId term : set.matched) std::erase(terms_[term.index()].matched_sets, id);
  for (const auto& [name, value] : set.labels) {
    auto listed = sets_by_pair_.find({name.value, value.value});
    std::erase(listed->second, id);
    if (listed->second.empty()) sets_by_pair_.erase(listed);
  }
  set_ids_.erase(set.key);
  set = LabelSet();
  free_sets_.push_back(id);
}

void PodTerms::find_matches(LabelSetId id) {
  LabelSet& set = sets_[id.index()];
  auto consider = [&](const std::vector<TermId>& terms) {
    for (TermId term : terms) {
      if (!matches(terms_[term.index()], set)) continue;
      set.matched.push_back(term);
      terms_[term.index()].matched_sets.push_back(id);
    }
  };
  consider(unindexed_terms_);
  for (const auto& [name, value] : set.labels)
    if (auto found = terms_by_pair_.find({name.value, value.value}); found != terms_by_pair_.end())
      consider(found->second);
}

std::vector<TermId> PodTerms::carried_matches(LabelSetId id) const {
  std::vector<TermId> out;
  for (TermId term : sets_[id.index()].matched) {
    TermUse use = terms_[term.index()].spec.use;
    if (use == TermUse::anti || use == TermUse::scored) out.push_back(term);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// ---- terms

bool PodTerms::matches(const PodSelector& selector, NameId ns, const LabelPairs& labels) const {
  if (selector.nothing) return false;
  bool in = selector.every_namespace ||
            std::find(selector.namespaces.begin(), selector.namespaces.end(), ns) !=
                selector.namespaces.end();
  if (!in && selector.has_namespace_selector) {
    auto known = namespaces_.find(ns.value);
    // The one label every namespace has.
    in = known != namespaces_.end()
             ? meets(selector.namespace_labels, known->second, names_)
             : meets(selector.namespace_labels,
                     {{names_.intern("kubernetes.io/metadata.name"), ns}}, names_);
  }
  return in && meets(selector.labels, labels, names_);
}

std::vector<LabelSetId> PodTerms::set_namespace(NameId ns, LabelPairs labels) {
  LabelPairs& known = namespaces_[ns.value];
  if (known == labels) return {};
  known = std::move(labels);
  std::vector<LabelSetId> affected;
  if (live_terms_ == 0) return affected;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    if (sets_[i].tasks.empty() || sets_[i].ns != ns) continue;
    LabelSetId id(i);
    for (TermId term : sets_[i].matched) std::erase(terms_[term.index()].matched_sets, id);
    sets_[i].matched.clear();
    find_matches(id);
    affected.push_back(id);
  }
  settled_ = false;
  return affected;
}

bool PodTerms::matches(const PodTerm& term, const LabelSet& set) const {
  return std::all_of(
      term.spec.selectors.begin(), term.spec.selectors.end(),
      [&](const PodSelector& selector) { return matches(selector, set.ns, set.labels); });
}

// A label with one value that every matching pod has: the terms are found by it.
bool PodTerms::pivot(const PodTerm& term, Pair& out) {
  for (const PodSelector& selector : term.spec.selectors)
    for (const NodeRequirement& requirement : selector.labels) {
      if (requirement.op != model::Selector::Op::in || requirement.values.size() != 1) continue;
      out = {requirement.key.value, requirement.values.front().value};
      return true;
    }
  return false;
}

std::uint32_t PodTerms::intern_topology(NameId key) {
  for (std::size_t i = 0; i < topologies_.size(); ++i)
    if (topologies_[i].key == key) return static_cast<std::uint32_t>(i);
  topologies_.push_back({key, {}, {}, false});
  settled_ = false;
  return static_cast<std::uint32_t>(topologies_.size() - 1);
}

TermId PodTerms::intern(TermSpec spec, bool* added) {
  *added = false;
  if (auto found = term_ids_.find(spec.text); found != term_ids_.end())
    return TermId(found->second);
  *added = true;
  TermId id;
  if (free_terms_.empty()) {
    id = TermId(terms_.size());
    terms_.emplace_back();
  } else {
    id = free_terms_.back();
    free_terms_.pop_back();
  }
  term_ids_.emplace(spec.text, id.value);
  PodTerm& term = terms_[id.index()];
  term = PodTerm();
  term.topology = intern_topology(spec.topology_key);
  term.spec = std::move(spec);
  ++live_terms_;
  Pair by;
  std::span<const LabelSetId> candidates;
  std::vector<LabelSetId> all;
  if (pivot(term, by)) {
    terms_by_pair_[by].push_back(id);
    if (auto found = sets_by_pair_.find(by); found != sets_by_pair_.end())
      candidates = found->second;
  } else {
    unindexed_terms_.push_back(id);
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (!sets_[i].tasks.empty()) all.push_back(LabelSetId(i));
    candidates = all;
  }
  for (LabelSetId set : candidates) {
    if (!matches(term, sets_[set.index()])) continue;
    sets_[set.index()].matched.push_back(id);
    term.matched_sets.push_back(set);
  }
  return id;
}

void PodTerms::release(TermId id) {
  PodTerm& term = terms_[id.index()];
  if (--term.users > 0) return;
  for (LabelSetId set : term.matched_sets) std::erase(sets_[set.index()].matched, id);
  Pair by;
  if (pivot(term, by)) {
    auto found = terms_by_pair_.find(by);
    std::erase(found->second, id);
    if (found->second.empty()) terms_by_pair_.erase(found);
  } else {
    std::erase(unindexed_terms_, id);
  }
  term_ids_.erase(term.spec.text);
  term = PodTerm();
  free_terms_.push_back(id);
  --live_terms_;
}

// ---- counts

void PodTerms::lay_out(std::span<const Node> nodes) {
  for (Topology& topology : topologies_) {
    boost::unordered_flat_map<std::uint32_t, std::uint32_t> domains;
    topology.domain_of.assign(nodes.size(), Topology::kNone);
    topology.members.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i].live) continue;
      NameId value = nodes[i].shape.label(topology.key);
      if (!value.valid()) continue;
      auto [at, fresh] =
          domains.emplace(value.value, static_cast<std::uint32_t>(topology.members.size()));
      if (fresh) topology.members.emplace_back();
      topology.domain_of[i] = at->second;
      topology.members[at->second].push_back(NodeId(i));
    }
    topology.fine = std::all_of(topology.members.begin(), topology.members.end(),
                                [](const auto& members) { return members.size() <= kFineDomain; });
  }
  for (PodTerm& term : terms_)
    if (term.users > 0) lay_out(term, nodes);
  settled_ = true;
}

void PodTerms::lay_out(PodTerm& term, std::span<const Node> nodes) {
  const Topology& where = topologies_[term.topology];
  term.count.assign(where.members.size(), 0);
  term.carried.assign(where.members.size(), 0);
  term.total = 0;
  term.domains = term.least = 0;
  ++term.epoch;
  if (term.spec.use != TermUse::spread) return;
  term.in_scope.assign(nodes.size(), false);
  for (std::size_t domain = 0; domain < where.members.size(); ++domain) {
    bool any = false;
    for (NodeId node : where.members[domain]) {
      bool in = is_in_scope(term.spec.scope, nodes[node.index()], names_);
      term.in_scope[node.index()] = in;
      any |= in;
    }
    // A domain out of scope is marked by a count below zero and never counted.
    if (any)
      ++term.domains;
    else
      term.count[domain] = -1;
  }
  term.domains_having.assign(1, term.domains);
}

void PodTerms::touch(const PodTerm& term, std::uint32_t domain,
                     std::vector<NodeId>& touched) const {
  const Topology& where = topologies_[term.topology];
  if (!where.fine) return;
  touched.insert(touched.end(), where.members[domain].begin(), where.members[domain].end());
}

void PodTerms::count_term(TermId id, NodeId node, bool leaving, int sign,
                          std::vector<NodeId>& touched) {
  PodTerm& term = terms_[id.index()];
  std::uint32_t at = domain(id, node);
  if (at == Topology::kNone) return;
  if (term.spec.use == TermUse::spread) {
    if (leaving || !term.in_scope[node.index()]) return;
    move_domain(term, term.count[at], term.count[at] + sign);
  }
  bool had = term.total > 0;
  term.total += sign;
  term.count[at] += sign;
  if (had != (term.total > 0)) ++term.epoch;
  touch(term, at, touched);
}

void PodTerms::count(LabelSetId labels, const ClassTerms& terms, NodeId node, bool leaving,
                     int sign, std::vector<NodeId>& touched) {
  if (live_terms_ == 0 || !settled_) return;
  for (TermId id : sets_[labels.index()].matched) count_term(id, node, leaving, sign, touched);
  auto carry = [&](TermId id, std::int64_t weight) {
    std::uint32_t at = domain(id, node);
    if (at == Topology::kNone) return;
    terms_[id.index()].carried[at] += weight * sign;
    touch(terms_[id.index()], at, touched);
  };
  for (TermId id : terms.anti) carry(id, 1);
  for (const ClassTerms::Weighted& one : terms.drawn) carry(one.term, one.weight);
}

}  // namespace hekla::scheduler
