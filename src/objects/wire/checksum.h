// The additional checksums of S3, computed while the bytes pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"

namespace hekla::objects {

enum class ChecksumKind : std::uint8_t { crc32, crc32c, crc64nvme, sha1, sha256 };

// By the name in x-amz-checksum-algorithm ("CRC32C"), any case.
std::optional<ChecksumKind> checksum_kind(std::string_view name);
std::string_view checksum_name(ChecksumKind kind);    // "CRC32C"
std::string_view checksum_header(ChecksumKind kind);  // "x-amz-checksum-crc32c"
// The kind whose header this is, in lower case.
std::optional<ChecksumKind> checksum_of_header(std::string_view header);
// True for text that can be a checksum of that kind: base64 of the right length.
bool is_checksum(ChecksumKind kind, std::string_view text);

// One owner; finish() is called once.
class Checksum {
 public:
  explicit Checksum(ChecksumKind kind);
  void add(std::string_view data);
  std::string finish();  // base64
  ChecksumKind kind() const { return kind_; }

 private:
  ChecksumKind kind_;
  std::uint64_t crc_ = 0;
  std::optional<Digest> digest_;
};

// CRC-32 (IEEE), reflected, continuing from `seed`.
std::uint32_t crc32(std::string_view data, std::uint32_t seed = 0);
// CRC-64/NVME, reflected, continuing from `seed`.
std::uint64_t crc64nvme(std::string_view data, std::uint64_t seed = 0);

}  // namespace hekla::objects
