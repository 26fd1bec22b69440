// A disk for crash tests of the whole program: what is written stays in this process's memory until
// it is synced, and what is created, renamed or removed until the directory is. A kill -9 then
// loses what a power failure may lose.
#pragma once

#include <memory>

#include "base/disk.h"

namespace hekla {

// With `syncs` false a sync only says that it has happened, so that a test can show that it
// notices.
Result<std::unique_ptr<Disk>> hold_back(std::unique_ptr<Disk> real, bool syncs);

}  // namespace hekla
