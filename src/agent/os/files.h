// Small files of the agent's own. A crash of the process leaves the old or the new content; nothing
// is forced to the disk, because after a crash of the machine no container is alive for it to
// describe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::agent {

// Writes beside the file and renames. Blocks.
Result<void> replace_file(const std::string& path, std::string_view content, unsigned mode);

// At most so many bytes from one end of a file that others write. Blocks.
Result<std::string> read_beginning(const std::string& path, std::size_t limit);
Result<std::string> read_end(const std::string& path, std::size_t limit);

}  // namespace hekla::agent
