// A Workflow of Argo, read into what the engine runs.
#pragma once

#include <string>

#include "json/value.h"
#include "pipelines/ir/read.h"

namespace hekla::pipelines::argo {

// Refuses what cannot be run, naming the field. Errors are bad_request.
Result<ir::Pipeline> read_workflow(const json::Value& workflow);

// A package of either kind.
Result<ir::Pipeline> read_pipeline(const ir::Package& package);

// The name in a Workflow: of its annotation pipeline_spec, else of its metadata.
std::string workflow_name(const json::Value& workflow);

}  // namespace hekla::pipelines::argo
