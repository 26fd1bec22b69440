// The tables, as numbered steps. Times are milliseconds since 1970.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "records/database.h"

namespace hekla::pipelines::store {

std::span<const records::Migration> migrations();

std::int64_t to_millis(WallTime when);
WallTime from_millis(std::int64_t millis);

}  // namespace hekla::pipelines::store
