#include "controllers/volcano/queue/queue_state.h"

namespace hekla::controllers {

std::string_view text(QueueAction action) {
  switch (action) {
    case QueueAction::sync:
      return "SyncQueue";
    case QueueAction::open:
      return "OpenQueue";
    case QueueAction::close:
      return "CloseQueue";
  }
  return "";
}

QueueAction parse_queue_action(std::string_view text) {
  if (text == "OpenQueue") return QueueAction::open;
  if (text == "CloseQueue") return QueueAction::close;
  return QueueAction::sync;
}

std::string next_queue_state(std::string_view state, QueueAction action, bool has_groups) {
  std::string closed = has_groups ? "Closing" : "Closed";
  if (action == QueueAction::open) return "Open";
  if (action == QueueAction::close) return state == "Closed" ? "Closed" : closed;
  if (state == "Closing") return closed;
  if (state == "Closed" || state == "Unknown") return std::string(state);
  return "Open";
}

Result<QueueDecision> decide_queue(const model::Queue& queue, QueueAction action,
                                   std::string_view parent_state, bool has_groups) {
  const std::string& name = queue.metadata.name;
  const std::string& state = queue.status.state;
  bool marked = queue.metadata.annotation(kClosedByParent) == "true";
  bool parent_closed = parent_state == "Closing" || parent_state == "Closed";
  bool open = state.empty() || state == "Open";
  QueueDecision decision{state, std::nullopt};
  if (action == QueueAction::open && parent_closed)
    return fail(Code::conflict, "Failed to open queue " + name + " because its parent queue " +
                                    queue.spec.parent +
                                    " is closing or closed. Open the parent queue first.");
  if (action == QueueAction::close && name == "root") action = QueueAction::sync;
  if (action == QueueAction::open && marked) decision.closed_by_parent = "false";
  if (action == QueueAction::sync && parent_closed && open) {
    action = QueueAction::close;
    decision.closed_by_parent = "true";
  } else if (action == QueueAction::sync && marked && !parent_closed && !open) {
    action = QueueAction::open;
    decision.closed_by_parent = "false";
  }
  decision.state = next_queue_state(state, action, has_groups);
  return decision;
}

}  // namespace hekla::controllers
