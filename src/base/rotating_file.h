// A text file that is appended to and put aside when it has grown: name-2026-01-02T15-04-05.000.log
// beside name.log.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hekla {

struct RotationOptions {
  std::uint64_t max_bytes = std::uint64_t{100} << 20;
  int max_backups = 0;            // files put aside; 0: all are kept
  std::chrono::hours max_age{0};  // of files put aside; 0: forever
};

// Thread-safe.
class RotatingFile {
 public:
  // "-" is standard output, which is never put aside. The directory is made when it is missing;
  // mode 0600.
  static Result<std::unique_ptr<RotatingFile>> open(std::string path, RotationOptions options,
                                                    const Clock& clock);
  ~RotatingFile();
  Result<void> append(std::string_view line);

  // Use open().
  RotatingFile(std::string path, RotationOptions options, const Clock& clock, int fd,
               std::uint64_t bytes)
      : path_(std::move(path)), options_(options), clock_(clock), fd_(fd), bytes_(bytes) {}

 private:
  Result<void> rotate();
  void remove_old() const;

  const std::string path_;
  const RotationOptions options_;
  const Clock& clock_;
  std::mutex mutex_;
  int fd_;
  std::uint64_t bytes_;
};

}  // namespace hekla
