// Logins at registries, and how they prove who one is. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::agent {

struct RegistryLogin {
  std::string user, password;
  bool operator==(const RegistryLogin&) const = default;
};

// The "auths" of ~/.docker/config.json and of kubernetes.io/dockerconfigjson secrets; the older
// kubernetes.io/dockercfg has the same without the outer member.
class RegistryLogins {
 public:
  // Adds to what is there; the first login for a place stays.
  Result<void> add(std::string_view docker_config);
  void add(const RegistryLogins& others);
  // The entry whose host matches (`*` stands for one label's characters) and whose path is the
  // longest beginning of the repository.
  std::optional<RegistryLogin> find(const std::string& registry,
                                    const std::string& repository) const;

 private:
  std::vector<std::pair<std::string, RegistryLogin>> logins_;  // host[/path] without scheme
};

// WWW-Authenticate, as far as registries use it.
struct AuthChallenge {
  std::string scheme;  // lower case: bearer or basic
  std::map<std::string, std::string> parameters;
};

std::optional<AuthChallenge> parse_challenge(std::string_view header);

}  // namespace hekla::agent
