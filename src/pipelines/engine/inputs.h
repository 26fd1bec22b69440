// A task's inputs, resolved in its DAG instance.
#pragma once

#include <optional>
#include <string>

#include "json/value.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::engine {

// The component of a node; the root's for "".
const ir::Component& component_of(const ir::Pipeline& pipeline, const std::string& name);

// The task of a node in its DAG; null for the root and for iterations.
const ir::Task* task_of(const ir::Pipeline& pipeline, const Run& run, const Node& node);
// The DAG instance whose inputs and siblings the node's task sees: for an iteration, the loop's.
const Node& scope_of(const Run& run, const Node& node);

// {parameterValues, artifacts} of a task of the DAG instance `dag`. Errors fail the task.
Result<json::Object> resolve_inputs(const ir::Pipeline& pipeline, const Run& run, const Node& dag,
                                    const ir::Task& task);

// One source in the same place; nothing when it has no value (an optional input, an output that
// was never made). Platform settings use it, too.
Result<std::optional<json::Value>> resolve_source(const Run& run, const Node& dag,
                                                  const ir::ParameterSource& source);

// The inputs of the root: the run's parameters over the defaults.
json::Object root_inputs(const ir::Pipeline& pipeline, const json::Object& parameters);

// The final status of a task as TASK_FINAL_STATUS inputs show it.
json::Value final_status(const Run& run, const Node& node, const std::string& task);

// Values of an input with the type it must have; text for a string input.
Result<json::Value> typed(const std::string& name, const ir::ParameterDefinition& wanted,
                          json::Value value, bool selected);

}  // namespace hekla::pipelines::engine
