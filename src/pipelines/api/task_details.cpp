#include "pipelines/api/task_details.h"

#include "model/time.h"
#include "pipelines/engine/engine.h"

namespace hekla::pipelines::api {
std::string_view api_state(engine::NodeState state) {
  using engine::NodeState;
  switch (state) {
    case NodeState::waiting:
    case NodeState::checking:
    case NodeState::pending:
      return "PENDING";
    case NodeState::running:
    case NodeState::backoff:
      return "RUNNING";
    case NodeState::succeeded:
      return "SUCCEEDED";
    case NodeState::cached:
    case NodeState::skipped:
    case NodeState::omitted:
      return "SKIPPED";
    case NodeState::failed:
      return "FAILED";
    case NodeState::canceled:
      return "CANCELED";
  }
  return "RUNTIME_STATE_UNSPECIFIED";
}

json::Value task_details(const engine::Run& run) {
  json::Array made;
  for (const auto& [id, node] : run.nodes) {
    json::Object task{
        {"run_id", run.facts.id},
        {"task_id", run.facts.id + "/" + id},
        {"display_name",
         node.iteration ? node.task + "-iteration-" + std::to_string(*node.iteration) : node.task},
        {"state", api_state(node.state)}};
    if (node.created) task.emplace("create_time", model::format_rfc3339(*node.created));
    if (node.started) task.emplace("start_time", model::format_rfc3339(*node.started));
    if (node.finished) task.emplace("end_time", model::format_rfc3339(*node.finished));
    if (!node.error.empty())
      task.emplace("error", json::Object{{"code", 13}, {"message", node.error}});
    if (const std::string parent = engine::parent_id(id); !parent.empty())
      task.emplace("parent_task_id", run.facts.id + "/" + parent);
    made.push_back(std::move(task));
  }
  return made;
}

std::set<std::string> retried_nodes(engine::Run& run) { return engine::retry(run).changed; }

}  // namespace hekla::pipelines::api
