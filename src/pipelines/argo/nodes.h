// A run as the Workflow that people look at: `kubectl get workflows`, the v1 API's
// workflow_manifest.
#pragma once

#include <string>

#include "json/value.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::argo {

// The phase of a run's state as the API names it: RUNNING is Running.
std::string_view workflow_phase(std::string_view state);

struct ShownRun {
  const json::Value& workflow;  // as it was submitted
  const ir::Pipeline& pipeline;
  const engine::Run& run;
  std::string state, error;
};
// The status alone: phase, times, nodes.
json::Object workflow_status(const ShownRun& shown);
// The whole object, with the run's parameters as its arguments.
json::Value shown_workflow(const ShownRun& shown);

}  // namespace hekla::pipelines::argo
