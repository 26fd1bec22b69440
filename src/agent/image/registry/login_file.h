// The logins that `hekla image login` keeps, in Docker's format, below the data directory.
#pragma once

#include <string>

#include "agent/image/registry/registry_auth.h"
#include "base/result.h"

namespace hekla::agent {

std::string login_file(const std::string& data_dir);
// Missing is empty.
Result<RegistryLogins> read_logins(const std::string& data_dir);
Result<void> add_login(const std::string& data_dir, const std::string& registry,
                       const RegistryLogin& login);
// False when there was none.
Result<bool> remove_login(const std::string& data_dir, const std::string& registry);

}  // namespace hekla::agent
