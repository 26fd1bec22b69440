// A container node's fingerprint, from its inputs and its component.
#pragma once

#include <string>
#include <vector>

#include "pipelines/engine/run.h"
#include "pipelines/ir/pipeline.h"

namespace hekla::pipelines::engine {

// Empty: the node must not be taken from the cache (a volume claim with a name of its own).
Result<std::string> cache_key(const ir::Pipeline& pipeline, const Run& run, const Node& node,
                              const ir::Task& task);

// {inputs, outputs} as the container sees it. URIs of outputs are made from run, node and attempt,
// so that they are the same after a crash.
json::Value executor_input(const ir::Pipeline& pipeline, const Run& run, const Node& node);

// The names of the claims that the node's container mounts.
Result<std::vector<std::string>> mounted_claims(const ir::Pipeline& pipeline, const Run& run,
                                                const Node& node);

}  // namespace hekla::pipelines::engine
