#include "store/commit_queue.h"

#include "base/check.h"

namespace hekla::store {

CommitQueue::CommitQueue(Limits limits, Executor& committer, std::function<Task()> drain)
    : limits_(limits), committer_(committer), drain_(std::move(drain)) {}

bool CommitQueue::push(PendingCommit commit) {
  std::lock_guard lock(mutex_);
  if (pending_.size() >= limits_.commits) return false;
  // An empty queue accepts anything, or a large batch would never get in.
  if (!pending_.empty() && pending_bytes_ + commit.bytes > limits_.bytes) return false;
  if (!drain_posted_) {
    Task task = drain_();
    if (!committer_.try_post(task)) return false;
    drain_posted_ = true;
  }
  pending_bytes_ += commit.bytes;
  pending_.push_back(std::move(commit));
  return true;
}

std::vector<PendingCommit> CommitQueue::take_group(std::size_t group_bytes) {
  std::lock_guard lock(mutex_);
  CHECK(drain_posted_ && !pending_.empty(), "a drain is posted for what waits");
  std::vector<PendingCommit> group;
  std::size_t bytes = 0;
  while (!pending_.empty() && (group.empty() || bytes + pending_.front().bytes <= group_bytes)) {
    bytes += pending_.front().bytes;
    group.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  CHECK(pending_bytes_ >= bytes, "pending bytes count every commit");
  pending_bytes_ -= bytes;
  return group;
}

void CommitQueue::finish_group() {
  std::lock_guard lock(mutex_);
  CHECK(drain_posted_, "a group is finished once");
  drain_posted_ = !pending_.empty();
  if (drain_posted_) committer_.post(drain_());
}

}  // namespace hekla::store
