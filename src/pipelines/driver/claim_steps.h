// The steps that make and remove volume claims: calls of the API, no pods.
#pragma once

#include <string>

#include "kube/client.h"
#include "pipelines/engine/engine.h"
#include "pipelines/engine/run.h"

namespace hekla::pipelines::driver {

// Errors fail the step.
Result<kube::Write> claim_write(const engine::Run& run, const engine::Node& node,
                                const std::string& ns);
// The end of the step by the write's result. A claim that exists already is this step's own from
// before a crash, or somebody's of that name: either will do, as upstream has it for cached names.
engine::NodeEnd claim_end(const engine::Run& run, const engine::Node& node,
                          const kube::WriteResult& result);

}  // namespace hekla::pipelines::driver
