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

SnapshotWriter::SnapshotWriter(Disk& disk, std::shared_ptr<const Snapshot::Version> version,
                               std::vector<std::string> bucket_names, std::uint64_t sequence,
                               std::uint64_t salt)
    : disk_(disk),
      version_(std::move(version)),
      bucket_names_(std::move(bucket_names)),
      header_{sequence, version_->revision, salt} {
  CHECK(bucket_names_.size() >= version_->buckets.size());
}

Result<bool> SnapshotWriter::step() {
  auto piece = [this]() -> Result<bool> {
    if (!file_) TRY(begin());
    TRY(write_group());
    if (bucket_ < version_->buckets.size()) return false;
    TRY(finish());
    return true;
  };
  Result<bool> done = piece();
  if (!done) {
    file_ = nullptr;
    remove_or_report(disk_, temporary_name(header_.sequence));
  }
  return done;
}

Result<void> SnapshotWriter::begin() {
  file_ = TRY(disk_.open_append(temporary_name(header_.sequence)));
  if (file_->size() > 0) TRY(file_->truncate(0));
  return file_->append(encode_header(FileKind::snapshot, header_));
}

Result<void> SnapshotWriter::write_group() {
  group_.clear();
  while (bucket_ < version_->buckets.size() && group_.bytes() < kPieceBytes) {
    bool more = false;
    version_->buckets[bucket_].scan(from_, [&](const ItemPtr& item) {
      if (group_.bytes() >= kPieceBytes) {
        from_ = item->key;
        more = true;
        return false;
      }
      group_.add({item->modified, item->created, item->revision_at, Write::Op::put,
                  bucket_names_[bucket_], item->key, item->value});
      return true;
    });
    if (more) break;
    ++bucket_;
    from_.clear();
  }
  if (group_.count() == 0) return {};
  TRY(file_->append(group_.seal(header_.salt, file_->size(), records_)));
  records_ += group_.count();
  return {};
}

Result<void> SnapshotWriter::finish() {
  group_.clear();
  TRY(file_->append(group_.seal(header_.salt, file_->size(), records_)));
  TRY(file_->sync());
  TRY(disk_.rename(temporary_name(header_.sequence),
                   file_name(FileKind::snapshot, header_.sequence)));
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
