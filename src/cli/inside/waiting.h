// Waiting inside a pod for another one: for its name, or for a port of it to be open. Blocks.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace hekla::cli {

// A headless Service's name is known while one of its pods is ready.
Result<void> wait_for_name(const std::string& name, std::chrono::seconds patience);
Result<void> wait_for_port(const std::string& host, const std::string& port,
                           std::chrono::seconds patience);

}  // namespace hekla::cli
