// The disk the store writes to.
#pragma once

#include <memory>
#include <string>

#include "base/disk.h"

namespace hekla {

// The directory `root`. For crash tests HEKLA_TEST_DISK=held holds everything back until it is
// synced (base/held_disk.h); held-without-syncs never writes anything.
Result<std::unique_ptr<Disk>> open_store_disk(const std::string& root);

}  // namespace hekla
