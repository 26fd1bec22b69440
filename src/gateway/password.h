// Passwords as dex keeps them: bcrypt hashes. Verifying costs a fifth of a second of CPU, so it
// never happens on a net thread or a component's loop.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/rng.h"

namespace hekla::gateway {

// The account and the password that Kubeflow's manifests begin with.
inline constexpr std::string_view kDefaultEmail = "user@example.com";
inline constexpr std::string_view kDefaultPassword = "12341234";

// $2a$, $2b$ or $2y$, cost 4 to 16. Anything else crypt(3) would take for another method.
bool is_bcrypt(std::string_view hash);
// False for a hash that is none. Takes as long either way.
bool verify_password(std::string_view password, const std::string& hash);
// For an account that does not exist: as long as for one that does.
void verify_nothing(std::string_view password);
// Refuses what bcrypt would cut off: more than 72 bytes, or a zero byte.
Result<std::string> hash_password(std::string_view password, Rng& rng, int cost = 12);

}  // namespace hekla::gateway
