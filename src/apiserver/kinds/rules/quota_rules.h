// Are these the amounts a namespace may use, and an object of it?
#pragma once

#include <vector>

#include "apiserver/object/kind.h"

namespace hekla::apiserver {

std::vector<Cause> validate_quota(const json::Value& object);
std::vector<Cause> validate_limits(const json::Value& object);

}  // namespace hekla::apiserver
