#include "store/history.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::store {
namespace {

// The item alone: `previous` is as a rule the item of an earlier change and counted there.
std::uint64_t bytes_of(const Change& change) {
  return sizeof(Change) + sizeof(Item) + change.item->key.size() + change.item->value.size();
}

}  // namespace

std::vector<Change> History::append(const std::vector<BucketChange>& changes) {
  for (const BucketChange& entry : changes) {
    if (entry.bucket >= buckets_.size()) buckets_.resize(entry.bucket + 1);
    std::deque<Change>& bucket = buckets_[entry.bucket];
    CHECK(entry.change.item, "a change has an item");
    CHECK(entry.change.revision > oldest_ &&
              (bucket.empty() || bucket.back().revision < entry.change.revision),
          "revisions ascend");
    bucket.push_back(entry.change);
    order_.push_back(entry.bucket);
    bytes_ += bytes_of(entry.change);
  }
  std::vector<Change> dropped;
  while (!order_.empty() && (order_.size() > limits_.changes || bytes_ > limits_.bytes)) {
    std::deque<Change>& bucket = buckets_[order_.front()];
    order_.pop_front();
    CHECK(!bucket.empty() && bucket.front().revision > oldest_, "the oldest change goes first");
    oldest_ = bucket.front().revision;
    bytes_ -= bytes_of(bucket.front());
    dropped.push_back(std::move(bucket.front()));
    bucket.pop_front();
  }
  return dropped;
}

Result<std::vector<Change>> History::after(BucketId bucket, Revision after,
                                           std::size_t limit) const {
  if (after < oldest_)
    return fail(Code::expired, "changes after revision " + std::to_string(after) +
                                   " are no longer kept, the oldest still served is " +
                                   std::to_string(oldest_));
  std::vector<Change> found;
  if (bucket >= buckets_.size()) return found;
  const std::deque<Change>& changes = buckets_[bucket];
  auto first =
      std::upper_bound(changes.begin(), changes.end(), after,
                       [](Revision r, const Change& change) { return r < change.revision; });
  auto count = std::min<std::size_t>(limit, static_cast<std::size_t>(changes.end() - first));
  found.assign(first, first + static_cast<std::ptrdiff_t>(count));
  return found;
}

}  // namespace hekla::store
