// AWS Signature Version 4, as S3 uses it: in the Authorization header, in the query (presigned
// links) and chunk by chunk. Pure: a request and the time in, who signed it out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http.h"
#include "objects/wire/s3_error.h"

namespace hekla::objects {

// The signed statement of a request: whose key, when, over which headers.
struct Signature {
  std::string access_key;
  std::string date;    // 20130524
  std::string region;  // any will do
  std::string time;    // 20130524T000000Z
  std::string signed_headers;
  std::string value;         // hex
  std::string payload_hash;  // as the client stated it: hex digits, UNSIGNED-PAYLOAD, STREAMING-...
  bool presigned = false;
};

// The key that verifies the pieces of a signed stream.
struct SigningKey {
  std::string key;    // raw
  std::string time;   // 20130524T000000Z
  std::string scope;  // 20130524/us-east-1/s3/aws4_request
  std::string seed;   // the signature before the first piece
};

// The request's signature; absent when it is not signed at all.
Outcome<std::optional<Signature>> read_signature(const net::Request& request);

// Verifies with the secret of the key that the signature names.
Outcome<SigningKey> verify(const net::Request& request, const Signature& signature,
                           std::string_view secret, WallTime now);

// The signature of one piece of a signed stream, and of its trailer.
std::string chunk_signature(const SigningKey& key, std::string_view previous,
                            std::string_view chunk_sha256_hex);
std::string trailer_signature(const SigningKey& key, std::string_view previous,
                              std::string_view trailer_sha256_hex);

// Signs a request of ours (tests, and calls to other stores): adds Authorization, x-amz-date and
// x-amz-content-sha256. `host` is the Host header as it will be sent.
struct SigningRequest {
  std::string method, target, host, payload_hash;
  net::Headers headers;
};
net::Headers sign(const SigningRequest& request, std::string_view access_key,
                  std::string_view secret, std::string_view region, WallTime now);

// "20130524T000000Z" of a time, and back.
std::string amz_time(WallTime at);
std::optional<WallTime> parse_amz_time(std::string_view text);

}  // namespace hekla::objects
