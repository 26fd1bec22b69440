#include "pipelines/argo/nodes.h"

#include <algorithm>

#include "model/time.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::argo {
namespace {

using engine::Node;
using engine::NodeKind;
using engine::NodeState;

bool is_group(const Node& node) {
  return node.kind == NodeKind::dag || node.kind == NodeKind::loop;
}
bool has_begun(const Node& node) {
  return node.state != NodeState::skipped && node.state != NodeState::omitted;
}

std::string_view phase_of(NodeState state) {
  switch (state) {
    case NodeState::waiting:
    case NodeState::checking:
    case NodeState::pending:
      return "Pending";
    case NodeState::running:
    case NodeState::backoff:
      return "Running";
    case NodeState::succeeded:
    case NodeState::cached:
      return "Succeeded";
    case NodeState::skipped:
      return "Skipped";
    case NodeState::omitted:
      return "Omitted";
    default:
      return "Failed";
  }
}

std::uint32_t fnv32a(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// Argo's ids and names of the nodes: a loop's member and the one call in it are one node there, the
// root and the entry point are both the Workflow.
class Nodes {
 public:
  explicit Nodes(const ShownRun& shown) : shown_(shown), run_(shown.run) {}

  json::Object all() const {
    json::Object made;
    for (const auto& [id, node] : run_.nodes)
      if (is_shown(node)) made.emplace(shown_id(node), shown(node));
    return made;
  }

  std::string progress() const {
    std::size_t done = 0, pods = 0;
    for (const auto& [id, node] : run_.nodes) {
      if (is_group(node) || !has_begun(node)) continue;
      ++pods;
      done += engine::has_outputs(node.state);
    }
    return std::to_string(done) + "/" + std::to_string(pods);
  }

 private:
  const std::string& workflow_name() const { return run_.facts.resource_name; }
  static bool is_shown(const Node& node) {
    return node.id != "root" && !node.iteration && node.state != NodeState::waiting;
  }
  // The node above that is shown, or null for the Workflow itself.
  const Node* above(const Node& node) const {
    for (std::string id = engine::parent_id(node.id); !id.empty(); id = engine::parent_id(id)) {
      const Node* parent = run_.find(id);
      if (parent && is_shown(*parent)) return parent;
    }
    return nullptr;
  }
  const Node* iteration_of(const Node& node) const {
    const Node* parent = run_.find(engine::parent_id(node.id));
    return parent && parent->iteration ? parent : nullptr;
  }

  std::string display_name(const Node& node) const {
    if (is_entry(node)) return workflow_name();
    if (node.task == engine::kExitTask && engine::parent_id(node.id) == "root")
      return workflow_name() + ".onExit";
    if (const Node* member = iteration_of(node)) {
      const json::Value inputs(member->inputs);
      const json::Value* item = json::find_path(inputs, {"parameterValues", "item"});
      std::string text;
      if (item) text = ir::text_of(*item);
      return node.task + "(" + std::to_string(*member->iteration) + ":" + text.substr(0, 64) + ")";
    }
    return node.task;
  }
  bool is_entry(const Node& node) const {
    return engine::parent_id(node.id) == "root" && node.task != engine::kExitTask;
  }
  std::string full_name(const Node& node) const {
    const Node* parent = above(node);
    if (parent == nullptr) return display_name(node);
    // A member of a loop is named beside it, not below it.
    if (iteration_of(node)) {
      const Node* around = above(*parent);
      return (around ? full_name(*around) + "." : "") + display_name(node);
    }
    return full_name(*parent) + "." + display_name(node);
  }
  std::string shown_id(const Node& node) const {
    if (is_entry(node)) return workflow_name();
    if (!is_group(node) && has_begun(node)) return engine::step_pod_name(run_, node);
    return workflow_name() + "-" + std::to_string(fnv32a(full_name(node)));
  }

  const ir::Dag* dag_of(const Node& group) const {
    const ir::Component& component = engine::component_of(shown_.pipeline, group.component);
    return component.dag ? &*component.dag : nullptr;
  }
  void add_child(json::Array& children, const std::string& id) const {
    const Node* child = run_.find(id);
    if (child && is_shown(*child)) children.emplace_back(shown_id(*child));
  }

  // Argo draws edges from these: a DAG leads to its first tasks, a task to those that wait for it.
  json::Array children(const Node& node) const {
    json::Array made;
    if (node.kind == NodeKind::loop) {
      for (int i = 0;; ++i) {
        const std::string member = engine::child_id(node.id, std::to_string(i));
        if (run_.find(member) == nullptr) break;
        add_child(made, engine::child_id(member, node.task));
      }
    } else if (node.kind == NodeKind::dag) {
      if (const ir::Dag* dag = dag_of(node))
        for (const auto& [name, task] : dag->tasks)
          if (task.dependencies.empty()) add_child(made, engine::child_id(node.id, name));
    }
    const Node* parent = run_.find(engine::parent_id(node.id));
    if (parent && !parent->iteration && parent->id != "root" && parent->kind == NodeKind::dag)
      if (const ir::Dag* dag = dag_of(*parent))
        for (const auto& [name, task] : dag->tasks)
          if (std::ranges::find(task.dependencies, node.task) != task.dependencies.end())
            add_child(made, engine::child_id(parent->id, name));
    return made;
  }

  static json::Object side(const json::Object& values,
                           const std::map<std::string, ir::ParameterDefinition>& parameters,
                           const std::map<std::string, ir::ArtifactDefinition>& artifacts) {
    json::Object made;
    json::Array shown_parameters, shown_artifacts;
    const json::Value all(values);
    for (const auto& [name, definition] : parameters)
      if (const json::Value* value = json::find_path(all, {"parameterValues", name}))
        shown_parameters.push_back(json::Object{{"name", name}, {"value", ir::text_of(*value)}});
    for (const auto& [name, definition] : artifacts) {
      const json::Array* list = json::array_at(all, {"artifacts", name});
      if (list == nullptr || list->empty()) continue;
      json::Object artifact{{"name", name}};
      if (!definition.path.empty()) artifact.emplace("path", definition.path);
      const std::string_view uri = json::string_at(list->front(), {"uri"});
      const std::size_t begin = uri.find("://"), slash = uri.find('/', begin + 3);
      if (begin != uri.npos && slash != uri.npos)
        artifact.emplace("s3", json::Object{{"bucket", uri.substr(begin + 3, slash - begin - 3)},
                                            {"key", uri.substr(slash + 1)}});
      shown_artifacts.push_back(std::move(artifact));
    }
    if (!shown_parameters.empty()) made.emplace("parameters", std::move(shown_parameters));
    if (!shown_artifacts.empty()) made.emplace("artifacts", std::move(shown_artifacts));
    return made;
  }

  std::string_view type_of(const Node& node) const {
    if (!has_begun(node)) return "Skipped";
    if (node.kind == NodeKind::loop) return "TaskGroup";
    return node.kind == NodeKind::dag ? "DAG" : "Pod";
  }

  json::Value shown(const Node& node) const {
    const ir::Component& component = engine::component_of(shown_.pipeline, node.component);
    std::string name = node.component;
    name.resize(std::min(name.find('/'), name.size()));
    json::Object made{{"id", shown_id(node)},
                      {"name", full_name(node)},
                      {"displayName", display_name(node)},
                      {"type", type_of(node)},
                      {"templateName", name},
                      {"templateScope", "local/" + workflow_name()},
                      {"phase", phase_of(node.state)}};
    if (const Node* parent = above(node)) made.emplace("boundaryID", shown_id(*parent));
    const std::optional<WallTime> began = node.started ? node.started : node.created;
    if (began) made.emplace("startedAt", model::format_rfc3339(*began));
    if (engine::is_final(node.state) && node.finished)
      made.emplace("finishedAt", model::format_rfc3339(*node.finished));
    if (!node.error.empty()) made.emplace("message", node.error);
    if (node.state == NodeState::skipped) made.emplace("message", "when evaluated false");
    if (node.state == NodeState::cached) made.emplace("message", "taken from the cache");
    for (const auto& [member, value] :
         {std::pair{"inputs",
                    side(node.inputs, component.input_parameters, component.input_artifacts)},
          std::pair{"outputs",
                    side(node.outputs, component.output_parameters, component.output_artifacts)}})
      if (!value.empty()) made.emplace(member, value);
    if (json::Array below = children(node); !below.empty())
      made.emplace("children", std::move(below));
    return made;
  }

  const ShownRun& shown_;
  const engine::Run& run_;
};

}  // namespace

std::string_view workflow_phase(std::string_view state) {
  if (state == "PENDING") return "Pending";
  if (state == "RUNNING" || state == "CANCELING") return "Running";
  if (state == "SUCCEEDED" || state == "SKIPPED") return "Succeeded";
  return "Failed";
}

json::Object workflow_status(const ShownRun& shown) {
  const Nodes nodes(shown);
  const std::string_view phase = workflow_phase(shown.state);
  json::Object made{{"phase", phase},
                    {"startedAt", model::format_rfc3339(shown.run.facts.created)},
                    {"progress", nodes.progress()}};
  const Node* root = shown.run.find("root");
  const bool ended = phase == "Succeeded" || phase == "Failed";
  if (ended && root && root->finished)
    made.emplace("finishedAt", model::format_rfc3339(*root->finished));
  std::string message = shown.error;
  if (message.empty() && shown.state == "CANCELED") message = "Stopped with strategy 'Terminate'";
  if (!message.empty()) made.emplace("message", message);
  made.emplace("nodes", nodes.all());
  return made;
}

json::Value shown_workflow(const ShownRun& shown) {
  json::Value made = shown.workflow;
  const engine::RunFacts& facts = shown.run.facts;
  json::Value& metadata = json::at_path(made, {"metadata"});
  json::at_path(metadata, {"name"}) = json::Value(facts.resource_name);
  json::at_path(metadata, {"namespace"}) = json::Value(facts.ns);
  json::at_path(metadata, {"uid"}) = json::Value(facts.id);
  json::at_path(metadata, {"creationTimestamp"}) =
      json::Value(model::format_rfc3339(facts.created));
  const std::string_view phase = workflow_phase(shown.state);
  json::at_path(metadata, {"labels", "pipeline/runid"}) = json::Value(facts.id);
  json::at_path(metadata, {"labels", "workflows.argoproj.io/phase"}) = json::Value(phase);
  if (phase == "Succeeded" || phase == "Failed")
    json::at_path(metadata, {"labels", "workflows.argoproj.io/completed"}) = "true";
  json::Value& parameters = json::at_path(made, {"spec", "arguments", "parameters"});
  if (parameters.is_array())
    for (json::Value& one : parameters.get_array())
      if (const json::Value* given =
              json::find(shown.run.parameters, json::string_at(one, {"name"})))
        json::at_path(one, {"value"}) = json::Value(ir::text_of(*given));
  json::at_path(made, {"status"}) = workflow_status(shown);
  return made;
}

}  // namespace hekla::pipelines::argo
