// Kubernetes settings of an executor (the package's second document) on its pod.
#pragma once

#include "json/value.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::driver {

// Errors name the setting: one that cannot be resolved, or that this server does not know.
Result<void> apply_settings(const ir::Pipeline& pipeline, const engine::Run& run,
                            const engine::Node& node, json::Value& pod);

}  // namespace hekla::pipelines::driver
