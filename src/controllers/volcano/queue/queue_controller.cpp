#include "controllers/volcano/queue/queue_controller.h"

#include "base/log.h"

namespace hekla::controllers {
namespace {

const std::string kRoot = "root";

// The writes that make the queue what was decided.
std::vector<kube::Write> queue_writes(const model::Queue& queue, const QueueDecision& decision) {
  std::vector<kube::Write> writes;
  const kube::Key key{"", queue.metadata.name};
  json::Object patch;
  if (queue.spec.parent.empty() && key.name != kRoot)
    patch["spec"] = json::Object{{"parent", kRoot}};
  if (decision.closed_by_parent)
    patch["metadata"] =
        json::Object{{"annotations", json::Object{{kClosedByParent, *decision.closed_by_parent}}}};
  if (!patch.empty()) writes.push_back(merge_patch(kube::resources::queues, key, std::move(patch)));
  if (decision.state != queue.status.state)
    writes.push_back(merge_patch(kube::resources::queues, key,
                                 json::Object{{"status", json::Object{{"state", decision.state}}}},
                                 "status"));
  return writes;
}

}  // namespace

QueueController::QueueController(Caches& caches, kube::EventRecorder& events, int max_requeue)
    : caches_(caches),
      events_(events),
      max_requeue_(max_requeue),
      loop_(caches.set,
            {.name = "queue-controller",
             .on_failure = [this](const kube::Key& key, int failures,
                                  const Error& error) { gave_up(key.name, failures, error); }},
            [this](const kube::Key& key, WallTime) { return reconcile(key.name); }) {
  caches_.queues.on_change(
      [this](const auto& before, const auto& after) { queue_changed(before, after); });
  // A group that comes or goes only matters to a queue that is on its way to be closed.
  caches_.groups.on_change([this](const auto& before, const auto& after) {
    if (before && after && before->spec.queue == after->spec.queue) return;
    for (const auto& group : {before, after}) {
      if (!group) continue;
      QueueRef queue = caches_.queues.get(kube::Key{"", group->spec.queue});
      if (queue && queue->status.state == "Closing") add(group->spec.queue);
    }
  });
}

void QueueController::queue_changed(const QueueRef& before, const QueueRef& after) {
  const std::string& name = (after ? after : before)->metadata.name;
  if (!after) requests_.erase(name);
  bool state_changed = !before || !after || before->status.state != after->status.state;
  if (state_changed)
    for (const auto& child : caches_.children_of(name)) add(child->metadata.name);
  if (!before || !after || before->spec.parent != after->spec.parent) add(name);
}

void QueueController::command(const model::Command& command) {
  QueueAction action = parse_queue_action(command.action);
  requests_[command.target.name].push_back(action);
  add(command.target.name);
}

kube::Round QueueController::reconcile(const std::string& name) {
  kube::Round round;
  QueueRef queue = caches_.queues.get(kube::Key{"", name});
  if (!queue) {
    requests_.erase(name);
    return round;
  }
  if (queue->metadata.deletionTimestamp) return round;
  auto requested = requests_.find(name);
  QueueAction action = requested == requests_.end() || requested->second.empty()
                           ? QueueAction::sync
                           : requested->second.front();
  QueueRef parent =
      queue->spec.parent.empty() ? nullptr : caches_.queues.get(kube::Key{"", queue->spec.parent});
  bool has_groups = !caches_.groups_in(name).empty();
  const std::string parent_state = parent ? parent->status.state : "";
  Result<QueueDecision> decision = decide_queue(*queue, action, parent_state, has_groups);
  if (!decision) {
    // The command is tried again; the queue's own state does not wait for that.
    Result<QueueDecision> own = decide_queue(*queue, QueueAction::sync, parent_state, has_groups);
    if (!own || own->state == queue->status.state) {
      round.error = decision.error();
      return round;
    }
    decision = std::move(own);
    action = QueueAction::sync;
    round.again_after = Nanos(0);
  }

  round.writes = queue_writes(*queue, *decision);
  bool closes = decision->state != queue->status.state &&
                (action == QueueAction::close || decision->closed_by_parent == "true");
  auto done = [this, name, action, queue, closes] {
    if (closes) record(*queue, {"Normal", "CloseQueue", "Close queue succeed"});
    if (action == QueueAction::sync) return;
    auto found = requests_.find(name);
    if (found == requests_.end() || found->second.empty()) return;
    found->second.pop_front();
    if (found->second.empty())
      requests_.erase(found);
    else
      add(name);
  };
  if (round.writes.empty()) {
    done();
    return round;
  }
  round.settle = [this, done, queue, action, state = decision->state](
                     const std::vector<kube::WriteResult>& results) -> Result<void> {
    for (const kube::WriteResult& result : results) {
      if (result || result.error().code == Code::not_found) continue;
      if (action == QueueAction::close)
        record(*queue,
               {"Warning", "CloseQueue", "Close queue failed for " + result.error().message});
      if (action == QueueAction::open)
        record(*queue, {"Warning", "OpenQueue",
                        "Update queue status from " + queue->status.state + " to " + state +
                            " failed for " + result.error().message});
      return std::unexpected(result.error());
    }
    done();
    return {};
  };
  return round;
}

void QueueController::gave_up(const std::string& name, int failures, const Error& error) {
  auto requested = requests_.find(name);
  if (max_requeue_ < 0 || failures < max_requeue_ || requested == requests_.end() ||
      requested->second.empty())
    return;
  std::string action(text(requested->second.front()));
  requested->second.pop_front();
  if (QueueRef queue = caches_.queues.get(kube::Key{"", name}))
    record(*queue, {"Warning", action, action + " queue failed for " + error.message});
}

void QueueController::record(const model::Queue& queue, const EventText& event) {
  kube::EventTarget target{kube::resources::queues.api_version(),
                           kube::resources::queues.kind,
                           "",
                           queue.metadata.name,
                           queue.metadata.uid,
                           0};
  events_.record(target, event.type, event.reason, event.message);
}

}  // namespace hekla::controllers
