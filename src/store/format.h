// The bytes of docs/formats/store.md: headers, groups and records. Pure functions; nobody else in
// the store knows an offset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store/item.h"

namespace hekla::store {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kFileHeaderBytes = 40;
inline constexpr std::size_t kGroupHeaderBytes = 24;
inline constexpr std::size_t kRecordHeaderBytes = 31;

enum class FileKind : std::uint8_t { segment, snapshot };

struct FileHeader {
  std::uint64_t sequence = 0;
  Revision base = 0;
  std::uint64_t salt = 0;
};

std::string encode_header(FileKind kind, const FileHeader& header);
// An error when the file says that it is of a newer format version. `name` is for the message.
Result<void> check_version(FileKind kind, std::string_view file, const std::string& name);
Result<FileHeader> decode_header(FileKind kind, std::string_view file, const std::string& name);

// Differs between files, and between lives of a file of the same name.
std::uint64_t make_salt(const Clock& clock, std::uint64_t sequence);

// "segment-0000000007.log", and back; nullopt for every other name.
std::string file_name(FileKind kind, std::uint64_t sequence);
std::optional<std::uint64_t> sequence_of(FileKind kind, std::string_view name);
std::string temporary_name(std::uint64_t sequence);
bool is_temporary(std::string_view name);

struct Record {
  Revision revision = 0;
  Revision created = 0;
  std::uint32_t revision_at = Item::kNoRevision;
  Write::Op op = Write::Op::put;
  std::string_view bucket, key, value;
};

// A group under construction. Reused from commit to commit for its memory.
class GroupBuilder {
 public:
  GroupBuilder() { clear(); }
  void clear();
  void add(const Record& record);
  std::uint32_t count() const { return count_; }
  std::size_t bytes() const { return bytes_.size(); }

  // For taking back the records of a batch that failed half-way.
  struct Mark {
    std::size_t bytes;
    std::uint32_t count;
  };
  Mark mark() const { return {bytes_.size(), count_}; }
  void rewind(Mark mark);

  // The finished group for this place; valid until the next change.
  std::string_view seal(std::uint64_t salt, std::uint64_t offset, std::uint64_t first);

 private:
  std::string bytes_;
  std::uint32_t count_ = 0;
};

struct GroupView {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::string_view records;
  std::size_t bytes() const { return kGroupHeaderBytes + records.size(); }
};

// The group at `offset`, or nullopt when there is no whole and undamaged one.
std::optional<GroupView> read_group(std::string_view file, std::uint64_t offset,
                                    std::uint64_t salt);
// The offset of the first valid group at or after `from`.
std::optional<std::uint64_t> find_group(std::string_view file, std::uint64_t from,
                                        std::uint64_t salt);

// Takes one record off the front. False when the bytes are not a record.
bool take_record(std::string_view& records, Record& record);

// The bytes of a key in a snapshot.
std::uint64_t record_bytes(std::string_view bucket, std::string_view key, std::string_view value);

}  // namespace hekla::store
