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

TEST(SshKey, OfACurveIsSec1WithItsPoint) {
  Result<SshKeyPair> keys = make_ecdsa_ssh_key();
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_TRUE(keys->private_pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
  const std::string type = "ecdsa-sha2-nistp521 ";
  ASSERT_TRUE(keys->public_line.starts_with(type));
  std::optional<std::string> wire = base64_decode(
      keys->public_line.substr(type.size(), keys->public_line.size() - type.size() - 1));
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->size(), 4u + 19 + 4 + 8 + 4 + 133);  // an uncompressed point of 521 bits
}

}  // namespace
}  // namespace hekla
