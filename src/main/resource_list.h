// "cpu=32,memory=256Gi,pods=110" on the command line.
#pragma once

#include <string>

#include "base/result.h"
#include "model/quantity.h"

namespace hekla {

// Errors name the flag and the entry.
Result<model::ResourceList> parse_resource_list(const std::string& text, const std::string& flag);

}  // namespace hekla
