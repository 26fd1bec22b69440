// The pod of a container node, and its launcher's task.
#pragma once

#include <string>

#include "json/value.h"
#include "pipelines/driver/launch_server.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::driver {

// The volume driver that puts the launcher into a pod; the agent knows it.
inline constexpr const char* kLauncherVolume = "launcher.hekla.io";

struct StepOptions {
  std::string service_account;
  std::string launch_address, launch_token;  // the launcher's
  std::string queue = {};                    // the pod waits in it for its turn
};

// The place of the result that the node's launcher leaves behind.
ObjectPlace step_result_place(const engine::Run& run, const engine::Node& node);

// Errors fail the node: a setting that cannot be resolved or is not supported.
Result<json::Value> step_pod(const ir::Pipeline& pipeline, const engine::Run& run,
                             const engine::Node& node, const StepOptions& options);
Result<LaunchGrant> step_grant(const ir::Pipeline& pipeline, const engine::Run& run,
                               const engine::Node& node);

}  // namespace hekla::pipelines::driver
