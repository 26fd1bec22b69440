// The init container kubectl-delivery of an MPIJob v1. Blocks.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla::cli {

// Lays a `kubectl` that can exec into `directory`. It is this program with the libraries it was
// started with and their linker, for whatever image the launcher runs.
Result<void> deliver_kubectl(const std::string& directory);

}  // namespace hekla::cli
