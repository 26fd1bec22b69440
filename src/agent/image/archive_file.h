// Tar files of any compression as sets of files, and back. Blocks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/result.h"

namespace hekla::agent {

// The names of the entries without leading "./"; what is no tar file is refused.
Result<std::set<std::string>> archive_names(const std::string& path);
// Unpacks the regular files into `directory`, named by numbers: the files by the names they had.
// Links lead to the file they mean.
Result<std::map<std::string, std::string>> extract_files(const std::string& path,
                                                         const std::string& directory);
// The SHA-256 of a file as it is after decompression.
Result<std::string> uncompressed_digest(const std::string& path);

// Writes a plain tar file.
class ArchiveWriter {
 public:
  ArchiveWriter();
  ~ArchiveWriter();
  // "-" is standard output.
  Result<void> open(const std::string& path);
  Result<void> add_text(const std::string& name, const std::string& content);
  Result<void> add_file(const std::string& name, const std::string& path);
  Result<void> close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hekla::agent
