#include "pipelines/engine/engine.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "json/parse.h"
#include "pipelines/engine/cache_key.h"
#include "pipelines/engine/expression.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/outputs.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/engine/when.h"

namespace hekla::pipelines::engine {
namespace {

constexpr std::string_view kCreatePvc = "argostub/createpvc", kDeletePvc = "argostub/deletepvc";

class Advance {
 public:
  Advance(const ir::Pipeline& pipeline, Run& run, WallTime now)
      : pipeline_(pipeline), run_(run), now_(now) {}

  Step run() {
    if (!run_.nodes.contains("root")) begin_root();
    // Deepest first: an end travels up in one pass; new nodes are seen by the next one.
    for (bool again = true; again;) {
      again = false;
      std::vector<std::string> ids;
      for (const auto& [id, node] : run_.nodes)
        if (!is_final(node.state)) ids.push_back(id);
      for (auto id = ids.rbegin(); id != ids.rend(); ++id) again = look_at(*id) || again;
    }
    return std::move(step_);
  }

 private:
  Node& at(const std::string& id) { return run_.nodes.at(id); }
  void change(Node& node, NodeState state) {
    node.state = state;
    if (is_final(state)) node.finished = now_;
    step_.changed.insert(node.id);
  }
  void fail_node(Node& node, std::string error) {
    node.error = std::move(error);
    change(node, NodeState::failed);
  }

  void begin_root() {
    Node root;
    root.id = root.task = "root";
    root.kind = NodeKind::dag;
    root.created = root.started = now_;
    root.inputs = root_inputs(pipeline_, run_.parameters);
    Node& added = run_.nodes.emplace("root", std::move(root)).first->second;
    if (!pipeline_.root.dag) return fail_node(added, "the root of a pipeline must be a DAG");
    change(added, NodeState::running);
  }

  // True when something has changed.
  bool look_at(const std::string& id) {
    Node& node = at(id);
    if (node.state == NodeState::backoff) return look_at_backoff(node);
    if (node.state == NodeState::waiting) return false;  // its DAG decides
    if (node.kind == NodeKind::dag) return look_at_dag(node);
    if (node.kind == NodeKind::loop) return look_at_loop(node);
    return false;
  }

  bool look_at_backoff(Node& node) {
    if (now_ < *node.retry_at) {
      if (!step_.wake_at || *node.retry_at < *step_.wake_at) step_.wake_at = node.retry_at;
      return false;
    }
    node.retry_at.reset();
    node.error.clear();
    start(node);
    return true;
  }

  // Dependencies decide whether a task waits, starts or never does.
  enum class Due { wait, start, omit };
  Due due(const Node& dag, const ir::Task& task, bool failed) const {
    bool all_final = true, all_good = true;
    for (const std::string& dependency : task.dependencies) {
      const Node* node = run_.find(child_id(dag.id, dependency));
      const bool final = node && is_final(node->state);
      all_final = all_final && final;
      const bool passes = pipeline_.argo && final && node->state == NodeState::skipped;
      if (final && !has_outputs(node->state) && !passes) all_good = false;
    }
    if (task.exit_style) return all_final ? Due::start : Due::wait;
    if (failed || dag.canceling || !all_good) return Due::omit;
    return all_final ? Due::start : Due::wait;
  }

  bool look_at_dag(Node& dag) {
    const ir::Dag& tasks = *component_of(pipeline_, dag.component).dag;
    bool changed = false, failed = false, all_final = true;
    std::int64_t busy = 0;
    for (const auto& [name, task] : tasks.tasks) {
      const Node* node = run_.find(child_id(dag.id, name));
      failed = failed || (node && node->state == NodeState::failed && !tasks.keeps_going);
      if (node && !is_final(node->state) && node->state != NodeState::waiting) ++busy;
    }
    for (const auto& [name, task] : tasks.tasks) {
      const std::string id = child_id(dag.id, name);
      const Node* known = run_.find(id);
      if (!known || known->state == NodeState::waiting) {
        Due what = due(dag, task, failed);
        if (what == Due::start && tasks.parallelism != 0 && busy >= tasks.parallelism)
          what = Due::wait;
        if (what != Due::wait) {
          changed = true;
          settle_task(dag, name, task, what);
          if (!is_final(at(id).state)) ++busy;
        }
      }
      const Node* node = run_.find(id);
      all_final = all_final && node && is_final(node->state);
    }
    if (!all_final) return changed;
    end_dag(dag, tasks);
    return true;
  }

  void settle_task(const Node& dag, const std::string& name, const ir::Task& task, Due what) {
    const std::string id = child_id(dag.id, name);
    Node& node = run_.nodes[id];
    node.id = id;
    node.task = name;
    node.component = task.component;
    node.kind = kind_of(task);
    if (!node.created) node.created = now_;
    if (what == Due::omit) return change(node, NodeState::omitted);
    if (run_.nodes.size() > kNodesMax)
      return fail_node(node, "the run has more than " + std::to_string(kNodesMax) + " tasks");
    if (std::ranges::count(id, '/') > kDepthMax)
      return fail_node(node, "the run has more than " + std::to_string(kDepthMax) + " levels");
    Result<json::Object> inputs = resolve_inputs(pipeline_, run_, dag, task);
    if (!inputs) return fail_node(node, inputs.error().message);
    node.inputs = std::move(*inputs);
    if (!task.when.empty()) {
      const json::Value* values = json::find(node.inputs, "parameterValues");
      Result<bool> holds = evaluate_when(
          fill_constant(task.when, values->get_object(), run_, dag.id, task.display_name));
      if (!holds) return fail_node(node, holds.error().message);
      if (!*holds) return change(node, NodeState::skipped);
    }
    if (!task.condition.empty()) {
      Result<bool> holds = evaluate_condition(task.condition, node.inputs);
      if (!holds) return fail_node(node, holds.error().message);
      if (!*holds) return change(node, NodeState::skipped);
    }
    node.first_attempt = node.attempt + 1;
    start(node);
  }

  NodeKind kind_of(const ir::Task& task) const {
    if (task.iterator) return NodeKind::loop;
    return kind_of_component(task.component);
  }
  NodeKind kind_of_component(const std::string& name) const {
    const ir::Component& component = component_of(pipeline_, name);
    if (component.dag) return NodeKind::dag;
    const ir::Executor& executor = pipeline_.executors.at(component.executor);
    if (executor.importer) return NodeKind::importer;
    if (executor.is_resolver) return NodeKind::resolver;
    if (executor.resource) return NodeKind::resource;
    if (executor.container && executor.container->image == kCreatePvc) return NodeKind::create_pvc;
    if (executor.container && executor.container->image == kDeletePvc) return NodeKind::delete_pvc;
    return NodeKind::container;
  }

  // A new attempt of a node whose inputs are known.
  void start(Node& node) {
    ++node.attempt;
    node.outputs.clear();
    node.started.reset();
    node.finished.reset();
    switch (node.kind) {
      case NodeKind::dag:
        node.started = now_;
        return change(node, NodeState::running);
      case NodeKind::loop:
        node.started = now_;
        change(node, NodeState::running);
        return expand(node);
      case NodeKind::importer:
        return import(node);
      case NodeKind::resolver:
        return fail_node(node,
                         "resolver executors query a metadata store's artifacts; none of the "
                         "queries of executor " +
                             component_of(pipeline_, node.component).executor + " has a match");
      case NodeKind::resource:
        return change(node, NodeState::pending);
      default:
        return start_container(node);
    }
  }

  void start_container(Node& node) {
    if (!pipeline_.executors.at(component_of(pipeline_, node.component).executor).container)
      return fail_node(node, "its executor is empty");
    const ir::Task* task = task_of(pipeline_, run_, node);
    node.fingerprint.clear();
    if (task && task->cache && node.attempt == node.first_attempt) {
      Result<std::string> key = cache_key(pipeline_, run_, node, *task);
      if (!key) return fail_node(node, key.error().message);
      node.fingerprint = std::move(*key);
    }
    change(node, node.fingerprint.empty() ? NodeState::pending : NodeState::checking);
  }

  void import(Node& node) {
    Result<json::Object> outputs = importer_outputs(pipeline_, run_, node);
    if (!outputs) return fail_node(node, outputs.error().message);
    node.started = now_;
    node.outputs = std::move(*outputs);
    change(node, NodeState::succeeded);
  }

  void expand(Node& loop) {
    const ir::Task& task = *task_of(pipeline_, run_, loop);
    Result<json::Array> items = loop_items(*task.iterator, loop);
    if (!items) return fail_node(loop, items.error().message);
    if (items->size() > kIterationsMax)
      return fail_node(loop, "the loop has " + std::to_string(items->size()) + " items; at most " +
                                 std::to_string(kIterationsMax) + " may be");
    for (std::size_t i = 0; i < items->size(); ++i) {
      const std::string id = child_id(loop.id, std::to_string(i));
      Node& member = run_.nodes[id];
      if (has_outputs(member.state)) continue;  // kept by a retry
      member.id = id;
      member.task = loop.task;
      member.component = loop.component;
      member.iteration = static_cast<int>(i);
      member.kind = kind_of_component(loop.component);
      member.created = now_;
      member.inputs = with_item(*task.iterator, loop.inputs, (*items)[i]);
      change(member, NodeState::waiting);
    }
  }

  std::vector<Node*> members_of(const Node& loop) {
    std::vector<Node*> members;
    for (int i = 0;; ++i) {
      const auto found = run_.nodes.find(child_id(loop.id, std::to_string(i)));
      if (found == run_.nodes.end()) return members;
      members.push_back(&found->second);
    }
  }

  bool look_at_loop(Node& loop) {
    const ir::Task& task = *task_of(pipeline_, run_, loop);
    const std::vector<Node*> members = members_of(loop);
    std::int64_t busy = 0;
    bool failed = false, changed = false, all_final = true;
    for (const Node* member : members) {
      failed = failed || member->state == NodeState::failed;
      if (!is_final(member->state) && member->state != NodeState::waiting) ++busy;
    }
    for (Node* member : members) {
      if (member->state == NodeState::waiting) {
        if (failed || loop.canceling) {
          change(*member, NodeState::omitted);
          changed = true;
        } else if (task.iterator->parallelism == 0 || busy < task.iterator->parallelism) {
          ++busy;
          member->first_attempt = member->attempt + 1;
          start(*member);
          changed = true;
        }
      }
      all_final = all_final && is_final(member->state);
    }
    if (!all_final) return changed;
    end_loop(loop, members);
    return true;
  }

  void end_loop(Node& loop, const std::vector<Node*>& members) {
    for (const Node* member : members)
      if (member->state == NodeState::failed)
        return end_group(loop, NodeState::failed,
                         "iteration " + std::to_string(*member->iteration) + ": " + member->error);
    if (loop.canceling) return end_group(loop, NodeState::canceled, "");
    loop.outputs = loop_outputs(pipeline_, loop, {members.begin(), members.end()});
    end_group(loop, NodeState::succeeded, "");
  }

  void end_dag(Node& dag, const ir::Dag& tasks) {
    for (const auto& [name, task] : tasks.tasks) {
      const Node& node = at(child_id(dag.id, name));
      if (node.state == NodeState::failed)
        return end_group(dag, NodeState::failed, "task " + name + ": " + node.error);
    }
    if (dag.canceling) return end_group(dag, NodeState::canceled, "");
    Result<json::Object> outputs = dag_outputs(run_, dag, tasks);
    if (!outputs) return end_group(dag, NodeState::failed, outputs.error().message);
    dag.outputs = std::move(*outputs);
    end_group(dag, NodeState::succeeded, "");
  }

  // The end of a DAG or loop, or its next attempt.
  void end_group(Node& group, NodeState state, std::string error) {
    group.error = std::move(error);
    if (state == NodeState::failed && !group.canceling) {
      const ir::Task* task = task_of(pipeline_, run_, group);
      const std::optional<WallTime> again =
          task && task->retry ? next_attempt(*task->retry, group, now_) : std::nullopt;
      if (again) {
        reset_below(run_, group.id, step_.changed);
        group.retry_at = again;
        return change(group, NodeState::backoff);
      }
    }
    change(group, state);
  }

  const ir::Pipeline& pipeline_;
  Run& run_;
  const WallTime now_;
  Step step_;
};

}  // namespace

Step advance(const ir::Pipeline& pipeline, Run& run, WallTime now) {
  return Advance(pipeline, run, now).run();
}

}  // namespace hekla::pipelines::engine
