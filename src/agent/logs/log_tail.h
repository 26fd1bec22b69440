// The last lines of a log in the CRI format.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

// Where the last `lines` lines begin in open files that follow one another: an offset in each, its
// end where nothing of it is wanted. One that is still being written is a line, and one that is cut
// between two files is only one.
Result<std::vector<std::uint64_t>> tail_offsets(const std::vector<int>& files, std::int64_t lines);

}  // namespace hekla::agent
