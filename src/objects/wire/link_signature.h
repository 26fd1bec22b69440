// Presigned links of AWS Signature Version 2: boto3 makes them unless it is told otherwise. Nothing
// else is taken with that version. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http.h"
#include "objects/wire/s3_error.h"

namespace hekla::objects {

struct LinkSignature {
  std::string access_key;
  std::string expires;  // seconds since 1970
  std::string value;    // base64
};

// The link's signature; absent when the request is none.
std::optional<LinkSignature> read_link_signature(const net::Request& request);

// `host_bucket` is the bucket that the host names, empty where the path does.
Outcome<void> verify_link(const net::Request& request, std::string_view host_bucket,
                          const LinkSignature& signature, std::string_view secret, WallTime now);

}  // namespace hekla::objects
