// Tells when files appear or grow (inotify), from one thread of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "agent/os/file_descriptor.h"
#include "base/loop.h"
#include "base/result.h"

namespace hekla::agent {

// Thread-safe. Callbacks run on the watching thread and must only post.
class FileWatch {
  struct Private {};

 public:
  explicit FileWatch(Private) {}
  // The argument is the entry's name when a directory is watched; empty for a file, and when events
  // were lost and the whole directory has to be read.
  using Callback = std::function<void(const std::string& name)>;

  static Result<std::unique_ptr<FileWatch>> open(const std::string& thread_name);
  ~FileWatch() { stop(); }
  // Joins the thread. Idempotent, not on the thread itself.
  void stop();

  // A directory: entries written to their end or moved in. A file: bytes appended, moved or
  // removed. The number takes the callback off again; several may watch one path.
  Result<int> add(const std::string& path, Callback callback);
  // A directory: entries moved in alone, however much is written there.
  Result<int> add_moves(const std::string& path, Callback callback);
  void remove(int number);

 private:
  Result<int> add(const std::string& path, std::uint32_t events, Callback callback);
  void run();
  void dispatch(int descriptor, const std::string& name);

  struct Entry {
    int descriptor = -1;
    Callback callback;
  };
  FileDescriptor inotify_, wake_;
  std::mutex mutex_;
  std::map<int, Entry> entries_;
  int next_number_ = 1;
  std::unique_ptr<WorkerPool> thread_;
};

}  // namespace hekla::agent
