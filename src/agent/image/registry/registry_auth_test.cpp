#include "agent/image/registry/registry_auth.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(RegistryAuth, LoginsOfADockerConfigAreFound) {
  RegistryLogins logins;
  ASSERT_TRUE(logins.add(R"({"auths":{
      "https://index.docker.io/v1/":{"auth":"dTpw"},
      "r.example:5000":{"username":"a","password":"b"},
      "r.example:5000/team":{"username":"t","password":"c"},
      "*.gcr.example":{"username":"g","password":"d"}}})"));
  EXPECT_EQ(logins.find("docker.io", "library/x"), (RegistryLogin{"u", "p"}));
  EXPECT_EQ(logins.find("r.example:5000", "x"), (RegistryLogin{"a", "b"}));
  EXPECT_EQ(logins.find("r.example:5000", "team/x"), (RegistryLogin{"t", "c"}));
  EXPECT_EQ(logins.find("r.example:5000", "teamwork"), (RegistryLogin{"a", "b"}));
  EXPECT_EQ(logins.find("eu.gcr.example", "x"), (RegistryLogin{"g", "d"}));
  EXPECT_EQ(logins.find("a.b.gcr.example", "x"), std::nullopt);
  EXPECT_EQ(logins.find("other.example", "x"), std::nullopt);
}

TEST(RegistryAuth, TheOlderFormHasNoOuterMember) {
  RegistryLogins logins;
  ASSERT_TRUE(logins.add(R"({"r.example":{"auth":"dTpw"}})"));
  EXPECT_EQ(logins.find("r.example", "x"), (RegistryLogin{"u", "p"}));
  EXPECT_FALSE(logins.add("[]"));
}

TEST(RegistryAuth, ChallengesAreRead) {
  auto bearer = parse_challenge(
      R"(Bearer realm="https://auth.example/token",service="r",scope="repository:a/b:pull,push")");
  ASSERT_TRUE(bearer);
  EXPECT_EQ(bearer->scheme, "bearer");
  EXPECT_EQ(bearer->parameters["realm"], "https://auth.example/token");
  EXPECT_EQ(bearer->parameters["service"], "r");
  EXPECT_EQ(bearer->parameters["scope"], "repository:a/b:pull,push");
  EXPECT_EQ(parse_challenge("BASIC realm=x, charset=\"UTF-8\"")->parameters["charset"], "UTF-8");
  EXPECT_FALSE(parse_challenge("Negotiate"));
}

}  // namespace
}  // namespace hekla::agent
