// {{$...}} in commands, arguments, variables and constants; IfPresent and Concat in arguments.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::engine {

// Run-wide names ({{$.pipeline_job_name}}) and other inputs of the task, in a constant.
std::string fill_constant(std::string text, const json::Object& parameters, const Run& run,
                          const std::string& dag_id, const std::string& task_name);

// The names that a container's texts may use.
struct ContainerScope {
  const ir::Component& component;
  const json::Value& executor_input;  // {inputs, outputs}
  const Run& run;
  std::string dag_id, task_name;
  std::string pod_name = {};
  int retries = 0;
};

// One text of a container: image, a variable, a resource.
std::string fill_text(const std::string& text, const ContainerScope& scope);
// Each text of a value, those that name members aside.
json::Value fill_value(const json::Value& value, const ContainerScope& scope);
// Command or arguments: a text may become none or several.
std::vector<std::string> fill_arguments(const std::vector<std::string>& texts,
                                        const ContainerScope& scope);

// The place of a URI's bytes in a pod: minio://b/k at /minio/b/k; empty for other schemes.
std::string local_path(std::string_view uri);

}  // namespace hekla::pipelines::engine
