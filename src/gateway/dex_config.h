// Dex's configuration (ConfigMap dex of namespace auth, key config.yaml), which is where people of
// a Kubeflow keep their accounts.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::gateway {

inline constexpr const char* kAuthNamespace = "auth";
inline constexpr const char* kDexConfigMap = "dex";
inline constexpr const char* kDexConfigKey = "config.yaml";
inline constexpr const char* kDexPasswords = "dex-passwords";  // a Secret: values of hashFromEnv

struct DexUser {
  std::string email, username, user_id, hash;
  std::vector<std::string> groups;
};

struct DexConnector {
  std::string type, id, name;
  json::Value config;
};

struct DexConfig {
  std::vector<DexUser> users;
  std::vector<DexConnector> connectors;
  bool passwords = true;                              // enablePasswordDB
  std::vector<std::string> remarks;                   // what was read and is not obeyed
  const DexUser* find(std::string_view email) const;  // case does not count
};

// `environment` has what a hashFromEnv names; empty: nothing of that name.
using Environment = std::function<std::string(std::string_view)>;
Result<DexConfig> read_dex_config(std::string_view yaml, const Environment& environment);

// The configuration with which a platform begins: no users yet.
std::string first_dex_config();
// The text with one user more, or with this one's hash; and without one. Everything else stays,
// comments excepted.
Result<std::string> with_user(std::string_view yaml, const DexUser& user);
Result<std::string> without_user(std::string_view yaml, std::string_view email);

// A login name's form: an e-mail address, as RBAC and the headers of upstream know people.
Result<void> check_email(std::string_view email);

}  // namespace hekla::gateway
