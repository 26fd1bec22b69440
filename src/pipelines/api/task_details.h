// The tasks of a run as the API lists them.
#pragma once

#include <set>
#include <string>

#include "json/value.h"
#include "pipelines/engine/run.h"

namespace hekla::pipelines::api {

// One entry per node, parents first.
json::Value task_details(const engine::Run& run);
// RUNNING, SUCCEEDED, SKIPPED: the API's names of node states.
std::string_view api_state(engine::NodeState state);

// Resets what a retry begins again; the ids of the nodes that changed.
std::set<std::string> retried_nodes(engine::Run& run);

}  // namespace hekla::pipelines::api
