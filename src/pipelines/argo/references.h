// Argo's {{...}} in texts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::argo {

// Replaces each {{name}} that begins with one of Argo's words by what `lookup` says; nothing there
// is an error that names the field. Other braces (a program's own) stay.
using Lookup = std::function<Result<std::optional<std::string>>(std::string_view name)>;
Result<std::string> rewritten(std::string_view text, const std::string& where,
                              const Lookup& lookup);
// The same for all texts of a value.
Result<json::Value> rewritten(const json::Value& value, const std::string& where,
                              const Lookup& lookup);
// The name, if the text is one {{name}} and nothing else.
std::optional<std::string> sole_reference(std::string_view text);

// {{$.workflow...}} of the engine for workflow.*; nothing for what it does not know.
std::optional<std::string> workflow_placeholder(std::string_view name);
// The lookup of a template's body: its inputs, paths of its artifacts, the run, the pod.
Lookup body_lookup(const ir::Component& component);

// tasks.T.outputs.parameters.P or steps.T...., taken apart; nothing for other names.
struct TaskOutput {
  std::string task, kind, name;  // kind: parameters, artifacts
};
std::optional<TaskOutput> task_output(std::string_view reference);

}  // namespace hekla::pipelines::argo
