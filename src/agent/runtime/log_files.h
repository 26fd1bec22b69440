// The files of one run's log. The monitor writes N.log and, at its limit, renames a new file over
// it. So that more than the newest piece is left, every file has a second name from its beginning:
//
//   N.log         what is being written
//   N.log.first   the first file, for good: how it began
//   N.log.latest  a name more for N.log, by which it stays when the monitor takes that name from it
//   N.log.older   the one before, unless that is the first
//
// The first name needs nobody to be there when the file is replaced: it is kept while no agent
// runs, too. Thread-safe; everything touches files and is short.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/os/file_watch.h"
#include "base/result.h"

namespace hekla::agent {

// Of each file: at most three of them are kept of a run.
inline constexpr std::int64_t kLogFileBytes = 16LL << 20;

// After the monitor has made N.log, and after it has been replaced; also when neither has happened.
Result<void> tend_log_files(const std::string& path);
// The existing files of a log, in the order of their contents, each once.
std::vector<std::string> log_files(const std::string& path);
// All of them; those that are missing are fine.
void remove_log_files(const std::string& path);

// Tends the files of running containers as the monitor replaces them. Thread-safe.
class LogKeeper {
  struct Private {};

 public:
  static Result<std::unique_ptr<LogKeeper>> open();
  LogKeeper(Private, std::unique_ptr<FileWatch> watch) : watch_(std::move(watch)) {}
  // From the moment the log is there; a failure only costs older files.
  void begin(const std::string& run, const std::string& path);
  void end(const std::string& run);

 private:
  struct Watched {
    int number = 0;
    std::string path;
  };
  std::unique_ptr<FileWatch> watch_;
  std::mutex mutex_;
  std::map<std::string, Watched> runs_;
};

}  // namespace hekla::agent
