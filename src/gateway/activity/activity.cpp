#include "gateway/activity/activity.h"

#include "model/time.h"

namespace hekla::gateway {

void UseMark::note(WallTime when) {
  const std::int64_t now = when.time_since_epoch().count();
  std::int64_t before = last_.load(std::memory_order_relaxed);
  while (before < now && !last_.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

std::shared_ptr<UseMark> Activity::mark(const kube::Key& notebook) {
  std::lock_guard lock(mutex_);
  return notebooks_[notebook].mark;
}

std::vector<std::pair<kube::Key, WallTime>> Activity::take_new() {
  std::vector<std::pair<kube::Key, WallTime>> used;
  std::lock_guard lock(mutex_);
  for (auto at = notebooks_.begin(); at != notebooks_.end();) {
    Noted& noted = at->second;
    const WallTime last = noted.mark->last();
    if (last > noted.taken) {
      used.emplace_back(at->first, noted.taken = last);
      ++at;
    } else {
      // A stream may be open and silent; whoever comes by another request gets another mark.
      at = noted.mark.use_count() == 1 ? notebooks_.erase(at) : std::next(at);
    }
  }
  return used;
}

kube::Write last_activity(const kube::Key& notebook, WallTime when) {
  static const kube::Resource kNotebooks{"kubeflow.org", "v1", "notebooks", "Notebook"};
  kube::Write write;
  write.verb = kube::Write::Verb::patch;
  write.resource = kNotebooks;
  write.key = notebook;
  write.body = json::Object{
      {"metadata",
       json::Object{{"annotations", json::Object{{"notebooks.kubeflow.org/last-activity",
                                                  model::format_rfc3339(when)}}}}}};
  return write;
}

}  // namespace hekla::gateway
