#include "agent/runtime/log_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/disk.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr const char *kFirst = ".first", *kOlder = ".older", *kLatest = ".latest";

// 0 when there is none.
ino_t inode_of(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

Result<void> name_too(const std::string& path, const std::string& name) {
  if (::link(path.c_str(), name.c_str()) != 0 && errno != EEXIST && errno != ENOENT)
    return errno_error("link " + name);
  return {};
}

}  // namespace

Result<void> tend_log_files(const std::string& path) {
  const std::string first = path + kFirst, latest = path + kLatest;
  const ino_t now = inode_of(path);
  if (now == 0 || now == inode_of(latest)) return {};
  TRY(name_too(path, first));
  if (const ino_t before = inode_of(latest); before != 0 && before != inode_of(first)) {
    if (::rename(latest.c_str(), (path + kOlder).c_str()) != 0 && errno != ENOENT)
      return errno_error("rename " + latest);
  } else if (before != 0 && ::unlink(latest.c_str()) != 0 && errno != ENOENT) {
    return errno_error("remove " + latest);
  }
  return name_too(path, latest);
}

std::vector<std::string> log_files(const std::string& path) {
  std::vector<std::string> found;
  std::vector<ino_t> known;
  // The newest last; a name that stands for the same file as another gives way to the later one.
  for (const char* end : {"", kLatest, kOlder, kFirst}) {
    const ino_t inode = inode_of(path + end);
    if (inode == 0 || std::ranges::find(known, inode) != known.end()) continue;
    known.push_back(inode);
    found.insert(found.begin(), path + end);
  }
  return found;
}

void remove_log_files(const std::string& path) {
  for (const char* end : {"", kLatest, kOlder, kFirst}) ::unlink((path + end).c_str());
}

Result<std::unique_ptr<LogKeeper>> LogKeeper::open() {
  return std::make_unique<LogKeeper>(Private{}, TRY(FileWatch::open("hekla-logfiles")));
}

void LogKeeper::begin(const std::string& run, const std::string& path) {
  auto tend = [path](const std::string&) {
    if (Result<void> done = tend_log_files(path); !done)
      log_warn("agent", "keep a log's older files", {{"error", done.error().message}});
  };
  Result<int> number = watch_->add_moves(std::filesystem::path(path).parent_path(), tend);
  tend("");
  if (!number) return log_warn("agent", "watch a log", {{"error", number.error().message}});
  std::lock_guard lock(mutex_);
  runs_[run] = {*number, path};
}

void LogKeeper::end(const std::string& run) {
  Watched gone;
  {
    std::lock_guard lock(mutex_);
    auto found = runs_.find(run);
    if (found == runs_.end()) return;
    gone = std::move(found->second);
    runs_.erase(found);
  }
  watch_->remove(gone.number);
  if (Result<void> done = tend_log_files(gone.path); !done)
    log_warn("agent", "keep a log's older files", {{"error", done.error().message}});
}

}  // namespace hekla::agent
