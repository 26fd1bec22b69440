// How much the machine has left, and how much of it pods hold. Blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/pressure/eviction.h"
#include "base/result.h"

namespace hekla::agent {

// nodefs is where the data directory lies, imagefs where the images do.
Result<NodeReadings> read_node(const std::string& data_dir, const std::string& image_dir);
// MemAvailable and MemTotal of /proc/meminfo.
SignalReading parse_memory(std::string_view meminfo);
// Processes out of /proc/loadavg's "1/234", against the kernel's limit.
SignalReading parse_processes(std::string_view loadavg, std::string_view pid_max,
                              std::string_view threads_max);

// The bytes that a directory and all below it take on the disk; other file systems are not entered.
std::int64_t tree_bytes(const std::string& directory);

}  // namespace hekla::agent
