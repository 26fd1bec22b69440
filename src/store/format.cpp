#include "store/format.h"

#include <charconv>

#include "base/bytes.h"
#include "base/check.h"

namespace hekla::store {
namespace {

constexpr std::string_view kMarker = "GRUP";
constexpr std::size_t kNameDigits = 10;
constexpr std::string_view kTemporarySuffix = ".tmp";

constexpr std::uint8_t kPut = 1, kRemove = 2;

std::string_view magic_of(FileKind kind) {
  return kind == FileKind::segment ? "HEKLALOG" : "HEKLASNP";
}
std::string_view prefix_of(FileKind kind) {
  return kind == FileKind::segment ? "segment-" : "snapshot-";
}
std::string_view suffix_of(FileKind kind) { return kind == FileKind::segment ? ".log" : ".snap"; }

std::string padded(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < kNameDigits) digits.insert(0, kNameDigits - digits.size(), '0');
  return digits;
}

std::uint32_t group_checksum(std::uint64_t salt, std::uint64_t offset, std::string_view group) {
  std::string place;
  append_le(place, salt);
  append_le(place, offset);
  place.append(group.substr(4, 4));
  return crc32c(group.substr(12), crc32c(place));
}

void store_u32(std::string& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

std::string encode_header(FileKind kind, const FileHeader& header) {
  std::string bytes(magic_of(kind));
  append_le(bytes, kFormatVersion);
  append_le(bytes, header.sequence);
  append_le(bytes, header.base);
  append_le(bytes, header.salt);
  append_le(bytes, crc32c(bytes));
  CHECK(bytes.size() == kFileHeaderBytes);
  return bytes;
}

Result<void> check_version(FileKind kind, std::string_view file, const std::string& name) {
  if (file.size() < 12 || !file.starts_with(magic_of(kind))) return {};
  auto version = load_le<std::uint32_t>(file.data() + 8);
  if (version <= kFormatVersion) return {};
  return fail(Code::internal, name + ": written in format version " + std::to_string(version) +
                                  ", but this program reads only up to version " +
                                  std::to_string(kFormatVersion) + "; use a newer release");
}

Result<FileHeader> decode_header(FileKind kind, std::string_view file, const std::string& name) {
  TRY(check_version(kind, file, name));
  auto damaged = [&](std::string_view what) {
    return fail(Code::internal, name + ": damaged at offset 0: " + std::string(what));
  };
  if (file.size() < kFileHeaderBytes) return damaged("the file ends inside its header");
  if (!file.starts_with(magic_of(kind))) return damaged("not a file of the store");
  if (crc32c(file.substr(0, 36)) != load_le<std::uint32_t>(file.data() + 36))
    return damaged("the header's checksum does not match");
  return FileHeader{load_le<std::uint64_t>(file.data() + 12),
                    load_le<std::uint64_t>(file.data() + 20),
                    load_le<std::uint64_t>(file.data() + 28)};
}

std::uint64_t make_salt(const Clock& clock, std::uint64_t sequence) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  return static_cast<std::uint64_t>(clock.wall().time_since_epoch().count()) ^ sequence * kSpread;
}

std::string file_name(FileKind kind, std::uint64_t sequence) {
  CHECK(sequence > 0, "files are numbered from 1");
  return std::string(prefix_of(kind)) + padded(sequence) + std::string(suffix_of(kind));
}

std::optional<std::uint64_t> sequence_of(FileKind kind, std::string_view name) {
  std::string_view prefix = prefix_of(kind), suffix = suffix_of(kind);
  if (name.size() <= prefix.size() + suffix.size()) return std::nullopt;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t sequence = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (padded(sequence) != digits) return std::nullopt;
  return sequence;
}

std::string temporary_name(std::uint64_t sequence) {
  return std::string(prefix_of(FileKind::snapshot)) + padded(sequence) +
         std::string(kTemporarySuffix);
}

bool is_temporary(std::string_view name) {
  return name.starts_with(prefix_of(FileKind::snapshot)) && name.ends_with(kTemporarySuffix);
}

void GroupBuilder::clear() {
  bytes_.assign(kGroupHeaderBytes, '\0');
  count_ = 0;
}

void GroupBuilder::add(const Record& record) {
  CHECK(record.created <= record.revision, "a key is created before it changes");
  CHECK(record.bucket.size() <= 0xffff && record.key.size() <= 0xffffffff &&
            record.value.size() <= 0xffffffff,
        "a write beyond the format's limits passed the batch limit");
  append_le(bytes_, record.revision);
  append_le(bytes_, record.created);
  append_le(bytes_, record.revision_at);
  append_le(bytes_, record.op == Write::Op::put ? kPut : kRemove);
  append_le(bytes_, static_cast<std::uint16_t>(record.bucket.size()));
  append_le(bytes_, static_cast<std::uint32_t>(record.key.size()));
  append_le(bytes_, static_cast<std::uint32_t>(record.value.size()));
  bytes_.append(record.bucket).append(record.key).append(record.value);
  ++count_;
}

void GroupBuilder::rewind(Mark mark) {
  CHECK(mark.bytes <= bytes_.size() && mark.count <= count_, "a mark of this group");
  bytes_.resize(mark.bytes);
  count_ = mark.count;
}

std::string_view GroupBuilder::seal(std::uint64_t salt, std::uint64_t offset, std::uint64_t first) {
  std::size_t length = bytes_.size() - kGroupHeaderBytes;
  CHECK(length <= 0xffffffff, "a commit group outgrew its length field");
  bytes_.replace(0, kMarker.size(), kMarker);
  store_u32(bytes_, 4, static_cast<std::uint32_t>(length));
  std::memcpy(bytes_.data() + 12, &first, sizeof first);
  store_u32(bytes_, 20, count_);
  store_u32(bytes_, 8, group_checksum(salt, offset, bytes_));
  return bytes_;
}

std::optional<GroupView> read_group(std::string_view file, std::uint64_t offset,
                                    std::uint64_t salt) {
  if (offset > file.size() || file.size() - offset < kGroupHeaderBytes) return std::nullopt;
  std::string_view group = file.substr(offset);
  if (!group.starts_with(kMarker)) return std::nullopt;
  auto length = load_le<std::uint32_t>(group.data() + 4);
  if (length > group.size() - kGroupHeaderBytes) return std::nullopt;
  group = group.substr(0, kGroupHeaderBytes + length);
  if (load_le<std::uint32_t>(group.data() + 8) != group_checksum(salt, offset, group))
    return std::nullopt;
  return GroupView{load_le<std::uint64_t>(group.data() + 12),
                   load_le<std::uint32_t>(group.data() + 20), group.substr(kGroupHeaderBytes)};
}

std::optional<std::uint64_t> find_group(std::string_view file, std::uint64_t from,
                                        std::uint64_t salt) {
  for (std::size_t at = file.find(kMarker, from); at != std::string_view::npos;
       at = file.find(kMarker, at + 1))
    if (read_group(file, at, salt)) return at;
  return std::nullopt;
}

bool take_record(std::string_view& records, Record& record) {
  if (records.size() < kRecordHeaderBytes) return false;
  const char* at = records.data();
  record.revision = load_le<std::uint64_t>(at);
  record.created = load_le<std::uint64_t>(at + 8);
  record.revision_at = load_le<std::uint32_t>(at + 16);
  auto op = load_le<std::uint8_t>(at + 20);
  if (op != kPut && op != kRemove) return false;
  record.op = op == kPut ? Write::Op::put : Write::Op::remove;
  std::uint64_t bucket = load_le<std::uint16_t>(at + 21);
  std::uint64_t key = load_le<std::uint32_t>(at + 23);
  std::uint64_t value = load_le<std::uint32_t>(at + 27);
  records.remove_prefix(kRecordHeaderBytes);
  if (records.size() < bucket + key + value) return false;
  record.bucket = records.substr(0, bucket);
  record.key = records.substr(bucket, key);
  record.value = records.substr(bucket + key, value);
  records.remove_prefix(bucket + key + value);
  return true;
}

std::uint64_t record_bytes(std::string_view bucket, std::string_view key, std::string_view value) {
  return kRecordHeaderBytes + bucket.size() + key.size() + value.size();
}

}  // namespace hekla::store
