// Pod templates of jobs: what Kubernetes' own types would make of them, and what only Volcano asks
// of them. Core validation is in Settings.
#pragma once

#include <string>

#include "json/value.h"
#include "model/volcano.h"

namespace hekla::admission {

// Numbers among container resources become canonical strings and the template gets its metadata, as
// if it had passed through Kubernetes' types.
void normalise_template(json::Value& pod_template);

// A role with a NUMA policy must ask for whole cpus in every container.
std::string topology_error(const model::TaskSpec& task, std::size_t index);

}  // namespace hekla::admission
