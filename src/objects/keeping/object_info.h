// An object as the catalogue knows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace hekla::objects {

// Bytes that lie under their SHA-256; an object that was uploaded in parts has several.
struct Piece {
  std::string hash;  // hex
  std::uint64_t bytes = 0;
  bool operator==(const Piece&) const = default;
};

// An object's description: said when it was put, given back with it.
struct Metadata {
  std::map<std::string, std::string> headers;  // content-type, cache-control, ... in lower case
  std::map<std::string, std::string> user;     // x-amz-meta-NAME, without the prefix
  std::map<std::string, std::string> tags;
  std::map<std::string, std::string> checksums;  // x-amz-checksum-NAME to its value
  bool operator==(const Metadata&) const = default;
};

struct ObjectInfo {
  std::string key;
  std::string etag;  // hex digits, with -N for N parts; without quotes
  std::uint64_t bytes = 0;
  WallTime modified;  // milliseconds
  Metadata metadata;
  std::vector<Piece> pieces;
};

// 3 to 63 lower-case letters, digits, dots and hyphens, and no IP address.
bool is_bucket_name(std::string_view name);

std::string encode_metadata(const Metadata& metadata);
Result<Metadata> decode_metadata(const std::string& text);
std::string encode_pieces(const std::vector<Piece>& pieces);
Result<std::vector<Piece>> decode_pieces(const std::string& text);

}  // namespace hekla::objects
