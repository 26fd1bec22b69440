// Conditions and ranges of a request, as RFC 9110 and S3 have them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "net/http.h"
#include "objects/keeping/object_info.h"
#include "objects/wire/s3_error.h"

namespace hekla::objects {

// If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since of a read; `prefix` is put before
// their names ("x-amz-copy-source-"), and then a condition that does not hold is never 304.
Outcome<void> check_read(const net::Headers& headers, const ObjectInfo& object,
                         std::string_view prefix = "");
// If-Match and If-None-Match of a write; null: there is no object yet.
Outcome<void> check_write(const net::Headers& headers, const ObjectInfo* object);

struct ByteRange {
  std::uint64_t first = 0, bytes = 0;
};
// The range of a Range header (or x-amz-copy-source-range); nothing when the whole is meant, as it
// is for several ranges and for units that are not known.
Outcome<std::optional<ByteRange>> read_range(std::string_view text, std::uint64_t size);

}  // namespace hekla::objects
