// The disk the store writes to.
#pragma once

#include <memory>
#include <string>

#include "base/disk.h"

namespace hekla {

// The directory `root`. For crash tests HEKLA_TEST_DISK=held holds everything back until it is
// synced (base/held_disk.h); held-without-syncs never writes anything.
Result<std::unique_ptr<Disk>> open_store_disk(const std::string& root);

// Whether the store of a data directory has been opened before: certificates are made after it, so
// a directory store/ beside them has a log. pki/ alone is how a restored machine begins
// (docs/backup.md), and what the log says then. To be asked before open_store_disk().
bool store_was_in_use(const std::string& data_dir);

}  // namespace hekla
