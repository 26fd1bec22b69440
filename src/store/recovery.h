// Rebuilding the state in memory from snapshot and log, and leaving the log ready for appending
// (docs/formats/store.md, "Reading at start").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/disk.h"
#include "base/result.h"
#include "store/history.h"
#include "store/item.h"
#include "store/log.h"
#include "store/tree.h"

namespace hekla::store {

struct Recovered {
  Snapshot::Version version;
  std::vector<std::string> bucket_names;  // by BucketId
  // The log's changes; complete from the revision of the snapshot on, or from where `limits` had it
  // cut. Items that are no longer live have no attachment.
  History history{{0, 0}, 0};
  std::uint64_t closed_bytes = 0;  // of the segments after the snapshot and before the current one
};

// The state in a snapshot file, wherever it was kept; `name` is for the message.
Result<Recovered> read_snapshot(const std::string& file, const std::string& name,
                                const Attacher& attacher);

// On success `log` has a current segment. Until then nothing on disk is changed. A log whose end is
// missing is an error: without any segment the state would be an older one. Only a caller that has
// never used the directory (`was_in_use` false) may find it empty.
Result<Recovered> recover(Disk& disk, Log& log, const Attacher& attacher, History::Limits limits,
                          bool was_in_use);

}  // namespace hekla::store
