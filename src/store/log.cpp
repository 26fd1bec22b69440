#include "store/log.h"

#include "base/check.h"
#include "base/log.h"

namespace hekla::store {

Result<void> Log::begin_segment(std::uint64_t sequence, Revision base) {
  CHECK(sequence > header_.sequence && base >= header_.base, "the log goes on, never back");
  if (usable()) {  // only the last segment may have zeros at its end
    TRY(file_->truncate(good_bytes_));
    zeros_end_ = good_bytes_;
    if (Result<void> synced = file_->sync(); !synced) return abandon(synced.error());
  }
  std::string name = file_name(FileKind::segment, sequence);
  FileHeader header{sequence, base, make_salt(clock_, sequence)};
  auto file = TRY(disk_.open_append(name));
  if (Result<void> written = write_header(*file, header); !written) {
    // The rest of the file, if any, has no group in it; recovery and the next attempt both expect
    // that.
    if (Result<void> removed = disk_.remove(name); !removed)
      log_warn("store", "a half-made segment stays behind", {{"error", removed.error().message}});
    return written;
  }
  header_ = header;
  file_ = std::move(file);
  good_bytes_ = zeros_end_ = kFileHeaderBytes;
  return {};
}

Result<void> Log::write_header(AppendFile& file, const FileHeader& header) {
  if (file.size() > 0) TRY(file.truncate(0));
  TRY(file.append(encode_header(FileKind::segment, header)));
  TRY(file.sync());
  return disk_.sync_directory();
}

Result<void> Log::resume_segment(const FileHeader& header, std::uint64_t size) {
  auto file = TRY(disk_.open_append(file_name(FileKind::segment, header.sequence)));
  CHECK(size <= file->size() && size >= kFileHeaderBytes);
  if (size < file->size()) TRY(file->truncate(size));
  // Bytes that recovery read may be only in the kernel's memory; nothing may build on them before
  // they are durable.
  TRY(file->sync());
  header_ = header;
  file_ = std::move(file);
  good_bytes_ = zeros_end_ = size;
  return {};
}

Result<void> Log::append(GroupBuilder& group, Revision first) {
  CHECK(usable() && group.count() > 0);
  CHECK(file_->size() == good_bytes_, "the segment has bytes that no commit wrote");
  std::string_view bytes = group.seal(header_.salt, good_bytes_, first);
  write_ahead(bytes.size());
  if (Result<void> written = file_->append(bytes); !written) {
    Result<void> cut = file_->truncate(good_bytes_);
    if (cut) cut = file_->sync();
    if (!cut) return abandon(cut.error());
    zeros_end_ = 0;
    return written;
  }
  if (Result<void> synced = file_->sync(); !synced) return abandon(synced.error());
  good_bytes_ += bytes.size();
  CHECK(file_->size() == good_bytes_, "the segment ends with the commit");
  return {};
}

void Log::write_ahead(std::uint64_t group_bytes) {
  const bool small = group_bytes <= write_ahead_bytes_ / 8;
  if (!small || zeros_end_ == 0 || good_bytes_ + group_bytes <= zeros_end_) return;
  // Where there is no room for them there may be for the group; the segment does without from then
  // on.
  zeros_end_ = file_->write_ahead(write_ahead_bytes_) ? good_bytes_ + write_ahead_bytes_ : 0;
}

std::unexpected<Error> Log::abandon(const Error& cause) {
  CHECK(usable(), "a segment is abandoned once");
  // If the process ends before the snapshot is written, the next one must not read pages that the
  // kernel holds but will never write again. Nothing better than trying is possible.
  if (Result<void> cut = file_->truncate(good_bytes_); !cut)
    log_warn("store", "cannot cut the abandoned segment", {{"error", cut.error().message}});
  file_ = nullptr;
  log_error(
      "store", "log segment abandoned; writes wait for a fresh snapshot",
      {{"segment", file_name(FileKind::segment, header_.sequence)}, {"error", cause.message}});
  return std::unexpected(cause);
}

}  // namespace hekla::store
