// What a queue's state becomes: Open, Closing, Closed, Unknown. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/volcano.h"

namespace hekla::controllers {

enum class QueueAction { sync, open, close };
std::string_view text(QueueAction action);
QueueAction parse_queue_action(std::string_view text);

// A queue without a state is open.
std::string next_queue_state(std::string_view state, QueueAction action, bool has_groups);

// The mark on queues that were closed because the queue above them was.
inline const std::string kClosedByParent = "volcano.sh/closed-by-parent";

struct QueueDecision {
  std::string state;
  std::optional<std::string> closed_by_parent;  // the annotation's new value
};

// `parent_state` is empty when there is no parent, or it is open. The root queue cannot be closed,
// and a queue below a closed one cannot be opened.
Result<QueueDecision> decide_queue(const model::Queue& queue, QueueAction action,
                                   std::string_view parent_state, bool has_groups);

}  // namespace hekla::controllers
