#include "base/ssh_key.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace hekla {
namespace {

TEST(SshKey, IsPkcs1WithAPublicLineOfTheSameModulus) {
  Result<SshKeyPair> keys = make_ssh_key();
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_TRUE(keys->private_pem.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  EXPECT_TRUE(keys->private_pem.ends_with("-----END RSA PRIVATE KEY-----\n"));
  ASSERT_TRUE(keys->public_line.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"));
  std::string text = keys->public_line.substr(8, keys->public_line.size() - 9);
  std::optional<std::string> wire = base64_decode(text);
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->size(), 4u + 7 + 4 + 3 + 4 + 257);  // 2048 bits and the sign
}

}  // namespace
}  // namespace hekla
