// pdb: nobody is evicted beyond what PodDisruptionBudgets allow (status.disruptionsAllowed): not by
// preempt, reclaim, their gang forms, nor by shuffle. No arguments.
//
// Differs from Volcano: a pod without labels, which no budget covers, may be evicted; in shuffle
// the budgets only spare pods that others name, where Volcano's plugin names every pod they allow.
#include <boost/unordered/unordered_flat_map.hpp>
#include <set>

#include "model/selector.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

struct Budget {
  std::string ns;
  model::Selector selector;
  std::int64_t allowed = 0;
  std::set<std::string, std::less<>> disrupted;  // already counted by the API
};

class DisruptionBudgets final : public Plugin {
 public:
  Hooks hooks() const override {
    return hooks_of({Hook::preemptable, Hook::reclaimable, Hook::unified_evictable,
                     Hook::victim_filter, Hook::events});
  }

  void open(Session& session) override {
    session_ = &session;
    covering_.clear();
    read_budgets();
    evicted_.clear();
    for (std::size_t i = 0; !budgets_.empty() && i < session.cluster().tasks().size(); ++i)
      if (session.cluster().tasks()[i].evicting) evicted_.push_back(TaskId(i));
  }

  Victims preemptable(TaskId, std::span<const TaskId> candidates) override {
    return {false, permitted(candidates)};
  }
  Victims reclaimable(TaskId, std::span<const TaskId> candidates) override {
    return {false, permitted(candidates)};
  }
  Victims unified_evictable(const Eviction&, std::span<const TaskId> candidates) override {
    return {false, permitted(candidates)};
  }
  void victim_filter(std::vector<TaskId>& victims) override { victims = permitted(victims); }

  void on_release(TaskId id) override {
    if (session_->at(id).status == TaskStatus::releasing) evicted_.push_back(id);
  }
  void on_allocate(TaskId id) override {
    if (!evicted_.empty()) std::erase(evicted_, id);
  }

 private:
  void read_budgets() {
    const Companions& companions = session_->cluster().companions();
    std::uint64_t version = companions.version(CompanionKind::disruption_budget);
    if (version == seen_) return;
    seen_ = version;
    budgets_.clear();
    for (const auto& [key, object] : companions.all(CompanionKind::disruption_budget)) {
      const json::Value* selector = json::find_path(object->body, {"spec", "selector"});
      if (selector == nullptr) continue;
      Result<model::Selector> read = model::Selector::from_label_selector(*selector);
      // One without requirements covers nobody, as upstream.
      if (!read || read->empty()) continue;
      Budget budget;
      budget.ns = object->metadata.ns;
      budget.selector = std::move(*read);
      budget.allowed = json::int_at(object->body, {"status", "disruptionsAllowed"});
      if (const json::Object* pods = json::object_at(object->body, {"status", "disruptedPods"}))
        for (const auto& pod : *pods) budget.disrupted.emplace(pod.key());
      budgets_.push_back(std::move(budget));
    }
  }

  std::vector<TaskId> permitted(std::span<const TaskId> candidates) {
    if (budgets_.empty()) return {candidates.begin(), candidates.end()};
    std::vector<std::int64_t> left;
    for (const Budget& budget : budgets_) left.push_back(budget.allowed);
    // Those that are leaving by this scheduler's doing have used their share.
    for (TaskId id : evicted_) charge(id, left);
    std::vector<TaskId> out;
    for (TaskId id : candidates)
      if (charge(id, left)) out.push_back(id);
    return out;
  }
  bool charge(TaskId id, std::vector<std::int64_t>& left) {
    const Task& task = session_->at(id);
    bool within = true;
    for (std::size_t which : covering(task))
      if (!budgets_[which].disrupted.contains(task.name)) within &= --left[which] >= 0;
    return within;
  }
  const std::vector<std::size_t>& covering(const Task& task) {
    auto [known, fresh] = covering_.try_emplace(task.labels.value);
    if (!fresh) return known->second;
    const Names& names = session_->cluster().names();
    const PodTerms::LabelSet& set = session_->cluster().terms().at(task.labels);
    auto get = [&](std::string_view key) -> const std::string* {
      NameId name = names.find(key);
      for (const auto& [k, v] : set.labels)
        if (k == name) return &names.text(v);
      return nullptr;
    };
    for (std::size_t i = 0; i < budgets_.size(); ++i)
      if (budgets_[i].ns == names.text(set.ns) && budgets_[i].selector.matches(get))
        known->second.push_back(i);
    return known->second;
  }

  const Session* session_ = nullptr;
  std::uint64_t seen_ = 0;
  std::vector<Budget> budgets_;
  std::vector<TaskId> evicted_;  // the API may not have counted them yet
  boost::unordered_flat_map<std::uint32_t, std::vector<std::size_t>> covering_;  // by label set
};

}  // namespace

extern const PluginInfo plugin_pdb;
const PluginInfo plugin_pdb{"pdb", "evicts nobody beyond disruption budgets", "",
                            [](const PluginOption&) -> std::unique_ptr<Plugin> {
                              return std::make_unique<DisruptionBudgets>();
                            }};

}  // namespace hekla::scheduler
