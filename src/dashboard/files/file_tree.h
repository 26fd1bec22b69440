// The files below one directory, which belongs to users: names, links and what they lead to are
// theirs. No path leads out of it, nothing but regular files is opened, and no call waits for
// somebody at the other end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/value.h"

namespace hekla::dashboard {

// A descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int fd = -1) : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OpenFile();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

inline constexpr std::size_t kEntriesMax = 5000;

class FileTree {
 public:
  static Result<FileTree> open(const std::string& root);

  // A regular file or a directory. `path` is relative; empty: the root itself.
  struct Found {
    OpenFile file;
    bool directory = false;
    std::uint64_t size = 0;
  };
  Result<Found> find(std::string_view path) const;
  // {"entries": [{"name", "type": dir|file|link|other, "size", "modified"}], "more"}, by name.
  // Names that are no UTF-8 are left out and counted as "unnamed".
  static Result<json::Object> list(const OpenFile& directory);
  // Writes a file whole or not at all, in place of one that is there; its owner is the
  // directory's.
  Result<void> write(std::string_view path, std::string_view content) const;
  // A file, or a directory with nothing in it.
  Result<void> remove(std::string_view path) const;

 private:
  explicit FileTree(OpenFile root) : root_(std::move(root)) {}
  Result<OpenFile> parent_of(std::string_view path, std::string& name) const;
  OpenFile root_;
};

}  // namespace hekla::dashboard
