// The durable heart: ordered keys in named buckets, one global revision counter, compare-and-swap,
// consistent snapshots, and the history from which watchers read. etcd's semantics; this module
// knows nothing of Kubernetes. All data is in memory; the disk holds a log and snapshots
// (docs/formats/store.md).
//
// Threads: one committer thread writes. snapshot(), changes_after() and subscribe() may be called
// from any thread and never wait for the committer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/disk.h"
#include "base/executor.h"
#include "base/metrics.h"
#include "base/result.h"
#include "store/item.h"
#include "store/subscription.h"

namespace hekla::store {

struct Options {
  // The directory has held commits before, as far as the caller knows. One without any log is then
  // refused instead of being begun as a new store.
  bool was_in_use = false;
  // History kept for watchers, over all buckets: at most so many changes, and so many bytes.
  std::size_t history_changes = 200'000;
  std::uint64_t history_bytes = 256u << 20;
  // A snapshot is written and the log cut when the log has grown past this and past the live data.
  std::uint64_t log_bytes_before_snapshot = 64u << 20;
  // Commits that are small beside it are written over zeros, so many of which are written at a
  // time; 0: never. One of 3 KB then takes half the CPU and a third of the time (ext4: 55 against
  // 110 us CPU), as its sync has neither new blocks nor a new size to write down.
  std::uint64_t write_ahead_bytes = 512u << 10;
  // Commit groups are bounded so that one giant batch does not delay everyone.
  std::size_t group_bytes = 8u << 20;
  // A larger batch fails with too_large.
  std::size_t batch_bytes = 256u << 20;
  // Limits of what waits for the committer; beyond either, commit() returns false.
  std::size_t pending_commits = 65536;
  std::size_t pending_bytes = 512u << 20;
};

class Store {
 public:
  // Recovers what `disk` holds. `committer` is the store's own loop; a second one, `background`,
  // writes snapshots. The log of a newer format version is refused, a torn tail is cut off, damage
  // in the middle is an error that names file and offset.
  static Result<std::unique_ptr<Store>> open(Options options, Disk& disk, Executor& committer,
                                             Executor& background, Attacher attacher,
                                             Metrics* metrics = nullptr);
  // Commits not yet begun are dropped, their completions never called. Destroy it neither from a
  // completion nor from a notification.
  virtual ~Store() = default;

  // The id of a bucket, made on first use. Ids are stable within the process only.
  virtual BucketId bucket(std::string_view name) = 0;

  virtual Snapshot snapshot() const = 0;

  // False when the committer's mailbox or the store's own queue is full; `done` was then not called
  // and will not be.
  [[nodiscard]] virtual bool commit(Batch batch, CommitDone done) = 0;

  // Whether the newest commit reached the disk. Thread-safe.
  virtual bool takes_writes() const = 0;

  // At most `limit` changes of `bucket` with a revision above `after`, in order. `expired` when the
  // history no longer reaches back to `after`.
  virtual Result<std::vector<Change>> changes_after(BucketId bucket, Revision after,
                                                    std::size_t limit) const = 0;
  // The oldest revision changes_after still serves for any bucket. Right after a start it is that
  // of the snapshot recovered, or where the limits cut the log after it.
  virtual Revision oldest_history() const = 0;

  // Calls `notify` on the committer thread after each commit that touched `bucket`, until the
  // returned token is destroyed. `notify` must only set a flag or post, and return.
  using Subscription = store::Subscription;
  virtual std::unique_ptr<Subscription> subscribe(BucketId bucket,
                                                  std::function<void()> notify) = 0;

  // Writes a snapshot now and cuts the log; `done` is called on the background loop.
  virtual void compact(std::function<void(Result<void>)> done) = 0;
};

}  // namespace hekla::store
