// The append-only log: one current segment, one group and one sync per commit, and the rules for
// what happens when the disk does not cooperate (docs/formats/store.md, "Writing"). Used by the
// committer alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/disk.h"
#include "base/result.h"
#include "store/format.h"

namespace hekla::store {

class Log {
 public:
  Log(Disk& disk, const Clock& clock, std::uint64_t write_ahead_bytes)
      : disk_(disk), clock_(clock), write_ahead_bytes_(write_ahead_bytes) {}

  // Begins segment `sequence`; from then on it is the current one. After a failure the log is as
  // before, or its segment is abandoned.
  Result<void> begin_segment(std::uint64_t sequence, Revision base);
  // Continues a segment found at start, cutting it to `size`, its valid part.
  Result<void> resume_segment(const FileHeader& header, std::uint64_t size);

  // Makes a group durable. After an error nothing of it is in the log, or the segment is abandoned.
  Result<void> append(GroupBuilder& group, Revision first);

  // False after a segment was abandoned, until begin_segment() succeeds.
  bool usable() const { return file_ != nullptr; }
  // Of the current segment, or of the one abandoned.
  std::uint64_t sequence() const { return header_.sequence; }
  std::uint64_t segment_bytes() const { return good_bytes_; }

 private:
  Result<void> write_header(AppendFile& file, const FileHeader& header);
  void write_ahead(std::uint64_t group_bytes);
  std::unexpected<Error> abandon(const Error& cause);

  Disk& disk_;
  const Clock& clock_;
  std::uint64_t write_ahead_bytes_;
  FileHeader header_;
  std::unique_ptr<AppendFile> file_;
  std::uint64_t good_bytes_ = 0;
  std::uint64_t zeros_end_ = 0;  // zeros were written up to here; 0: they are not to be
};

}  // namespace hekla::store
