#include "objects/wire/access.h"

#include <algorithm>

namespace hekla::objects {
namespace {

bool covers(const Grant& grant, std::string_view bucket, std::string_view key) {
  return grant.bucket == bucket && key.starts_with(grant.prefix);
}

}  // namespace

bool may_read(const Credential& who, std::string_view bucket, std::string_view key) {
  return who.everything || std::ranges::any_of(who.grants, [&](const Grant& grant) {
           return covers(grant, bucket, key);
         });
}

bool may_write(const Credential& who, std::string_view bucket, std::string_view key) {
  return who.everything || std::ranges::any_of(who.grants, [&](const Grant& grant) {
           return grant.write && covers(grant, bucket, key);
         });
}

bool may_list(const Credential& who, std::string_view bucket, std::string_view prefix) {
  return may_read(who, bucket, prefix);
}

bool sees_bucket(const Credential& who, std::string_view bucket) {
  return who.everything || std::ranges::any_of(who.grants, [&](const Grant& grant) {
           return grant.bucket == bucket;
         });
}

}  // namespace hekla::objects
