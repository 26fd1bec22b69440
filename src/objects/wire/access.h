// Access keys, and the part of the store each one sees.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hekla::objects {

// Keys of one bucket below a prefix.
struct Grant {
  std::string bucket;
  std::string prefix;  // empty: the whole bucket
  bool write = true;
};

struct Credential {
  std::string access_key, secret;
  bool everything = false;  // buckets are made and removed by such a key only
  std::vector<Grant> grants = {};
};

// The credential of that access key. Called on net threads; must not block.
using CredentialSource = std::function<std::optional<Credential>(std::string_view access_key)>;

bool may_read(const Credential& who, std::string_view bucket, std::string_view key);
bool may_write(const Credential& who, std::string_view bucket, std::string_view key);
// Listing is allowed for a prefix within a grant; whether the bucket is there may be asked by
// whoever has a grant in it.
bool may_list(const Credential& who, std::string_view bucket, std::string_view prefix);
bool sees_bucket(const Credential& who, std::string_view bucket);

}  // namespace hekla::objects
