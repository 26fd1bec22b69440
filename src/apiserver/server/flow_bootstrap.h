// The FlowSchemas and PriorityLevelConfigurations every cluster begins with.
#pragma once

#include <vector>

#include "json/value.h"

namespace hekla::apiserver {

// Upstream's mandatory and suggested ones; each names its priority level before the schemas that
// need it.
std::vector<json::Value> bootstrap_flows();

}  // namespace hekla::apiserver
