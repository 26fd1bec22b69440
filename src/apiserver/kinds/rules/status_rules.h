// Rules for the status of a built-in kind when it is written. Kinds without such rules take
// any.
#pragma once

#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

std::vector<Cause> validate_status(const kube::Resource& resource, const json::Value& object,
                                   const json::Value& old);

}  // namespace hekla::apiserver
