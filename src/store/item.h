// The words of the store: keys with their revisions, consistent views of them, writes, and the
// changes that watchers read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::store {

using Revision = std::uint64_t;
using BucketId = std::uint32_t;

// The part of a value that the layer above has parsed, kept beside it so that it is parsed once.
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

// The state that a write demands of its key.
struct Expect {
  enum class Kind : std::uint8_t { anything, absent, present, revision } kind = Kind::anything;
  Revision revision = 0;
};

// The state that a write demands of another key: what the written key stands on is still
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

// Rebuilds the attachment of a recovered value. Several threads call it at the same time when there
// are many.
using Attacher = std::function<AttachmentPtr(std::string_view bucket, const std::string& key,
                                             const std::string& value)>;

}  // namespace hekla::store
