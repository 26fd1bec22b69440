// The directory that Hekla's own image is built from.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::cli {

// Makes `directory`, which must be empty or absent, a build context: a Dockerfile and `root`, with
// this program, the shared libraries that are loaded into it, the names of the programs it stands
// in for, certificates and time zones.
Result<void> write_image_context(const std::string& directory);

}  // namespace hekla::cli
