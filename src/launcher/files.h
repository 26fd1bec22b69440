// Directories and trees of files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hekla::launcher {

// mkdir -p of the directory that holds `path`. Empty, or what went wrong.
std::string make_parents(const std::string& path);
// A file with this text. Empty, or what went wrong.
std::string write_file(const std::string& path, const std::string& text);
// The file's text; nullopt when it cannot be read, or is larger than `limit`.
std::optional<std::string> read_file(const std::string& path, std::size_t limit);
// Paths of the files below a directory, relative to it and sorted; {""} for a file; nothing for
// neither. Links are followed, but not in circles: at most 100 000 files and 32 levels.
std::optional<std::vector<std::string>> tree(const std::string& path);

}  // namespace hekla::launcher
