#include "store/restoration.h"

#include "base/check.h"

namespace hekla::store {
namespace {

// The value as Write carries it: without the digits of its revision.
Write put_of(const Item& item, BucketId bucket) {
  Write write;
  write.bucket = bucket;
  write.key = item.key;
  write.value = item.value;
  write.revision_at = item.revision_at;
  if (item.revision_at != Item::kNoRevision)
    write.value.erase(item.revision_at, std::to_string(item.modified).size());
  write.attachment = item.attachment;
  return write;
}

}  // namespace

Batch restoring_writes(const Recovered& wanted, const std::vector<BucketId>& ids,
                       const Snapshot& now, std::size_t buckets) {
  CHECK(ids.size() == wanted.version.buckets.size(), "every bucket of the backup has an id");
  static const Tree kEmpty;
  std::vector<const Tree*> trees(buckets, &kEmpty);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CHECK(ids[i] < buckets, "an id of this store");
    trees[ids[i]] = &wanted.version.buckets[i];
  }
  Batch batch;
  for (BucketId bucket = 0; bucket < trees.size(); ++bucket) {
    const Tree& tree = *trees[bucket];
    now.scan(bucket, "", "", [&](const ItemPtr& item) {
      if (tree.get(item->key)) return true;
      Write write;
      write.op = Write::Op::remove;
      write.bucket = bucket;
      write.key = item->key;
      batch.writes.push_back(std::move(write));
      return true;
    });
    tree.scan("", [&](const ItemPtr& item) {
      const ItemPtr present = now.get(bucket, item->key);
      Write write = put_of(*item, bucket);
      if (!present || put_of(*present, bucket).value != write.value)
        batch.writes.push_back(std::move(write));
      return true;
    });
  }
  return batch;
}

}  // namespace hekla::store
