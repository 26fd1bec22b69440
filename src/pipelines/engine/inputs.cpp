#include "pipelines/engine/inputs.h"

#include "base/check.h"
#include "json/parse.h"
#include "pipelines/engine/expression.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::engine {
namespace {

using From = ir::ParameterSource::From;

const json::Value* parameter_of(const json::Object& side, const std::string& name) {
  const json::Value* all = json::find(side, "parameterValues");
  return all ? json::find(*all, name) : nullptr;
}

const json::Array* artifacts_of(const json::Object& side, const std::string& name) {
  const json::Value* all = json::find(side, "artifacts");
  return all ? json::array_at(*all, {name}) : nullptr;
}

Result<void> fill_artifacts(const Run& run, const Node& dag, const ir::Component& component,
                            const ir::Task& task, json::Object& artifacts) {
  for (const auto& [name, source] : task.artifacts) {
    const json::Array* found = nullptr;
    if (source.from_task) {
      const Node* producer = run.find(child_id(dag.id, source.name));
      if (producer && has_outputs(producer->state))
        found = artifacts_of(producer->outputs, source.key);
    } else {
      found = artifacts_of(dag.inputs, source.name);
    }
    if (found) {
      artifacts.emplace(name, *found);
      continue;
    }
    const auto wanted = component.input_artifacts.find(name);
    const bool optional = wanted != component.input_artifacts.end() && wanted->second.optional;
    if (!optional && !task.exit_style)
      return fail(Code::bad_request,
                  "failed to resolve input artifact " + name + ": " +
                      (source.from_task ? "task " + source.name + " has no output " + source.key
                                        : "the component has no input " + source.name));
  }
  return {};
}

}  // namespace

const ir::Component& component_of(const ir::Pipeline& pipeline, const std::string& name) {
  if (name.empty()) return pipeline.root;
  const auto found = pipeline.components.find(name);
  CHECK(found != pipeline.components.end(), "components are checked when a pipeline is read");
  return found->second;
}

const ir::Task* task_of(const ir::Pipeline& pipeline, const Run& run, const Node& node) {
  if (node.id == "root") return nullptr;
  const Node& scope = scope_of(run, node);
  const auto& tasks = component_of(pipeline, scope.component).dag->tasks;
  const auto found = tasks.find(node.task);
  CHECK(found != tasks.end(), "a node's task is in its DAG");
  return &found->second;
}

const Node& scope_of(const Run& run, const Node& node) {
  std::string id = parent_id(node.id);
  if (node.iteration) id = parent_id(id);
  const Node* scope = run.find(id);
  CHECK(scope != nullptr, "a node stands in a DAG");
  return *scope;
}

json::Value final_status(const Run& run, const Node& node, const std::string& task) {
  std::string_view state = "SUCCEEDED";
  if (node.state == NodeState::failed) state = "FAILED";
  if (node.state == NodeState::canceled || node.state == NodeState::omitted) state = "CANCELLED";
  if (node.state == NodeState::skipped) state = "SKIPPED";
  json::Object error;
  if (node.state == NodeState::failed) {
    error.emplace("code", 9);  // FAILED_PRECONDITION, as Vertex says of a failed task
    error.emplace("message", node.error);
  }
  return json::Object{{"state", state},
                      {"pipelineTaskName", task},
                      {"pipelineJobResourceName", run.facts.resource_name},
                      {"error", std::move(error)}};
}

Result<std::optional<json::Value>> resolve_source(const Run& run, const Node& dag,
                                                  const ir::ParameterSource& source) {
  std::optional<json::Value> value;
  switch (source.from) {
    case From::constant:
      value = source.constant;
      break;
    case From::component_input:
      if (const json::Value* found = parameter_of(dag.inputs, source.name)) value = *found;
      break;
    case From::task_output: {
      const Node* producer = run.find(child_id(dag.id, source.name));
      if (producer && has_outputs(producer->state))
        if (const json::Value* found = parameter_of(producer->outputs, source.key)) value = *found;
      break;
    }
    case From::final_status:
      if (const Node* producer = run.find(child_id(dag.id, source.name)))
        value = final_status(run, *producer, source.name);
      break;
  }
  if (value && value->is_null()) value.reset();
  if (value && !source.selector.empty()) {
    json::Value selected = TRY(select(source.selector, *value));
    value = std::move(selected);
  }
  return value;
}

Result<json::Value> typed(const std::string& name, const ir::ParameterDefinition& wanted,
                          json::Value value, bool selected) {
  if (wanted.type == ir::ParameterType::string && !value.is_string() && selected)
    return json::Value(ir::text_of(value));
  const bool structured =
      wanted.type == ir::ParameterType::list || wanted.type == ir::ParameterType::structure;
  if (structured && value.is_string())
    if (Result<json::Value> parsed = json::parse(json::sv(value.get_string()));
        parsed && ir::is_of_type(*parsed, wanted.type))
      return parsed;
  if (wanted.type == ir::ParameterType::string && value.is_number())
    return json::Value(ir::text_of(value));
  if (!ir::is_of_type(value, wanted.type))
    return fail(Code::bad_request,
                "input parameter " + name + ": expect " + std::string(ir::name_of(wanted.type)) +
                    ", got " + std::string(ir::kind_of(value)) + " " + json::serialize(value));
  return ir::plain_numbers(value);
}

Result<json::Object> resolve_inputs(const ir::Pipeline& pipeline, const Run& run, const Node& dag,
                                    const ir::Task& task) {
  const ir::Component& component = component_of(pipeline, task.component);
  json::Object parameters, artifacts;
  std::vector<std::string> templated;
  for (const auto& [name, source] : task.parameters) {
    std::optional<json::Value> value = TRY(resolve_source(run, dag, source));
    const auto wanted = component.input_parameters.find(name);
    if (!value) {
      const bool has_default = wanted != component.input_parameters.end() &&
                               (wanted->second.optional || wanted->second.default_value);
      if (source.from == From::constant || has_default) continue;
      return fail(Code::bad_request, "failed to resolve input parameter " + name +
                                         ": it has neither a value nor a default");
    }
    if (source.from == From::constant && value->is_string()) templated.push_back(name);
    parameters.emplace(name, std::move(*value));
  }
  // Constants may name other inputs of the same task.
  for (const std::string& name : templated) {
    json::Value& value = *parameters.if_contains(name);
    value = json::Value(fill_constant(std::string(json::sv(value.get_string())), parameters, run,
                                      dag.id, task.display_name));
  }
  for (const auto& [name, wanted] : component.input_parameters) {
    json::Value* value = parameters.if_contains(name);
    if (value != nullptr) {
      const auto source = task.parameters.find(name);
      *value = TRY(typed(name, wanted, std::move(*value),
                         source != task.parameters.end() && !source->second.selector.empty()));
    } else if (wanted.default_value && component.dag) {
      parameters.emplace(name, ir::plain_numbers(*wanted.default_value));
    } else if (!wanted.optional && !wanted.default_value && !task.iterator) {
      return fail(Code::bad_request, "input parameter " + name + " has no value");
    }
  }
  TRY(fill_artifacts(run, dag, component, task, artifacts));
  return json::Object{{"parameterValues", std::move(parameters)},
                      {"artifacts", std::move(artifacts)}};
}

json::Object root_inputs(const ir::Pipeline& pipeline, const json::Object& parameters) {
  json::Object values;
  for (const auto& [name, definition] : pipeline.root.input_parameters) {
    if (const json::Value* given = json::find(parameters, name); given && !given->is_null())
      values.emplace(name, ir::plain_numbers(*given));
    else if (definition.default_value)
      values.emplace(name, ir::plain_numbers(*definition.default_value));
  }
  return json::Object{{"parameterValues", std::move(values)}, {"artifacts", json::Object{}}};
}

}  // namespace hekla::pipelines::engine
