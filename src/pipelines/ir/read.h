// A pipeline package: text to documents to a Pipeline, refused with the original's reasons.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::ir {

// An upload: an IR document with perhaps a platform document, or an Argo Workflow.
struct Package {
  json::Value spec;      // PipelineSpec as JSON, or the Workflow
  json::Value platform;  // PlatformSpec; null without one
  bool argo = false;

  // As the API shows it: the spec alone, or {pipeline_spec, platform_spec}.
  json::Value to_json() const;
};

// YAML or JSON, one or two documents. Errors are bad_request.
Result<Package> read_package(std::string_view text);
// The API's form: a bare spec, {pipeline_spec, platform_spec}, or a Workflow.
Result<Package> package_from_json(const json::Value& value);

// Reads and checks; also what the original finds out only when it compiles: unknown components,
// executors and tasks, cycles.
Result<Pipeline> read_pipeline(const Package& package);
// Whether all that the parts name is there, and no task waits for itself.
Result<void> check_pipeline(const Pipeline& pipeline);

// The run's parameters against the root's definitions. Errors are bad_request, in the original's
// words.
Result<void> check_parameters(const Pipeline& pipeline, const json::Object& parameters);

}  // namespace hekla::pipelines::ir
