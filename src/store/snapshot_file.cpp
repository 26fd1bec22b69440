#include "store/snapshot_file.h"

#include "base/check.h"
#include "base/log.h"

namespace hekla::store {
namespace {

constexpr std::size_t kPieceBytes = 1u << 20;

void remove_or_report(Disk& disk, const std::string& name) {
  if (Result<void> removed = disk.remove(name); !removed)
    log_warn("store", "cannot remove a superfluous file", {{"error", removed.error().message}});
}

}  // namespace

SnapshotEncoder::SnapshotEncoder(std::shared_ptr<const Snapshot::Version> version,
                                 std::vector<std::string> bucket_names, std::uint64_t sequence,
                                 std::uint64_t salt)
    : version_(std::move(version)),
      bucket_names_(std::move(bucket_names)),
      header_{sequence, version_->revision, salt} {
  CHECK(bucket_names_.size() >= version_->buckets.size());
}

std::string SnapshotEncoder::next() {
  if (ended_) return {};
  std::string piece;
  if (offset_ == 0) piece = encode_header(FileKind::snapshot, header_);
  fill_group();
  ended_ = group_.count() == 0;  // the group without records ends the file
  piece += group_.seal(header_.salt, offset_ + piece.size(), records_);
  records_ += group_.count();
  offset_ += piece.size();
  return piece;
}

void SnapshotEncoder::fill_group() {
  group_.clear();
  while (bucket_ < version_->buckets.size() && group_.bytes() < kPieceBytes) {
    bool more = false;
    version_->buckets[bucket_].scan(from_, [&](const ItemPtr& item) {
      if (group_.bytes() >= kPieceBytes) {
        from_ = item->key;
        more = true;
        return false;
      }
      CHECK(item->modified <= header_.base, "a snapshot shows nothing newer than itself");
      group_.add({item->modified, item->created, item->revision_at, Write::Op::put,
                  bucket_names_[bucket_], item->key, item->value});
      return true;
    });
    if (more) break;
    ++bucket_;
    from_.clear();
  }
}

Result<bool> SnapshotWriter::step() {
  auto write = [this]() -> Result<bool> {
    if (!file_) {
      file_ = TRY(disk_.open_append(temporary_name(encoder_.header().sequence)));
      if (file_->size() > 0) TRY(file_->truncate(0));
    }
    const std::string piece = encoder_.next();
    if (piece.empty()) {
      TRY(finish());
      return true;
    }
    TRY(file_->append(piece));
    return false;
  };
  Result<bool> done = write();
  if (!done) {
    file_ = nullptr;
    remove_or_report(disk_, temporary_name(encoder_.header().sequence));
  }
  return done;
}

Result<void> SnapshotWriter::finish() {
  const std::uint64_t sequence = encoder_.header().sequence;
  CHECK(file_, "a file that is finished was begun");
  TRY(file_->sync());
  TRY(disk_.rename(temporary_name(sequence), file_name(FileKind::snapshot, sequence)));
  return disk_.sync_directory();
}

void remove_superseded(Disk& disk, std::uint64_t sequence) {
  Result<std::vector<std::string>> names = disk.list();
  if (!names) return log_warn("store", "cannot list old files", {{"error", names.error().message}});
  for (const std::string& name : *names) {
    auto segment = sequence_of(FileKind::segment, name);
    auto snapshot = sequence_of(FileKind::snapshot, name);
    bool old = (segment && *segment < sequence) || (snapshot && *snapshot < sequence);
    if (old || is_temporary(name)) remove_or_report(disk, name);
  }
}

}  // namespace hekla::store
