#include "scheduler/session/class_table.h"

#include <algorithm>
#include <bit>
#include <map>

namespace hekla::scheduler {

namespace {

// Nodes are looked at in lots that stay in the cache while resources, filters and scores read them
// one after the other, and fetched ahead: of the 2 KB of a node these lines are read.
constexpr std::size_t kLot = 128, kAhead = 4;
// To look at a node and play its games costs so many times what looking at it among all others
// does.
constexpr std::size_t kReplayCost = 3;

void fetch(const Node& node) {
  __builtin_prefetch(&node.idle);
  __builtin_prefetch(&node.used);
  __builtin_prefetch(&node.releasing);
  __builtin_prefetch(&node.pipelined);
  __builtin_prefetch(&node.reserved);
  __builtin_prefetch(&node.shape);
  __builtin_prefetch(&node.shape.allocatable);
  __builtin_prefetch(&node.nonzero_cpu);
}

struct Fitting {
  Fit fit = Fit::none;
  Dim lacking = kCpu;
};

// The request must fit what will be idle; whether it also fits what is idle now decides between
// placing and waiting.
Fitting resource_fit(const Resources& request, const Node& node) {
  bool idle = true;
  for (std::uint32_t mask = request.present; mask != 0; mask &= mask - 1) {
    auto d = static_cast<std::size_t>(std::countr_zero(mask));
    std::int64_t want = request.value[d];
    std::int64_t now = node.idle.value[d];
    if (want > now + node.releasing.value[d] - node.pipelined.value[d] - node.reserved.value[d])
      return {Fit::none, static_cast<Dim>(d)};
    idle &= want <= now;
  }
  return {idle ? Fit::idle : Fit::future, kCpu};
}

std::int64_t normalize(std::int64_t raw, std::int64_t largest, bool reverse) {
  if (largest == 0) return reverse ? 100 : 0;
  std::int64_t scaled = 100 * raw / largest;
  return reverse ? 100 - scaled : scaled;
}

}  // namespace

void ClassTable::refresh(const Cluster& cluster, ClassId pods, const NodeRules& rules,
                         Reasons& reasons) {
  class_ = pods;
  pods_ = &cluster.at(pods);
  bool same = serial_ == pods_->serial && shape_version_ == cluster.shape_version() &&
              rules_version_ == rules.version;
  std::uint64_t epoch = 0;
  for (Plugin* plugin : rules.filters) epoch += plugin->epoch(*pods_);
  for (Plugin* plugin : rules.scores) epoch += plugin->epoch(*pods_);
  same &= epoch == epoch_;
  epoch_ = epoch;
  std::optional<std::span<const NodeId>> changed;
  if (same) changed = cluster.changed_since(cursor_);
  if (!changed || !catch_up(cluster, *changed, rules, reasons)) rebuild(cluster, rules, reasons);
  cursor_ = cluster.change_sequence();
  if (grouped_) judge_groups(rules);
}

void ClassTable::judge_groups(const NodeRules& rules) {
  for (Profile& profile : profiles_) {
    profile.reason = kFeasible;
    for (Plugin* plugin : rules.filters) {
      profile.reason = plugin->filter_group(*pods_, NodeId(profile.members.front()));
      if (profile.reason != kFeasible) break;
    }
  }
}

void ClassTable::rebuild(const Cluster& cluster, const NodeRules& rules, Reasons& reasons) {
  bool same_nodes = shape_version_ == cluster.shape_version() && rules_version_ == rules.version;
  if (!same_nodes || serial_ != pods_->serial) {
    serial_ = pods_->serial;
    shape_version_ = cluster.shape_version();
    rules_version_ = rules.version;
    Columns raw = raw_values(cluster, rules);
    // A table that is handed on to another class mostly finds the nodes in the profiles it has.
    if (!same_nodes || !are_profiled(raw)) make_profiles(cluster, raw);
  }
  std::fill(reason_counts_.begin(), reason_counts_.end(), 0u);
  std::span<const NodeId> all = live_;
  for (; !all.empty(); all = all.subspan(std::min(kLot, all.size())))
    evaluate(cluster, all.first(std::min(kLot, all.size())), rules, reasons);
  for (Profile& profile : profiles_) {
    profile.tree.clear();
    profile.winner = kNobody;
    for (std::uint32_t member : profile.members) profile.winner = better(profile.winner, member);
  }
}

ClassTable::Columns ClassTable::raw_values(const Cluster& cluster, const NodeRules& rules) {
  how_.clear();
  Columns raw(rules.normalized.size());
  for (std::size_t k = 0; k < raw.size(); ++k) {
    const NodeRules::Normalized& rule = rules.normalized[k];
    how_.push_back(rule.how);
    raw[k].assign(cluster.live().size(), 0);
    rule.plugin->raw_score(rule.which, *pods_, cluster.live(), raw[k]);
  }
  std::vector<const Topology*> groups;
  for (Plugin* plugin : rules.filters) plugin->group_by(*pods_, groups);
  grouped_ = !groups.empty();
  for (const Topology* topology : groups) {
    std::vector<std::int64_t>& domain = raw.emplace_back();
    for (NodeId node : cluster.live()) domain.push_back(topology->domain_of[node.index()]);
  }
  return raw;
}

bool ClassTable::are_profiled(const Columns& raw) const {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const std::vector<std::int64_t>& known = profiles_[entries_[live_[i].index()].profile].raw;
    if (known.size() != raw.size()) return false;
    for (std::size_t k = 0; k < raw.size(); ++k)
      if (known[k] != raw[k][i]) return false;
  }
  return true;
}

void ClassTable::make_profiles(const Cluster& cluster, const Columns& raw) {
  live_.assign(cluster.live().begin(), cluster.live().end());
  entries_.assign(cluster.nodes().size(), Entry());
  profiles_.clear();
  std::map<std::vector<std::int64_t>, std::size_t> by_raw;
  std::vector<std::int64_t> key(raw.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    // Neighbours mostly look alike.
    const bool as_before = i > 0 && std::ranges::all_of(raw, [i](const auto& column) {
                             return column[i] == column[i - 1];
                           });
    if (!as_before) {
      for (std::size_t k = 0; k < raw.size(); ++k) key[k] = raw[k][i];
      auto [found, added] = by_raw.emplace(key, profiles_.size());
      if (added) profiles_.push_back({key, {}, {}, kNobody, kFeasible});
      at = found->second;
    }
    Entry& entry = entries_[live_[i].index()];
    entry.profile = static_cast<std::uint32_t>(at);
    entry.leaf = static_cast<std::uint32_t>(profiles_[at].members.size());
    profiles_[at].members.push_back(live_[i].value);
  }
}

void ClassTable::count_reason(ReasonId reason, int by) {
  if (reason == kFeasible) return;
  if (reason >= reason_counts_.size()) reason_counts_.resize(reason + 1u, 0u);
  reason_counts_[reason] =
      static_cast<std::uint32_t>(static_cast<int>(reason_counts_[reason]) + by);
}

void ClassTable::evaluate(const Cluster& cluster, std::span<const NodeId> nodes,
                          const NodeRules& rules, Reasons& reasons) {
  feasible_.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeId id = nodes[i];
    if (i + kAhead < nodes.size()) fetch(cluster.at(nodes[i + kAhead]));
    Entry& entry = entries_[id.index()];
    entry.reason = kFeasible;
    entry.score = 0;
    entry.fit = Fit::idle;
    if (!pods_->best_effort) {
      Fitting fitting = resource_fit(pods_->request, cluster.at(id));
      entry.fit = fitting.fit;
      if (fitting.fit == Fit::none && fitting.lacking == kUnknown) {
        entry.reason = reasons.intern("Insufficient " + pods_->unknown.begin()->first);
      } else if (fitting.fit == Fit::none) {
        if (fitting.lacking >= insufficient_.size()) insufficient_.resize(fitting.lacking + 1u);
        ReasonId& known = insufficient_[fitting.lacking];
        if (known == kFeasible)
          known = reasons.intern("Insufficient " + cluster.dimensions().name(fitting.lacking));
        entry.reason = known;
      }
    }
    if (entry.fit == Fit::none)
      count_reason(entry.reason, +1);
    else
      feasible_.push_back(id);
  }
  if (feasible_.empty()) return;
  reason_scratch_.assign(feasible_.size(), kFeasible);
  for (Plugin* plugin : rules.filters) plugin->filter(*pods_, feasible_, reason_scratch_);
  std::size_t passing = 0;
  for (std::size_t i = 0; i < feasible_.size(); ++i) {
    if (reason_scratch_[i] == kFeasible) {
      feasible_[passing++] = feasible_[i];
      continue;
    }
    Entry& entry = entries_[feasible_[i].index()];
    entry.fit = Fit::none;
    entry.reason = reason_scratch_[i];
    count_reason(entry.reason, +1);
  }
  if (passing == 0) return;
  feasible_.resize(passing);
  score_scratch_.assign(passing, 0.0);
  for (Plugin* plugin : rules.scores) plugin->score(*pods_, feasible_, score_scratch_);
  for (std::size_t i = 0; i < passing; ++i)
    entries_[feasible_[i].index()].score = score_scratch_[i];
}

std::uint32_t ClassTable::better(std::uint32_t a, std::uint32_t b) const {
  if (a == kNobody) return b;
  if (b == kNobody) return a;
  const Entry &x = entries_[a], &y = entries_[b];
  if (x.fit != y.fit) return x.fit > y.fit ? a : b;
  if (x.score != y.score) return x.score > y.score ? a : b;
  return std::min(a, b);
}

void ClassTable::grow_tree(Profile& profile) {
  std::size_t leaves = std::bit_ceil(profile.members.size());
  profile.tree.assign(2 * leaves, kNobody);
  std::copy(profile.members.begin(), profile.members.end(),
            profile.tree.begin() + static_cast<std::ptrdiff_t>(leaves));
  for (std::size_t i = leaves; i-- > 1;)
    profile.tree[i] = better(profile.tree[2 * i], profile.tree[2 * i + 1]);
}

bool ClassTable::catch_up(const Cluster& cluster, std::span<const NodeId> changed,
                          const NodeRules& rules, Reasons& reasons) {
  stale_.clear();
  for (std::size_t i = 0; i < changed.size(); ++i) {
    // A node filled up by gangs stands in the log once per pod.
    NodeId node = changed[i];
    if (cluster.last_change(node) != cursor_ + i + 1 || !cluster.at(node).live) continue;
    stale_.push_back(node);
  }
  if (stale_.size() * kReplayCost > live_.size()) return false;
  for (NodeId node : stale_) count_reason(entries_[node.index()].reason, -1);
  evaluate(cluster, stale_, rules, reasons);
  for (NodeId node : stale_) replay(node);
  return true;
}

// The node plays its games of the tournament again, up to one that it neither won before nor wins
// now. Whoever else has changed plays for himself.
void ClassTable::replay(NodeId node) {
  const Entry& entry = entries_[node.index()];
  Profile& profile = profiles_[entry.profile];
  if (profile.tree.empty()) {
    grow_tree(profile);
  } else {
    for (std::size_t i = (profile.tree.size() / 2 + entry.leaf) / 2; i >= 1; i /= 2) {
      std::uint32_t before = profile.tree[i];
      profile.tree[i] = better(profile.tree[2 * i], profile.tree[2 * i + 1]);
      if (profile.tree[i] == before && before != node.value) break;
    }
  }
  profile.winner = profile.tree[1];
}

std::optional<ClassTable::Pick> ClassTable::best() const {
  Fit wanted = Fit::none;
  for (const Profile& profile : profiles_)
    if (profile.reason == kFeasible) wanted = std::max(wanted, entries_[profile.winner].fit);
  if (wanted == Fit::none) return std::nullopt;
  if (profiles_.size() == 1) {
    std::uint32_t node = profiles_.front().winner;
    return Pick{NodeId(node), wanted, entries_[node].score};
  }
  // A profile has a candidate exactly if its winner is one.
  boost::container::small_vector<std::int64_t, 8> largest(how_.size(), 0);
  for (const Profile& profile : profiles_)
    if (profile.reason == kFeasible && entries_[profile.winner].fit == wanted)
      for (std::size_t k = 0; k < how_.size(); ++k)
        largest[k] = std::max(largest[k], profile.raw[k]);
  std::optional<Pick> pick;
  for (const Profile& profile : profiles_) {
    std::uint32_t node = profile.winner;
    if (profile.reason != kFeasible || entries_[node].fit != wanted) continue;
    double score = entries_[node].score;
    for (std::size_t k = 0; k < how_.size(); ++k)
      score += how_[k].weight *
               static_cast<double>(normalize(profile.raw[k], largest[k], how_[k].reverse));
    if (!pick || score > pick->score || (score == pick->score && node < pick->node.value))
      pick = Pick{NodeId(node), wanted, score};
  }
  return pick;
}

void ClassTable::add_relative_scores(std::span<const NodeId> candidates,
                                     std::span<double> scores) const {
  for (std::size_t k = 0; k < how_.size(); ++k) {
    std::int64_t largest = 0;
    for (NodeId node : candidates)
      largest = std::max(largest, profiles_[entries_[node.index()].profile].raw[k]);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::int64_t raw = profiles_[entries_[candidates[i].index()].profile].raw[k];
      scores[i] += how_[k].weight * static_cast<double>(normalize(raw, largest, how_[k].reverse));
    }
  }
}

std::string ClassTable::explain(const Reasons& reasons, bool kube_scheduler_words) const {
  if (!grouped_)
    return explain_reasons(reasons, reason_counts_, live_.size(), kube_scheduler_words);
  std::vector<std::uint32_t> counts(reasons.size(), 0u);
  for (NodeId node : live_) ++counts[reason(node)];
  return explain_reasons(reasons, counts, live_.size(), kube_scheduler_words);
}

std::string explain_reasons(const Reasons& reasons, std::span<const std::uint32_t> counts,
                            std::size_t nodes, bool kube_scheduler_words) {
  if (nodes == 0) return "all nodes are unavailable";
  std::map<std::string, std::uint32_t> histogram;
  for (std::size_t id = 1; id < counts.size(); ++id)
    if (counts[id] > 0)
      for (const std::string& text : reasons.texts(static_cast<ReasonId>(id)))
        histogram[text] += counts[id];
  std::vector<std::string> lines;
  for (const auto& [text, count] : histogram) lines.push_back(std::to_string(count) + " " + text);
  std::sort(lines.begin(), lines.end());
  std::string out = "0/" + std::to_string(nodes) +
                    (kube_scheduler_words ? " nodes are available: " : " nodes are unavailable: ");
  for (std::size_t i = 0; i < lines.size(); ++i) out.append(i == 0 ? "" : ", ").append(lines[i]);
  return out + ".";
}

}  // namespace hekla::scheduler
