// The parts of a Workflow: a template's head, its body by kind, its tasks.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::argo {

std::unexpected<Error> refuse(const std::string& where, std::string_view reason);
// Refuses members beyond these, each by its path.
Result<void> allow_only(const json::Value& value, const std::string& where,
                        std::initializer_list<std::string_view> names);
// A number, or a text of one.
Result<std::int64_t> whole_number(const json::Value& value, const std::string& where);

struct Template {
  std::string name, where;  // where: spec.templates[3]
  const json::Value* body = nullptr;
  ir::Component component;  // inputs and outputs; its DAG or executor is read later
  std::optional<ir::RetryPolicy> retry;
  std::map<std::string, std::string> files;       // raw artifacts: path and text, as written
  std::map<std::string, std::string> references;  // outputs that are a task's, as written
  std::map<std::string, std::string> artifact_references;
  std::map<std::string, std::string> json_paths;  // of a resource's outputs
  bool cache = false;
  std::int64_t parallelism = 0;
};
using Templates = std::map<std::string, Template>;

// Name, inputs, outputs, retryStrategy and metadata.
Result<Template> read_head(const json::Value& body, const std::string& where);

// `container` or `script`, with volumes and the like of template and Workflow.
Result<ir::Executor> read_container(const Template& of, const json::Value& spec);
// `resource`.
Result<ir::Executor> read_resource(const Template& of);
// The call of kubectl that SDK 1.8 writes for .delete(), as a step without a pod; nothing for other
// containers.
std::optional<ir::Executor> kubectl_delete(const Template& of);

// `dag` or `steps`. Tasks over items add components of their own.
Result<ir::Dag> read_tasks(const Template& of, const Templates& all,
                           std::map<std::string, ir::Component>& components);
// Whether a task gives the template all it needs.
Result<void> check_arguments(const Template& called, const ir::Task& task,
                             const std::string& where);

}  // namespace hekla::pipelines::argo
