// The resize subresource of pods: other amounts of cpu and memory for containers that are there.
#pragma once

#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

// Everything of `old`, with the resources and resize policies of `object`. Containers that do not
// correspond are left for the validation to find.
void isolate_resize(json::Value& object, const json::Value& old);
std::vector<Cause> validate_resize(const json::Value& pod, const json::Value& old);

}  // namespace hekla::apiserver
