#include <gtest/gtest.h>

#include "gateway/dex_config.h"
#include "gateway/password.h"

namespace hekla::gateway {
namespace {

TEST(Password, VerifiesBcryptAlone) {
  const std::string hash = *hash_password("12341234", real_rng(), 4);
  EXPECT_TRUE(hash.starts_with("$2y$04$"));
  EXPECT_TRUE(verify_password("12341234", hash));
  EXPECT_FALSE(verify_password("12341235", hash));
  EXPECT_FALSE(verify_password("", hash));
  EXPECT_FALSE(verify_password(std::string("12341234\0x", 10), hash));
  EXPECT_TRUE(is_bcrypt("$2a$10$" + std::string(53, 'a')));
  // crypt(3) would take these for a hash of another kind.
  for (const std::string& other :
       {std::string("garbage"), std::string(), "$2x$10$" + std::string(53, 'a'),
        "$2a$17$" + std::string(53, 'a'), "$2a$03$" + std::string(53, 'a'),
        "$2a$10$" + std::string(52, 'a') + "!", "$2a$10$" + std::string(54, 'a'),
        std::string("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b27AAAAAA")}) {
    EXPECT_FALSE(is_bcrypt(other)) << other;
    EXPECT_FALSE(verify_password("garbage", other)) << other;
  }
}

TEST(Password, RefusesWhatBcryptWouldCut) {
  EXPECT_FALSE(hash_password("", real_rng(), 4));
  EXPECT_FALSE(hash_password(std::string(73, 'a'), real_rng(), 4));
  EXPECT_TRUE(hash_password(std::string(72, 'a'), real_rng(), 4));
  EXPECT_FALSE(hash_password(std::string("a\0b", 3), real_rng(), 4));
}

constexpr const char* kConfig = R"(issuer: http://dex.auth.svc.cluster.local:5556/dex
enablePasswordDB: true
staticPasswords:
- email: user@example.com
  hashFromEnv: DEX_USER_PASSWORD
  username: user
  userID: "15841185641784"
- email: broken
- email: User@example.com
- email: ann@example.com
  hash: none
  groups: [ml]
connectors:
- type: ldap
- type: oidc
  id: corp
)";

TEST(DexConfig, IsReadAsDexReadsIt) {
  const Result<DexConfig> config =
      read_dex_config(kConfig, [](std::string_view name) -> std::string {
        return name == "DEX_USER_PASSWORD" ? "$2a$10$" + std::string(53, 'a') : "";
      });
  ASSERT_TRUE(config);
  ASSERT_EQ(config->users.size(), 2u);
  EXPECT_EQ(config->find("USER@example.com")->user_id, "15841185641784");
  EXPECT_TRUE(is_bcrypt(config->users[0].hash));
  EXPECT_EQ(config->find("ann@example.com")->groups, std::vector<std::string>{"ml"});
  EXPECT_EQ(config->remarks,
            (std::vector<std::string>{
                "staticPasswords[1]: email: \"broken\" is no e-mail address",
                "staticPasswords[2].email: User@example.com is there already",
                "staticPasswords[3].hash: no bcrypt hash; ann@example.com cannot log in",
                "connector type ldap is not supported", "connector type oidc is not supported"}));
  ASSERT_EQ(config->connectors.size(), 2u);
  EXPECT_EQ(config->connectors[1].id, "corp");
  EXPECT_FALSE(read_dex_config("[1]", [](std::string_view) { return std::string(); }));
  EXPECT_FALSE(read_dex_config("a: [", [](std::string_view) { return std::string(); }));
}

TEST(DexConfig, IsEditedWithoutLosingAnything) {
  const DexUser bob{"bob@example.com", "bob", "7", "$2a$10$" + std::string(53, 'b'), {"ml"}};
  auto none = [](std::string_view) { return std::string(); };
  const std::string added = *with_user(first_dex_config(), bob);
  EXPECT_TRUE(added.contains("skipApprovalScreen: true"));
  EXPECT_EQ(read_dex_config(added, none)->users.size(), 1u);
  DexUser changed = bob;
  changed.email = "BOB@example.com";
  changed.hash = "$2a$10$" + std::string(53, 'c');
  const std::string again = *with_user(added, changed);
  EXPECT_EQ(read_dex_config(again, none)->users.size(), 1u);
  EXPECT_EQ(read_dex_config(again, none)->users[0].hash, changed.hash);
  EXPECT_EQ(read_dex_config(*without_user(again, "bob@example.com"), none)->users.size(), 0u);
  EXPECT_EQ(without_user(again, "x@example.com").error().code, Code::not_found);
  EXPECT_FALSE(with_user(added, DexUser{"system:admin", "", "", "", {}}));
}

}  // namespace
}  // namespace hekla::gateway
