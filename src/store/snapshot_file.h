// Writing a snapshot of one immutable Version, a piece at a time so that the loop that does it
// stays responsive, and removing what it makes superfluous. Reading one is recovery's business.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/result.h"
#include "store/format.h"
#include "store/tree.h"

namespace hekla::store {

// The bytes.
class SnapshotEncoder {
 public:
  // `sequence`: the first segment whose records the version does not contain. `bucket_names` by id.
  SnapshotEncoder(std::shared_ptr<const Snapshot::Version> version,
                  std::vector<std::string> bucket_names, std::uint64_t sequence,
                  std::uint64_t salt);
  // About a megabyte; empty when all has been given.
  std::string next();
  const FileHeader& header() const { return header_; }

 private:
  void fill_group();

  std::shared_ptr<const Snapshot::Version> version_;
  std::vector<std::string> bucket_names_;
  FileHeader header_;
  GroupBuilder group_;
  BucketId bucket_ = 0;  // where the next group goes on,
  std::string from_;     // and with which key
  std::uint64_t records_ = 0, offset_ = 0;
  bool ended_ = false;
};

// The file.
class SnapshotWriter {
 public:
  SnapshotWriter(Disk& disk, SnapshotEncoder encoder) : disk_(disk), encoder_(std::move(encoder)) {}

  // Writes about a megabyte. True once the snapshot is durable under its final name. After an error
  // the temporary file is gone and the writer is spent.
  Result<bool> step();

 private:
  Result<void> finish();

  Disk& disk_;
  SnapshotEncoder encoder_;
  std::unique_ptr<AppendFile> file_;
};

// Removes the segments and snapshots before `sequence`, and temporary files. What cannot be removed
// is reported and stays; recovery ignores it.
void remove_superseded(Disk& disk, std::uint64_t sequence);

}  // namespace hekla::store
