// cdp: a pod that has just been placed is nobody's victim. The time is the pod's label or
// annotation volcano.sh/cooldown-time, counted from the moment its condition PodScheduled became
// true. No arguments.
#include "model/time.h"
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Cooldown final : public Plugin {
 public:
  Hooks hooks() const override { return hooks_of({Hook::preemptable, Hook::reclaimable}); }
  void open(Session& session) override { session_ = &session; }
  Victims preemptable(TaskId, std::span<const TaskId> candidates) override {
    Victims victims;
    for (TaskId id : candidates)
      if (!is_protected(session_->at(id))) victims.tasks.push_back(id);
    return victims;
  }
  Victims reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) override {
    return preemptable(reclaimer, candidates);
  }

 private:
  bool is_protected(const Task& task) const {
    std::string_view text =
        session_->cluster().class_of(task).annotation("volcano.sh/cooldown-time");
    if (text.empty() || task.scheduled == WallTime{}) return false;
    Result<Nanos> time = model::parse_go_duration(text);
    return time && session_->now() < task.scheduled + *time;
  }
  const Session* session_ = nullptr;
};

}  // namespace

extern const PluginInfo plugin_cdp;
const PluginInfo plugin_cdp{
    "cdp", "spares pods that were placed a moment ago", "",
    [](const PluginOption&) -> std::unique_ptr<Plugin> { return std::make_unique<Cooldown>(); }};

}  // namespace hekla::scheduler
