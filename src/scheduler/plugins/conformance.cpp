// conformance: pods of kube-system and of the classes system-cluster-critical and
// system-node-critical are nobody's victims. No arguments.
#include "scheduler/session/session.h"

namespace hekla::scheduler {

namespace {

class Conformance final : public Plugin {
 public:
  Hooks hooks() const override {
    return hooks_of({Hook::preemptable, Hook::reclaimable, Hook::unified_evictable});
  }
  void open(Session& session) override { session_ = &session; }
  Victims preemptable(TaskId, std::span<const TaskId> candidates) override {
    Victims victims;
    for (TaskId id : candidates)
      if (!session_->at(id).critical) victims.tasks.push_back(id);
    return victims;
  }
  Victims reclaimable(TaskId reclaimer, std::span<const TaskId> candidates) override {
    return preemptable(reclaimer, candidates);
  }
  Victims unified_evictable(const Eviction&, std::span<const TaskId> candidates) override {
    return preemptable({}, candidates);
  }

 private:
  const Session* session_ = nullptr;
};

}  // namespace

extern const PluginInfo plugin_conformance;
const PluginInfo plugin_conformance{
    "conformance", "never evicts system pods", "",
    [](const PluginOption&) -> std::unique_ptr<Plugin> { return std::make_unique<Conformance>(); }};

}  // namespace hekla::scheduler
