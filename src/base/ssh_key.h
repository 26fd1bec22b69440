// Key pairs for ssh.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla {

struct SshKeyPair {
  std::string private_pem;  // RSA-2048, PKCS#1
  std::string public_line;  // "ssh-rsa AAAA...\n"
};

// Takes some tens of milliseconds. Thread-safe.
Result<SshKeyPair> make_ssh_key();

}  // namespace hekla
