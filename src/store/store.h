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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/disk.h"
#include "base/executor.h"
#include "base/metrics.h"
#include "base/result.h"

namespace hekla::store {

using Revision = std::uint64_t;
using BucketId = std::uint32_t;

// What the layer above parsed out of a value, kept beside it so that nobody parses twice.
struct Attachment {
  virtual ~Attachment() = default;
};
using AttachmentPtr = std::shared_ptr<const Attachment>;

// One revision of one key. Immutable and shared. `value` already contains the decimal digits of
// `modified` at `revision_at` (see Write).
struct Item {
  std::string key;
  Revision created = 0;
  Revision modified = 0;
  std::string value;
  std::uint32_t revision_at = kNoRevision;
  AttachmentPtr attachment;

  static constexpr std::uint32_t kNoRevision = 0xffffffff;
  // The value with other digits in place of the revision.
  std::string value_with_revision(Revision revision) const;
};
using ItemPtr = std::shared_ptr<const Item>;

// Everything as of one revision. A few words; copy it freely, hold it as long as you like.
class Snapshot {
 public:
  Revision revision() const;
  ItemPtr get(BucketId bucket, std::string_view key) const;
  // Keys in byte order, from the first key >= `from` while it starts with `prefix`; stops when
  // `visit` returns false.
  void scan(BucketId bucket, std::string_view prefix, std::string_view from,
            const std::function<bool(const ItemPtr&)>& visit) const;
  std::size_t count(BucketId bucket) const;

  struct Version;  // tree.h
  explicit Snapshot(std::shared_ptr<const Version> version) : version_(std::move(version)) {}

 private:
  std::shared_ptr<const Version> version_;
};

// What a write demands of the key's present state.
struct Expect {
  enum class Kind : std::uint8_t { anything, absent, present, revision } kind = Kind::anything;
  Revision revision = 0;
};

// What another key must be like for a write to be made: what the written key stands on is still
// there.
struct Guard {
  BucketId bucket = 0;
  std::string key;
  Expect expect;
};

struct Write {
  enum class Op : std::uint8_t { put, remove } op = Op::put;
  BucketId bucket = 0;
  std::string key;
  // For remove: the last state that watchers are shown; empty means the stored one.
  std::string value;
  // Offset in `value` where the committer inserts the decimal revision; kNoRevision for none.
  std::uint32_t revision_at = Item::kNoRevision;
  Expect expect;
  std::vector<Guard> guards;  // looked at after `expect`, and fail with the same codes
  AttachmentPtr attachment;
};

// A batch is applied in order and lands in one commit. Independent by default: each write succeeds
// or fails alone. With `all_or_nothing` the first unmet expectation fails every write of the batch,
// with its error. Removing a key that does not exist is not_found whatever was expected.
struct Batch {
  std::vector<Write> writes;
  bool all_or_nothing = false;
};

// One per write: the stored item (for remove, the item as watchers see it, with the removal's
// revision), or not_found / already_exists / conflict, or unavailable when the disk fails. After
// unavailable the write is not visible; should the process end before the disk recovers, the next
// start may find it nevertheless.
using CommitResults = std::vector<Result<ItemPtr>>;
// Called on the committer thread; must only hand over (post) and return.
using CommitDone = std::move_only_function<void(CommitResults)>;

struct Change {
  enum class Kind : std::uint8_t { created, updated, removed } kind = Kind::created;
  Revision revision = 0;
  ItemPtr item;      // for removed: the last state, value carrying the removal's revision
  ItemPtr previous;  // null for created
};

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
  // What may wait for the committer; beyond either, commit() returns false.
  std::size_t pending_commits = 65536;
  std::size_t pending_bytes = 512u << 20;
};

// Rebuilds the attachment of a recovered value. Several threads call it at the same time when there
// are many.
using Attacher = std::function<AttachmentPtr(std::string_view bucket, const std::string& key,
                                             const std::string& value)>;

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
  class Subscription {
   public:
    virtual ~Subscription() = default;
  };
  virtual std::unique_ptr<Subscription> subscribe(BucketId bucket,
                                                  std::function<void()> notify) = 0;

  // Writes a snapshot now and cuts the log; `done` is called on the background loop.
  virtual void compact(std::function<void(Result<void>)> done) = 0;
};

}  // namespace hekla::store
