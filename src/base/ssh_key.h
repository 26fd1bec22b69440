// Key pairs for ssh.
#pragma once

#include <string>

#include "base/result.h"

namespace hekla {

struct SshKeyPair {
  std::string private_pem;
  std::string public_line;  // "ssh-rsa AAAA...\n"
};

// RSA-2048, PKCS#1. Takes some tens of milliseconds. Thread-safe.
Result<SshKeyPair> make_ssh_key();
// ECDSA on P-521, SEC 1. Takes a millisecond. Thread-safe.
Result<SshKeyPair> make_ecdsa_ssh_key();

}  // namespace hekla
