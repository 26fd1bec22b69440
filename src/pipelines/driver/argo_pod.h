// The pod of a Workflow's container step.
#pragma once

#include "json/value.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::driver {

// The pod as the Workflow has it, with everything filled in and its patch laid over; the launcher
// is still to come. Errors fail the step: a patch that cannot be read.
Result<json::Value> argo_pod(const ir::Container& container, const engine::ContainerScope& scope);

}  // namespace hekla::pipelines::driver
