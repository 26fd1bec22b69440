// A directory of a test's own, gone with all that is in it when the test ends, however it ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace hekla {

class TempDir {
 public:
  TempDir() : path_((std::filesystem::temp_directory_path() / "hekla-test-XXXXXX").string()) {
    CHECK(::mkdtemp(path_.data()) != nullptr, "a directory for temporary files");
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hekla
