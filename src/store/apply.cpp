#include "store/apply.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::store {
namespace {

// Capacity that a stored value may have to spare.
constexpr std::size_t kSpareBytes = 48;

std::string found_text(const ItemPtr& item) {
  return item ? "found revision " + std::to_string(item->modified) : "found nothing";
}

std::unexpected<Error> unmet(Code code, const std::string& bucket, const std::string& key,
                             const std::string& expected, const ItemPtr& current) {
  return fail(code, "key \"" + key + "\" in " + bucket + ": expected " + expected + ", " +
                        found_text(current));
}

Result<void> check_expectation(const Expect& expect, const std::string& bucket,
                               const std::string& key, const ItemPtr& current) {
  switch (expect.kind) {
    case Expect::Kind::anything:
      break;
    case Expect::Kind::absent:
      if (current) return unmet(Code::already_exists, bucket, key, "no such key", current);
      break;
    case Expect::Kind::present:
      if (!current) return unmet(Code::not_found, bucket, key, "the key to exist", current);
      break;
    case Expect::Kind::revision:
      if (!current || current->modified != expect.revision)
        return unmet(current ? Code::conflict : Code::not_found, bucket, key,
                     "revision " + std::to_string(expect.revision), current);
      break;
  }
  return {};
}

// The item that the write leaves behind or, for a removal, that watchers are shown.
ItemPtr make_item(Write& write, Revision revision, const ItemPtr& current) {
  auto item = std::make_shared<Item>();
  item->key = std::move(write.key);
  item->created = current ? current->created : revision;
  item->modified = revision;
  CHECK(!current || current->modified < revision, "a revision is given out once");
  bool keeps_last_state = write.op == Write::Op::remove && write.value.empty();
  if (keeps_last_state) {
    CHECK(current, "only what is there is removed");
    item->value = current->value_with_revision(revision);
    item->revision_at = current->revision_at;
    item->attachment = write.attachment ? std::move(write.attachment) : current->attachment;
    return item;
  }
  item->revision_at = write.revision_at;
  item->attachment = std::move(write.attachment);
  std::string digits = write.revision_at == Item::kNoRevision ? "" : std::to_string(revision);
  std::size_t digits_at = digits.empty() ? 0 : write.revision_at;
  CHECK(digits_at <= write.value.size(), "the revision's place lies outside the value");
  const std::size_t size = write.value.size() + digits.size();
  if (write.value.capacity() >= size && write.value.capacity() <= size + kSpareBytes) {
    item->value = std::move(write.value);
    item->value.insert(digits_at, digits);
    return item;
  }
  // Copied, not moved: an item lives long, and what a writer's buffer has to spare would with it.
  item->value.reserve(size);
  item->value.append(write.value, 0, digits_at).append(digits).append(write.value, digits_at);
  return item;
}

}  // namespace

std::string Item::value_with_revision(Revision revision) const {
  if (revision_at == kNoRevision) return value;
  CHECK(revision_at + std::to_string(modified).size() <= value.size(),
        "the value holds its revision's digits");
  std::string other = value;
  other.replace(revision_at, std::to_string(modified).size(), std::to_string(revision));
  return other;
}

GroupApplication::GroupApplication(Snapshot::Version version, Stamp stamp,
                                   const std::vector<const std::string*>& names,
                                   GroupBuilder& records)
    : version_(std::move(version)), stamp_(stamp), names_(names), records_(records) {
  records_.clear();
}

CommitResults GroupApplication::apply(Batch batch) {
  CommitResults results;
  results.reserve(batch.writes.size());
  std::size_t changes_before = changes_.size();
  GroupBuilder::Mark records_before = records_.mark();
  std::uint64_t bytes_before = version_.live_bytes;
  for (Write& write : batch.writes) {
    results.push_back(apply_one(write));
    if (batch.all_or_nothing && !results.back()) {
      Error cause = results.back().error();
      undo(changes_before, records_before, bytes_before);
      results.assign(batch.writes.size(), std::unexpected(cause));
      break;
    }
  }
  CHECK(results.size() == batch.writes.size(), "one result per write");
  return results;
}

Result<ItemPtr> GroupApplication::apply_one(Write& write) {
  CHECK(write.bucket < names_.size(), "a write to a bucket that nobody made");
  if (write.bucket >= version_.buckets.size()) version_.buckets.resize(write.bucket + 1);
  const std::string& bucket = *names_[write.bucket];
  Tree& tree = version_.buckets[write.bucket];
  ItemPtr current = tree.get(write.key);
  TRY(check_expectation(write.expect, bucket, write.key, current));
  bool removes = write.op == Write::Op::remove;
  if (removes && !current)
    return unmet(Code::not_found, bucket, write.key, "the key to exist", current);
  TRY(check_guards(write.guards));

  ItemPtr item = make_item(write, ++version_.revision, current);
  const ItemPtr replaced = removes ? tree.erase(item->key, stamp_) : tree.put(item, stamp_);
  CHECK(replaced == current, "the tree holds what was judged");
  if (current) {
    const std::uint64_t bytes = record_bytes(bucket, current->key, current->value);
    CHECK(version_.live_bytes >= bytes, "live bytes count every key");
    version_.live_bytes -= bytes;
  }
  if (!removes) version_.live_bytes += record_bytes(bucket, item->key, item->value);
  records_.add({item->modified, item->created, removes ? Item::kNoRevision : item->revision_at,
                write.op, bucket, item->key,
                removes ? std::string_view() : std::string_view(item->value)});
  Change::Kind kind = removes   ? Change::Kind::removed
                      : current ? Change::Kind::updated
                                : Change::Kind::created;
  changes_.push_back({write.bucket, {kind, item->modified, item, std::move(current)}});
  return item;
}

Result<void> GroupApplication::check_guards(const std::vector<Guard>& guards) const {
  for (const Guard& guard : guards) {
    CHECK(guard.bucket < names_.size(), "a guard in a bucket that nobody made");
    const Tree* tree = version_.tree(guard.bucket);
    TRY(check_expectation(guard.expect, *names_[guard.bucket], guard.key,
                          tree ? tree->get(guard.key) : nullptr));
  }
  return {};
}

void GroupApplication::undo(std::size_t changes_before, GroupBuilder::Mark records_before,
                            std::uint64_t bytes_before) {
  while (changes_.size() > changes_before) {
    const BucketChange& last = changes_.back();
    CHECK(last.change.revision == version_.revision, "the newest change is undone first");
    Tree& tree = version_.buckets[last.bucket];
    if (last.change.previous)
      tree.put(last.change.previous, stamp_);
    else
      tree.erase(last.change.item->key, stamp_);
    --version_.revision;
    changes_.pop_back();
  }
  records_.rewind(records_before);
  version_.live_bytes = bytes_before;
}

std::vector<BucketId> GroupApplication::touched() const {
  std::vector<BucketId> buckets;
  for (const BucketChange& change : changes_) buckets.push_back(change.bucket);
  std::sort(buckets.begin(), buckets.end());
  buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
  return buckets;
}

}  // namespace hekla::store
