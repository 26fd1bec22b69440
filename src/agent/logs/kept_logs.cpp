#include "agent/logs/kept_logs.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "agent/os/file_descriptor.h"
#include "agent/os/files.h"
#include "agent/os/instance.h"
#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/codec.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

std::int64_t bytes_below(const std::string& directory) {
  std::error_code error;
  std::int64_t sum = 0;
  std::set<ino_t> known;  // a file may have two names
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory, error)) {
    struct stat info{};
    if (::lstat(entry.path().c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        known.insert(info.st_ino).second)
      sum += info.st_size;
  }
  return sum;
}

}  // namespace

Result<void> KeptLogs::open() {
  TRY(make_directories(directory_));
  std::error_code error;
  std::lock_guard lock(mutex_);
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    Result<std::string> text = read_file(entry.path().string() + "/pod.json");
    Result<KeptPod> pod =
        text ? json::decode_text<KeptPod>(*text) : Result<KeptPod>(std::unexpected(text.error()));
    if (pod && pod->record.job && pod->record.uid == entry.path().filename()) {
      pods_[pod->record.uid] = std::move(*pod);
      continue;
    }
    log_warn("agent", "a gone pod's log cannot be read and is removed",
             {{"path", entry.path().string()}});
    fs::remove_all(entry.path(), error);
  }
  return {};
}

Result<void> KeptLogs::keep(const PodRecord& record, const std::string& containers, WallTime now) {
  CHECK(record.job && !record.uid.empty(), record.name);
  std::error_code error;
  if (!fs::exists(containers, error)) return {};
  const std::string place = directory_ + "/" + record.uid;
  TRY(make_directories(place));
  KeptPod pod{record, to_ns(now), bytes_below(containers)};
  // The note first: a directory without one is removed by the next start.
  TRY(replace_file(place + "/pod.json", json::serialize(json::encode(pod)), 0600));
  if (::rename(containers.c_str(), containers_dir(record.uid).c_str()) != 0)
    return errno_error("keep the logs of pod " + record.name);
  std::lock_guard lock(mutex_);
  pods_[record.uid] = std::move(pod);
  return {};
}

Result<void> KeptLogs::remove(const std::string& pod_uid) {
  CHECK(!pod_uid.empty(), "would name every pod");
  {
    std::lock_guard lock(mutex_);
    pods_.erase(pod_uid);
  }
  std::error_code error;
  fs::remove_all(directory_ + "/" + pod_uid, error);
  if (error)
    return fail(Code::internal, "remove the log of pod " + pod_uid + ": " + error.message());
  return {};
}

Result<void> KeptLogs::remove_job(const std::string& job_uid) {
  for (const KeptPod& pod : list(""))
    if (pod.record.job->uid == job_uid) TRY(remove(pod.record.uid));
  return {};
}

Result<void> KeptLogs::trim(WallTime now) {
  std::vector<KeptPod> pods = list("");
  std::int64_t total = 0;
  for (const KeptPod& pod : pods) total += pod.bytes;
  for (const KeptPod& pod : pods) {
    if (total <= limits_.bytes && now - from_ns(pod.ended_ns) <= limits_.age) break;
    total -= pod.bytes;
    TRY(remove(pod.record.uid));
  }
  return {};
}

std::vector<KeptPod> KeptLogs::list(const std::string& ns) const {
  std::vector<KeptPod> found;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [uid, pod] : pods_)
      if (ns.empty() || pod.record.ns == ns) found.push_back(pod);
  }
  std::ranges::sort(found, {},
                    [](const KeptPod& pod) { return std::pair(pod.ended_ns, pod.record.name); });
  return found;
}

std::optional<KeptPod> KeptLogs::find(const kube::PodRef& pod) const {
  std::lock_guard lock(mutex_);
  const KeptPod* best = nullptr;
  for (const auto& [key, kept] : pods_) {
    if (kept.record.ns != pod.ns || kept.record.name != pod.name ||
        (!pod.uid.empty() && key != pod.uid))
      continue;
    if (!best || kept.ended_ns > best->ended_ns) best = &kept;
  }
  return best ? std::optional<KeptPod>(*best) : std::nullopt;
}

}  // namespace hekla::agent
