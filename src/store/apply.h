// One commit group in the making: batches are applied in order to a private copy of the newest
// version, and everything that publishing them will need is collected. No I/O; dropping the object
// undoes all.
#pragma once

#include <vector>

#include "store/format.h"
#include "store/history.h"
#include "store/item.h"
#include "store/tree.h"

namespace hekla::store {

class GroupApplication {
 public:
  // `names`: the bucket names by id, at least for every bucket that the batches mention. `records`
  // is cleared and then collects the group for the log.
  GroupApplication(Snapshot::Version version, Stamp stamp,
                   const std::vector<const std::string*>& names, GroupBuilder& records);

  CommitResults apply(Batch batch);

  // The version with all successful writes. Leaves the object spent.
  Snapshot::Version take_version() { return std::move(version_); }
  const std::vector<BucketChange>& changes() const { return changes_; }
  // Buckets with changes, each once.
  std::vector<BucketId> touched() const;

 private:
  Result<ItemPtr> apply_one(Write& write);
  Result<void> check_guards(const std::vector<Guard>& guards) const;
  void undo(std::size_t changes_before, GroupBuilder::Mark records_before,
            std::uint64_t bytes_before);

  Snapshot::Version version_;
  const Stamp stamp_;
  const std::vector<const std::string*>& names_;
  GroupBuilder& records_;
  std::vector<BucketChange> changes_;
};

}  // namespace hekla::store
