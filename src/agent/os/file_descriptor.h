// An owned file descriptor, and errno as an Error.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace hekla::agent {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// "<what>: <text of errno>", with a code callers can act on (a missing file is not_found).
std::unexpected<Error> errno_error(const std::string& what);
// The same for an error number in hand.
std::unexpected<Error> errno_error(const std::string& what, int number);

}  // namespace hekla::agent
