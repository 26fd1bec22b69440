#include "base/digest.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace hekla {
namespace {

std::string digest_of(Digest::Algorithm algorithm, std::string_view first,
                      std::string_view second) {
  Digest digest(algorithm);
  digest.add(first);
  digest.add(second);
  return digest.finish_hex();
}

TEST(Digest, KnownValuesInPieces) {
  EXPECT_EQ(digest_of(Digest::Algorithm::md5, "ab", "c"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest_of(Digest::Algorithm::sha1, "a", "bc"),
            "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(digest_of(Digest::Algorithm::sha256, "", "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// RFC 4231, case 2.
TEST(Digest, KeyedValue) {
  EXPECT_EQ(hex_encode(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, SecretsAreEqualByteByByte) {
  EXPECT_TRUE(equal_secrets("", ""));
  EXPECT_TRUE(equal_secrets("key", "key"));
  EXPECT_FALSE(equal_secrets("key", "kez"));
  EXPECT_FALSE(equal_secrets("key", "keys"));
}

}  // namespace
}  // namespace hekla
