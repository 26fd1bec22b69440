// Network topology and sub-groups of a PodGroup: what it asks, and which pod belongs where.
#include <algorithm>
#include <charconv>

#include "scheduler/cluster/cluster.h"

namespace hekla::scheduler {

namespace {

constexpr std::size_t kMostSubJobs = 0xffff;

TopologyWish wish_of(const std::optional<model::NetworkTopologySpec>& from) {
  TopologyWish wish;
  if (!from) return wish;
  wish.given = true;
  wish.hard = from->mode != "soft";
  wish.tier = from->highestTierAllowed.value_or(-1);
  wish.tier_name = from->highestTierName;
  return wish;
}

SubGroupRule rule_of(const model::SubGroupPolicy& from) {
  SubGroupRule rule;
  rule.name = from.name;
  rule.topology = wish_of(from.networkTopology);
  rule.size = std::max(from.subGroupSize, 1);
  rule.min = from.minSubGroups;
  rule.keys = from.matchLabelKeys;
  rule.has_selector = from.labelSelector.is_object();
  if (rule.has_selector)
    if (Result<model::Selector> selector = model::Selector::from_label_selector(from.labelSelector))
      rule.selector = std::move(*selector);
  rule.text = json::serialize(json::encode(from));
  return rule;
}

// The values by which a pod belongs to a sub-group of the rule; empty if it does not. A rule
// without keys has no sub-groups, as upstream.
std::vector<std::string> values_for(const SubGroupRule& rule, const LabelPairs& labels,
                                    const Names& names) {
  auto get = [&](std::string_view key) -> const std::string* {
    NameId name = names.find(key);
    for (const auto& [k, v] : labels)
      if (k == name) return &names.text(v);
    return nullptr;
  };
  std::vector<std::string> values;
  if (rule.has_selector && !rule.selector.matches(get)) return values;
  for (const std::string& key : rule.keys) {
    const std::string* value = get(key);
    if (value == nullptr || value->empty()) return {};
    values.push_back(*value);
  }
  return values;
}

SubJob make_sub_job(const SubGroupRule& rule, std::size_t index, std::string id,
                    const std::string& first_value) {
  SubJob made;
  made.id = std::move(id);
  made.rule = static_cast<std::int32_t>(index);
  made.min = rule.size;
  const char* end = first_value.data() + first_value.size();
  std::int32_t number = 0;
  auto [stop, error] = std::from_chars(first_value.data(), end, number);
  if (error == std::errc() && stop == end) made.match_index = number;
  return made;
}

}  // namespace

bool Cluster::set_topology(JobId id, const model::PodGroup& object) {
  Job& job = jobs_[id.index()];
  TopologyWish wish = wish_of(object.spec.networkTopology);
  bool changed = wish != job.topology;
  job.topology = std::move(wish);
  bool same = job.sub_group_rules.size() == object.spec.subGroupPolicy.size();
  std::vector<SubGroupRule> rules;
  for (std::size_t i = 0; i < object.spec.subGroupPolicy.size(); ++i) {
    rules.push_back(rule_of(object.spec.subGroupPolicy[i]));
    same = same && rules.back().text == job.sub_group_rules[i].text;
  }
  if (same) return changed;
  job.sub_group_rules = std::move(rules);
  job.sub_jobs.clear();
  for (TaskId task : job.tasks) {
    join_sub_job(tasks_[task.index()]);
    if (!job.sub_jobs.empty()) count_in_sub_job(tasks_[task.index()], +1);
  }
  return true;
}

void Cluster::join_sub_job(Task& task) {
  Job& job = jobs_[task.job.index()];
  task.sub_job = 0;
  if (job.sub_group_rules.empty()) return;
  if (job.sub_jobs.empty()) job.sub_jobs.emplace_back();
  const LabelPairs& labels = terms_.at(task.labels).labels;
  for (std::size_t r = 0; r < job.sub_group_rules.size(); ++r) {
    const SubGroupRule& rule = job.sub_group_rules[r];
    std::vector<std::string> values = values_for(rule, labels, names_);
    if (values.empty()) continue;
    std::string sub = rule.name + "-";
    for (std::size_t i = 0; i < values.size(); ++i) sub += (i == 0 ? "" : "-") + values[i];
    auto known = std::find_if(job.sub_jobs.begin(), job.sub_jobs.end(), [&](const SubJob& one) {
      return one.rule == static_cast<std::int32_t>(r) && one.id == sub;
    });
    if (known == job.sub_jobs.end()) {
      if (job.sub_jobs.size() == kMostSubJobs) break;
      known = job.sub_jobs.insert(known, make_sub_job(rule, r, std::move(sub), values.front()));
    }
    task.sub_job = static_cast<std::uint16_t>(known - job.sub_jobs.begin());
    break;
  }
  SubJob& joined = job.sub_jobs[task.sub_job];
  ++joined.tasks;
  joined.priority = std::max(joined.priority, task.priority);
}

void Cluster::leave_sub_job(const Task& task) {
  Job& job = jobs_[task.job.index()];
  if (!job.sub_jobs.empty()) --job.sub_jobs[task.sub_job].tasks;
}

void Cluster::count_in_sub_job(const Task& task, int sign) {
  SubJob& sub = jobs_[task.job.index()].sub_jobs[task.sub_job];
  sub.count[static_cast<std::size_t>(task.status)] += sign;
  if (task.status == TaskStatus::pending && task.best_effort) sub.pending_best_effort += sign;
}

}  // namespace hekla::scheduler
