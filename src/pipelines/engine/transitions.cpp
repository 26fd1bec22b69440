#include <cmath>

#include "pipelines/engine/engine.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/outputs.h"

namespace hekla::pipelines::engine {

bool begin_node(Run& run, const std::string& id, WallTime now) {
  const auto found = run.nodes.find(id);
  if (found == run.nodes.end() || found->second.state != NodeState::pending) return false;
  found->second.state = NodeState::running;
  found->second.started = now;
  return true;
}

bool end_node(const ir::Pipeline& pipeline, Run& run, const NodeEnd& end, WallTime now) {
  const auto found = run.nodes.find(end.id);
  if (found == run.nodes.end()) return false;
  Node& node = found->second;
  const bool open = node.state == NodeState::pending || node.state == NodeState::running;
  if (!open || node.attempt != end.attempt) return false;
  node.finished = now;
  if (!node.started) node.started = now;
  node.error = end.error;
  if (end.succeeded) {
    node.outputs = end.outputs;
    node.state = NodeState::succeeded;
    return true;
  }
  const ir::Task* task = task_of(pipeline, run, node);
  if (task && task->retry && end.retriable)
    if (std::optional<WallTime> again = next_attempt(*task->retry, node, now)) {
      node.retry_at = again;
      node.state = NodeState::backoff;
      return true;
    }
  node.state = NodeState::failed;
  return true;
}

bool answer_cache(Run& run, const std::string& id, const std::optional<json::Object>& outputs,
                  WallTime now) {
  const auto found = run.nodes.find(id);
  if (found == run.nodes.end() || found->second.state != NodeState::checking) return false;
  Node& node = found->second;
  if (outputs) {
    node.outputs = *outputs;
    node.state = NodeState::cached;
    node.started = node.finished = now;
  } else {
    node.state = NodeState::pending;
  }
  return true;
}

Step terminate(Run& run, WallTime now) {
  Step step;
  run.terminating = true;
  for (auto& [id, node] : run.nodes) {
    if (is_final(node.state) || node.state == NodeState::waiting) continue;
    if (node.kind == NodeKind::dag || node.kind == NodeKind::loop) {
      node.canceling = true;
      if (node.state == NodeState::backoff) {
        node.state = NodeState::canceled;
        node.finished = now;
      }
    } else {
      node.state = NodeState::canceled;
      node.finished = now;
    }
    step.changed.insert(id);
  }
  return step;
}

Step retry(Run& run) {
  Step step;
  run.terminating = false;
  for (auto& [id, node] : run.nodes) {
    if (has_outputs(node.state) || node.state == NodeState::skipped) continue;
    node.canceling = false;
    node.error.clear();
    node.finished.reset();
    node.retry_at.reset();
    const bool group = node.kind == NodeKind::dag || node.kind == NodeKind::loop;
    // A group that never began is decided by its DAG like any other task.
    node.state =
        group && node.state != NodeState::omitted ? NodeState::running : NodeState::waiting;
    step.changed.insert(id);
  }
  return step;
}

std::optional<WallTime> next_attempt(const ir::RetryPolicy& policy, const Node& node,
                                     WallTime now) {
  const int done = node.attempt - node.first_attempt;  // retries so far
  if (done >= policy.max_retries) return std::nullopt;
  const double factor = std::pow(policy.factor <= 0 ? 1.0 : policy.factor, done);
  const double wait = static_cast<double>(policy.backoff.count()) * factor;
  if (!(wait < 1e18)) return std::nullopt;
  const WallTime at = now + Nanos(static_cast<std::int64_t>(wait));
  // The window is that of all attempts together, from the node's creation, as Argo counts it.
  if (policy.window.count() > 0 && node.created && at - *node.created > policy.window)
    return std::nullopt;
  return at;
}

void reset_below(Run& run, const std::string& id, std::set<std::string>& changed) {
  const std::string prefix = id + "/";
  for (auto at = run.nodes.lower_bound(prefix);
       at != run.nodes.end() && at->first.starts_with(prefix); ++at) {
    Node& node = at->second;
    node.state = NodeState::waiting;
    node.error.clear();
    node.outputs.clear();
    node.finished.reset();
    changed.insert(at->first);
  }
}

}  // namespace hekla::pipelines::engine
