// The certificates of an embedded platform, made on first start and kept in the data directory.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/result.h"

namespace hekla {

struct Pki {
  KeyPair ca;
  KeyPair server;
  KeyPair admin;  // CN=kubernetes-admin, O=system:masters
  KeyPair front_proxy_ca;
  KeyPair front_proxy;    // CN=front-proxy-client, with which other API servers are asked
  std::string token_key;  // signs service-account tokens
  // Keys that signed before: whatever else is called service-account*.key or .pub. To rotate,
  // rename service-account.key to service-account-old.key and restart.
  std::vector<std::string> old_token_keys;
};

// Reads what is there and makes what is missing. The server certificate is made anew on each start,
// since the names and addresses it must have may have changed; clients trust the CA.
Result<Pki> load_or_make_pki(const std::string& data_dir, const std::vector<std::string>& names,
                             const Clock& clock);

}  // namespace hekla
