// Commits waiting for the committer. However many arrive while a group is being synced, they are
// one group afterwards: what is posted to the loop is "drain the queue", once, not one task per
// commit. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "base/executor.h"
#include "store/item.h"

namespace hekla::store {

struct PendingCommit {
  Batch batch;
  CommitDone done;
  std::size_t bytes = 0;
};

class CommitQueue {
 public:
  struct Limits {
    std::size_t commits;
    std::size_t bytes;
  };
  // `drain` makes the task that take_group() is called from.
  CommitQueue(Limits limits, Executor& committer, std::function<Task()> drain);

  // False when a limit is reached or the committer does not accept work.
  [[nodiscard]] bool push(PendingCommit commit);

  // On the committer: the oldest commits up to `group_bytes`, at least one.
  std::vector<PendingCommit> take_group(std::size_t group_bytes);
  // On the committer, after each group: asks for another round if anything arrived meanwhile.
  void finish_group();

 private:
  const Limits limits_;
  Executor& committer_;
  const std::function<Task()> drain_;
  std::mutex mutex_;
  std::deque<PendingCommit> pending_;
  std::size_t pending_bytes_ = 0;
  bool drain_posted_ = false;
};

}  // namespace hekla::store
