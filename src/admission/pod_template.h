// The parts of pod validation a job must pass before its pods are ever created. The API server
// checks the pods themselves in full.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "model/volcano.h"

namespace hekla::admission {

// Field errors as Kubernetes words them, paths beginning with "template.".
std::vector<std::string> pod_template_errors(const json::Value& pod_template);

// Numbers among container resources become canonical strings and the template gets its metadata, as
// if it had passed through Kubernetes' types.
void normalise_template(json::Value& pod_template);

// A role with a NUMA policy must ask for whole cpus in every container.
std::string topology_error(const model::TaskSpec& task, std::size_t index);

}  // namespace hekla::admission
