// The bytes of objects. What is small lies in the catalogue's database, the rest in files named by
// their SHA-256 below `content/`; equal bytes are kept once. docs/formats/objects.md has the
// layout.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "objects/keeping/object_info.h"
#include "objects/wire/checksum.h"
#include "records/database.h"

namespace hekla::objects {

// Up to here bytes live in the database: one sync for all that come at the same time, where a file
// needs three of its own.
inline constexpr std::size_t kInlineBytes = 32 * 1024;

// Bytes on their way in: kept in memory while they are few, then in a file without a name yet.
// Belongs to one thread at a time.
class Spool {
 public:
  explicit Spool(std::string directory) : directory_(std::move(directory)) {}
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Also computes this checksum.
  void compute(ChecksumKind kind);
  Result<void> add(std::string_view data);
  // Takes a file over, instead of what add() would bring, and finishes. Blocks: it is read.
  Result<void> adopt(const std::string& path);
  // No more comes. Blocks: what is in a file is on the disk afterwards.
  Result<void> sync();
  // Digests of all that came; once, after the last add().
  void finish();

  std::uint64_t bytes() const { return bytes_; }
  const std::string& sha256_hex() const { return sha256_hex_; }
  const std::string& md5() const { return md5_raw_; }  // 16 raw bytes
  // The value of that checksum, if it was computed.
  std::optional<std::string> checksum(ChecksumKind kind) const;
  Piece piece() const { return {sha256_hex_, bytes_}; }

 private:
  friend class Content;
  Result<void> open();

  std::string directory_;
  std::string memory_;
  std::string path_;  // empty while in memory
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  Digest sha256_, md5_{Digest::Algorithm::md5};
  std::vector<Checksum> checksums_;
  std::vector<std::pair<ChecksumKind, std::string>> values_;
  std::string sha256_hex_, md5_raw_;
};

// Content that can be read whatever is deleted meanwhile: bytes, or an open file.
class Held {
 public:
  explicit Held(std::string bytes) : bytes_(std::move(bytes)) {}
  explicit Held(int file) : file_(file) {}
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  // At most `size` bytes from `offset`; appended to `out`. Fewer are an error.
  Result<void> read(std::uint64_t offset, std::size_t size, std::string& out) const;
  // A descriptor of the file, the caller's own; -1 where there is none.
  int duplicate() const;

 private:
  std::string bytes_;
  int file_ = -1;
};

// Functions with a Database run in the catalogue's jobs, so one at a time.
class Content {
 public:
  // Makes the directories and removes what an earlier process left half written. Blocks.
  static Result<std::unique_ptr<Content>> open(const std::string& root);

  std::unique_ptr<Spool> spool() const { return std::make_unique<Spool>(incoming()); }
  // Where bytes lie that are no object's yet, and a name there that nobody has.
  std::string incoming() const { return root_ + "/incoming"; }
  std::string incoming_path() const;
  // Takes one more reference on the spool's bytes, which are kept if they are not here yet. The
  // spool has been synced.
  Result<void> keep(records::Database& database, Spool& spool) const;
  // One more reference on bytes that are here.
  Result<void> share(records::Database& database, const Piece& piece) const;
  // Gives a reference back. Bytes that nobody refers to go with the next sweep.
  Result<void> release(records::Database& database, const Piece& piece) const;
  Result<std::shared_ptr<const Held>> hold(records::Database& database, const Piece& piece) const;

  static constexpr std::size_t kForgotten = 1000;
  // Forgets what nobody refers to, at most kForgotten files; the answer are the files to be removed
  // once that is durable, by drop(), which leaves alone what has come back meanwhile.
  Result<std::vector<std::string>> forget(records::Database& database) const;
  Result<void> drop(records::Database& database, const std::vector<std::string>& hashes) const;
  // Removes files that the database does not know: a crash came between the two.
  Result<void> remove_strays(records::Database& database) const;

  // The file of a piece; empty when its bytes lie in the database.
  std::string path(const Piece& piece) const;

 private:
  explicit Content(std::string root) : root_(std::move(root)) {}
  std::string root_;
};

}  // namespace hekla::objects
