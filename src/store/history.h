// The last changes of all buckets, for watchers: bounded in number and in bytes, the oldest go
// first. Not thread-safe; the store guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.h"
#include "store/item.h"

namespace hekla::store {

struct BucketChange {
  BucketId bucket = 0;
  Change change;
};

class History {
 public:
  struct Limits {
    std::size_t changes;
    std::uint64_t bytes;
  };
  // Complete from `start` on.
  History(Limits limits, Revision start) : limits_(limits), oldest_(start) {}

  // Revisions must ascend. Returns what had to go, so that the caller frees it outside of its lock.
  [[nodiscard]] std::vector<Change> append(const std::vector<BucketChange>& changes);

  Result<std::vector<Change>> after(BucketId bucket, Revision after, std::size_t limit) const;
  // Every change above this revision is still here.
  Revision oldest() const { return oldest_; }

 private:
  Limits limits_;
  Revision oldest_;
  std::uint64_t bytes_ = 0;
  std::deque<BucketId> order_;  // whose change is the oldest, the second oldest, ...
  std::vector<std::deque<Change>> buckets_;
};

}  // namespace hekla::store
