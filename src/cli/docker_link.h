// A link named docker: what tutorials type to build, fetch and send images, said to `hekla image`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::cli {

// docker's arguments as hekla's. bad_request: what docker does beyond images.
Result<std::vector<std::string>> docker_arguments(std::vector<std::string> arguments);

}  // namespace hekla::cli
