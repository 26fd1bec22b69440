#include "apiserver/auth.h"

#include "apiserver/server_fixture_test.h"
#include "base/crypto.h"

namespace hekla::apiserver {
namespace {

class AuthTest : public ServerFixture {};

TEST_F(AuthTest, WhoMayAsk) {
  Reply anonymous = call("GET", kPods, "", {{"Authorization", ""}});
  EXPECT_EQ(anonymous.status, 403);
  EXPECT_EQ(anonymous.message(),
            "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" "
            "in the namespace \"default\"");
  EXPECT_EQ(call("GET", "/version", "", {{"Authorization", ""}}).status, 200);
  Reply wrong = call("GET", kPods, "", {{"Authorization", "Bearer nonsense"}});
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(wrong.message(), "Unauthorized");
  Reply other = call("GET", "/apis/apps/v1/deployments/x", "", {{"Impersonate-User", "jane"}});
  EXPECT_EQ(other.status, 403);
  EXPECT_EQ(other.message(), "deployments.apps \"x\" is forbidden: User \"jane\" cannot get resource "
                             "\"deployments\" in API group \"apps\" at the cluster scope");
}

TEST_F(AuthTest, ReviewsAnswerWithoutStoring) {
  Reply who = call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}");
  EXPECT_EQ(who.status, 201);
  EXPECT_EQ(who.at({"status", "userInfo", "username"}), "kubernetes-admin");
  Reply may = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                   R"({"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}})");
  EXPECT_TRUE(json::bool_at(may.body, {"status", "allowed"}));
}

TEST(TokensTest, TokensAreSignedBoundAndExpire) {
  sim::SimClock clock;
  sim::SeededRng rng(7);
  AuthOptions options;
  options.signing_key_pem = *make_signing_key();
  Tokens tokens(options, clock, rng);
  Result<std::string> token = tokens.issue({"ns", "sa", "uid-1", "", ""}, {}, 600);
  ASSERT_TRUE(token.has_value());
  Result<TokenSubject> subject = tokens.verify(*token);
  ASSERT_TRUE(subject.has_value());
  EXPECT_EQ(subject->ns, "ns");
  EXPECT_EQ(subject->name, "sa");
  EXPECT_EQ(subject->uid, "uid-1");
  EXPECT_FALSE(tokens.verify(token->substr(0, token->size() - 4) + "AAAA").has_value());
  EXPECT_FALSE(tokens.verify("a.b.c").has_value());
  clock.advance(std::chrono::seconds(601));
  EXPECT_EQ(tokens.verify(*token).error().code, Code::unauthorized);
  Result<std::string> elsewhere = tokens.issue({"ns", "sa", "u", "", ""}, {"vault"}, 600);
  EXPECT_FALSE(tokens.verify(*elsewhere).has_value());
}

}  // namespace
}  // namespace hekla::apiserver
