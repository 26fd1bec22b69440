// From the present state to that of a backup.
#pragma once

#include <vector>

#include "store/item.h"
#include "store/recovery.h"

namespace hekla::store {

// `ids`: the present ids of wanted.bucket_names; `buckets`: how many there are now.
Batch restoring_writes(const Recovered& wanted, const std::vector<BucketId>& ids,
                       const Snapshot& now, std::size_t buckets);

}  // namespace hekla::store
