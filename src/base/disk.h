// Every contact of durable code with a file system, behind one interface: the shipped store is what
// the simulator tears and crashes (test/support/sim_disk.h). Paths are relative to the disk's root.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla {

// A file opened for appending. Not thread-safe; one owner.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  // Appends all of `data` or fails; after a failure the tail of the file is undefined until
  // truncate().
  virtual Result<void> append(std::string_view data) = 0;
  // Returns once everything appended is on stable storage. After a failed sync the file must not be
  // trusted again: the kernel may have dropped the dirty pages.
  virtual Result<void> sync() = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
  // Writes so many zeros behind the end. What is appended goes over them, and its sync has neither
  // a new size nor new blocks to write down, which is most of a small one's work. They do not count
  // in size(), but whoever reads or opens the file finds them until truncate(). A hint: a disk may
  // do nothing.
  virtual Result<void> write_ahead(std::uint64_t bytes) = 0;
  virtual std::uint64_t size() const = 0;
};

// Thread-safe.
class Disk {
 public:
  virtual ~Disk() = default;
  // Opens for appending; creates an empty file if there is none.
  virtual Result<std::unique_ptr<AppendFile>> open_append(const std::string& name) = 0;
  virtual Result<std::string> read(const std::string& name) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& name) = 0;
  // Names of the files in the root, sorted.
  virtual Result<std::vector<std::string>> list() = 0;
  // Makes creations, renames and removals durable.
  virtual Result<void> sync_directory() = 0;
};

// The directory `root` on the machine's own file system; created with mode 0700 if it is missing.
Result<std::unique_ptr<Disk>> open_disk(const std::string& root);

// Writes a whole file so that a crash leaves the old or the new content, never a mixture.
Result<void> write_file_atomically(const std::string& path, std::string_view content,
                                   unsigned mode);
Result<std::string> read_file(const std::string& path);

}  // namespace hekla
