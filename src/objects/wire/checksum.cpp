#include "objects/wire/checksum.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "net/text.h"

namespace hekla::objects {
namespace {

struct Names {
  ChecksumKind kind;
  std::string_view name, header;
  std::size_t bytes;
};
constexpr std::array kNames = std::to_array<Names>({
    {ChecksumKind::crc32, "CRC32", "x-amz-checksum-crc32", 4},
    {ChecksumKind::crc32c, "CRC32C", "x-amz-checksum-crc32c", 4},
    {ChecksumKind::crc64nvme, "CRC64NVME", "x-amz-checksum-crc64nvme", 8},
    {ChecksumKind::sha1, "SHA1", "x-amz-checksum-sha1", 20},
    {ChecksumKind::sha256, "SHA256", "x-amz-checksum-sha256", 32},
});
const Names& names_of(ChecksumKind kind) { return *std::ranges::find(kNames, kind, &Names::kind); }

// Tables for eight bytes a step.
template <class Crc, Crc polynomial>
constexpr std::array<std::array<Crc, 256>, 8> make_tables() {
  std::array<std::array<Crc, 256>, 8> tables{};
  for (unsigned i = 0; i < 256; ++i) {
    Crc crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? polynomial : Crc{0});
    tables[0][i] = crc;
  }
  for (unsigned i = 0; i < 256; ++i)
    for (std::size_t t = 1; t < 8; ++t)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
  return tables;
}
constexpr auto kCrc32 = make_tables<std::uint32_t, 0xedb88320u>();
constexpr auto kCrc64 = make_tables<std::uint64_t, 0x9a6c9329ac4bc9b5ull>();

template <class Crc>
Crc update(const std::array<std::array<Crc, 256>, 8>& tables, std::string_view data, Crc seed) {
  Crc crc = ~seed;
  while (data.size() >= 8) {
    const std::uint64_t word = load_le<std::uint64_t>(data.data()) ^ crc;
    crc = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
      crc ^= tables[7 - byte][(word >> (8 * byte)) & 0xff];
    data.remove_prefix(8);
  }
  for (unsigned char c : data) crc = (crc >> 8) ^ tables[0][(crc ^ c) & 0xff];
  return ~crc;
}

std::string big_endian(std::uint64_t value, std::size_t bytes) {
  std::string raw(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i)
    raw[i] = static_cast<char>(value >> (8 * (bytes - 1 - i)) & 0xff);
  return raw;
}

}  // namespace

std::uint32_t crc32(std::string_view data, std::uint32_t seed) {
  return update<std::uint32_t>(kCrc32, data, seed);
}
std::uint64_t crc64nvme(std::string_view data, std::uint64_t seed) {
  return update<std::uint64_t>(kCrc64, data, seed);
}

std::optional<ChecksumKind> checksum_kind(std::string_view name) {
  for (const Names& names : kNames)
    if (net::equal_ignoring_case(names.name, name)) return names.kind;
  return std::nullopt;
}

std::string_view checksum_name(ChecksumKind kind) { return names_of(kind).name; }
std::string_view checksum_header(ChecksumKind kind) { return names_of(kind).header; }

std::optional<ChecksumKind> checksum_of_header(std::string_view header) {
  for (const Names& names : kNames)
    if (names.header == header) return names.kind;
  return std::nullopt;
}

bool is_checksum(ChecksumKind kind, std::string_view text) {
  std::optional<std::string> raw = base64_decode(text);
  return raw && raw->size() == names_of(kind).bytes;
}

Checksum::Checksum(ChecksumKind kind) : kind_(kind) {
  if (kind == ChecksumKind::sha1) digest_.emplace(Digest::Algorithm::sha1);
  if (kind == ChecksumKind::sha256) digest_.emplace(Digest::Algorithm::sha256);
}

void Checksum::add(std::string_view data) {
  switch (kind_) {
    case ChecksumKind::crc32:
      crc_ = crc32(data, static_cast<std::uint32_t>(crc_));
      return;
    case ChecksumKind::crc32c:
      crc_ = crc32c(data, static_cast<std::uint32_t>(crc_));
      return;
    case ChecksumKind::crc64nvme:
      crc_ = crc64nvme(data, crc_);
      return;
    case ChecksumKind::sha1:
    case ChecksumKind::sha256:
      digest_->add(data);
  }
}

std::string Checksum::finish() {
  return base64_encode(digest_ ? digest_->finish() : big_endian(crc_, names_of(kind_).bytes));
}

}  // namespace hekla::objects
