#include "apiserver/auth/auth.h"

#include <ctime>

#include "apiserver/server/server_fixture_test.h"
#include "base/bytes.h"
#include "base/crypto.h"

namespace hekla::apiserver {
namespace {

class AuthTest : public ServerFixture {};

TEST_F(AuthTest, WhoMayAsk) {
  Reply anonymous = call("GET", kPods, "", {{"Authorization", ""}});
  EXPECT_EQ(anonymous.status, 403);
  EXPECT_EQ(anonymous.message(),
            "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API "
            "group \"\" "
            "in the namespace \"default\"");
  EXPECT_EQ(call("GET", "/version", "", {{"Authorization", ""}}).status, 200);
  Reply wrong = call("GET", kPods, "", {{"Authorization", "Bearer nonsense"}});
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(wrong.message(), "Unauthorized");
  Reply other = call("GET", "/apis/apps/v1/deployments/x", "", {{"Impersonate-User", "jane"}});
  EXPECT_EQ(other.status, 403);
  EXPECT_EQ(other.message(),
            "deployments.apps \"x\" is forbidden: User \"jane\" cannot get resource "
            "\"deployments\" in API group \"apps\" at the cluster scope");
}

TEST_F(AuthTest, ReviewsAnswerWithoutStoring) {
  Reply who = call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}");
  EXPECT_EQ(who.status, 201);
  EXPECT_EQ(who.at({"status", "userInfo", "username"}), "kubernetes-admin");
  Reply may = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                   R"({"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}})");
  EXPECT_TRUE(json::bool_at(may.body, {"status", "allowed"}));
  Reply table = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                     R"({"spec":{"resourceAttributes":{"verb":"create","resource":"pods"}}})",
                     {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.status, 406);
}

class AccountTokenTest : public ServerFixture {
 protected:
  void make_account(const std::string& name) {
    ASSERT_EQ(call("POST", kAccounts, R"({"metadata":{"name":")" + name + "\"}}").status, 201);
  }
  Reply ask_token(const std::string& account, const std::string& spec) {
    return call("POST", std::string(kAccounts) + "/" + account + "/token",
                R"({"spec":)" + spec + "}");
  }
  // The server's answer to the bearer of the token.
  int status_with(const std::string& token) {
    return call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                {{"Authorization", "Bearer " + token}})
        .status;
  }
  static constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";
};

TEST_F(AccountTokenTest, QuestionsAreReadAsObjectsAre) {
  make_account("asked");
  const std::string path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const std::string about = R"("resourceAttributes":{"verb":"get","resource":"pods"})";
  Reply bare = call("POST", path, R"({"spec":{)" + about + "}}");
  EXPECT_EQ(bare.at({"kind"}), "SelfSubjectAccessReview");
  EXPECT_EQ(bare.at({"apiVersion"}), "authorization.k8s.io/v1");
  EXPECT_EQ(ask_token("asked", "{}").at({"kind"}), "TokenRequest");
  EXPECT_EQ(call("POST", path, R"({"kind":"Pod","apiVersion":"v1"})").status, 400);
  EXPECT_EQ(
      call("POST", path + "?fieldValidation=Strict", R"({"spec":{"x":1,)" + about + "}}").message(),
      "SelfSubjectAccessReview in version \"v1\" cannot be handled as a SelfSubjectAccessReview: "
      "strict decoding "
      "error: unknown field \"spec.x\"");
  Reply dropped = call("POST", path, R"({"spec":{"x":1,)" + about + "}}");
  EXPECT_EQ(dropped.status, 201);
  EXPECT_EQ(json::find_path(dropped.body, {"spec", "x"}), nullptr);
  EXPECT_EQ(call("POST", path, R"({"spec":{"resourceAttributes":"pods"}})").status, 400);
}

TEST_F(AccountTokenTest, BoundToTheirPodAndAccount) {
  make_account("a");
  ASSERT_EQ(call("POST", kPods, pod("p", R"(,"serviceAccountName":"a")")).status, 201);
  Reply bound = ask_token("a", R"({"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"}})");
  ASSERT_EQ(bound.status, 201) << bound.text;
  const std::string with_pod = bound.at({"status", "token"});
  const std::string free = ask_token("a", "{}").at({"status", "token"});
  Reply who = call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                   {{"Authorization", "Bearer " + with_pod}});
  EXPECT_EQ(who.at({"status", "userInfo", "username"}), "system:serviceaccount:default:a");
  EXPECT_NE(who.text.find(R"("authentication.kubernetes.io/pod-name":["p"])"), std::string::npos);
  call("DELETE", std::string(kPods) + "/p?gracePeriodSeconds=0");
  EXPECT_EQ(status_with(with_pod), 401);
  EXPECT_EQ(status_with(free), 201);
  call("DELETE", std::string(kAccounts) + "/a");
  EXPECT_EQ(status_with(free), 401);
  make_account("a");  // another account of the same name
  EXPECT_EQ(status_with(free), 401);
}

TEST_F(AccountTokenTest, FinalizersDoNotProlongThem) {
  make_account("a");
  const std::string held = R"({"metadata":{"finalizers":["example.com/held"]}})";
  const std::vector<std::pair<std::string, std::string>> merges{
      {"Content-Type", "application/merge-patch+json"}};
  ASSERT_EQ(call("POST", kPods, pod("p", R"(,"serviceAccountName":"a")")).status, 201);
  const std::string with_pod =
      ask_token("a", R"({"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"}})")
          .at({"status", "token"});
  const std::string free = ask_token("a", "{}").at({"status", "token"});
  ASSERT_EQ(call("PATCH", std::string(kPods) + "/p", held, merges).status, 200);
  ASSERT_EQ(call("PATCH", std::string(kAccounts) + "/a", held, merges).status, 200);
  call("DELETE", std::string(kPods) + "/p?gracePeriodSeconds=0");
  EXPECT_EQ(status_with(with_pod), 201) << "it may still tidy up";
  simulation.run_for(std::chrono::seconds(62));
  EXPECT_EQ(status_with(with_pod), 401);
  EXPECT_EQ(status_with(free), 201);
  call("DELETE", std::string(kAccounts) + "/a");
  simulation.run_for(std::chrono::seconds(62));
  EXPECT_EQ(status_with(free), 401);
  EXPECT_EQ(call("GET", std::string(kAccounts) + "/a").status, 200);
}

TEST_F(AccountTokenTest, ABrowsersWebSocketCarriesTheTokenAsAProtocol) {
  make_account("a");
  const std::string token = ask_token("a", "{}").at({"status", "token"});
  const auto ask = [&](const std::string& protocols) {
    return call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                {{"Authorization", ""},
                 {"Connection", "Upgrade"},
                 {"Upgrade", "websocket"},
                 {"Sec-WebSocket-Protocol", protocols}});
  };
  const std::string carried = "base64url.bearer.authorization.k8s.io." + base64url_encode(token);
  EXPECT_EQ(ask(carried + ", base64.binary.k8s.io").at({"status", "userInfo", "username"}),
            "system:serviceaccount:default:a");
  EXPECT_EQ(ask(carried).status, 401) << "nothing is left to speak";
  EXPECT_EQ(ask(carried + "," + carried + ",base64.binary.k8s.io").status, 401);
  EXPECT_EQ(ask("base64url.bearer.authorization.k8s.io.bm9uZQ,base64.binary.k8s.io").status, 401);
  EXPECT_EQ(ask("base64.binary.k8s.io").status, 403) << "anonymous";
}

TEST_F(AccountTokenTest, AnonymousRequestsCanBeForbidden) {
  const std::vector<std::pair<std::string, std::string>> nobody{{"Authorization", ""}};
  EXPECT_EQ(call("GET", "/version", "", nobody).status, 200);
  restart([](Options& options) { options.auth.anonymous = false; });
  EXPECT_EQ(call("GET", "/version", "", nobody).status, 401);
  EXPECT_EQ(call("GET", "/version").status, 200);
}

TEST_F(AccountTokenTest, RequestsAreChecked) {
  make_account("a");
  EXPECT_EQ(ask_token("nobody", "{}").status, 404);
  EXPECT_EQ(ask_token("a", R"({"expirationSeconds":10})").status, 422);
  EXPECT_EQ(ask_token("a", R"({"expirationSeconds":4294967297})").status, 422);
  EXPECT_EQ(ask_token("a", R"({"boundObjectRef":{"kind":"Pod","name":"none"}})").status, 404);
  EXPECT_EQ(ask_token("a", R"({"boundObjectRef":{"apiVersion":"v1","kind":"Service","name":"x"}})")
                .status,
            400);
  call("POST", kPods, pod("p"));
  EXPECT_EQ(ask_token("a", R"({"boundObjectRef":{"kind":"Pod","name":"p"}})").message(),
            "cannot bind token for serviceaccount \"a\" to pod running with different "
            "serviceaccount name.");
  EXPECT_EQ(ask_token("a", R"({"boundObjectRef":{"kind":"Pod","name":"p","uid":"other"}})").status,
            409);
}

TEST_F(AccountTokenTest, ReviewsKnowAudiences) {
  make_account("a");
  const std::string token = ask_token("a", R"({"audiences":["vault"]})").at({"status", "token"});
  EXPECT_EQ(status_with(token), 401);
  auto review = [&](const std::string& audiences) {
    return call("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                R"({"spec":{"token":")" + token + R"(","audiences":)" + audiences + "}}");
  };
  Reply good = review(R"(["vault","other"])");
  EXPECT_TRUE(json::bool_at(good.body, {"status", "authenticated"}));
  EXPECT_EQ(json::serialize(*json::find_path(good.body, {"status", "audiences"})), R"(["vault"])");
  std::string many = R"("vault")";
  for (int i = 0; i < 100'000; ++i) many += ",\"a" + std::to_string(i) + "\"";
  const std::clock_t begun = std::clock();  // one signature is verified, not one for each
  EXPECT_EQ(
      json::serialize(*json::find_path(review("[" + many + "]").body, {"status", "audiences"})),
      R"(["vault"])");
  EXPECT_LT(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC, 3);
  Reply bad = review(R"(["other"])");
  EXPECT_FALSE(json::bool_at(bad.body, {"status", "authenticated"}));
  EXPECT_EQ(bad.at({"status", "error"}), "invalid bearer token");
}

TEST_F(AccountTokenTest, SecretsThatAskGetALastingToken) {
  make_account("a");
  Reply made =
      call("POST", "/api/v1/namespaces/default/secrets",
           R"({"metadata":{"name":"s","annotations":{"kubernetes.io/service-account.name":"a"}},
                        "type":"kubernetes.io/service-account-token"})");
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string token = base64_decode(made.at({"data", "token"})).value_or("");
  EXPECT_EQ(base64_decode(made.at({"data", "ca.crt"})), "the root");
  EXPECT_EQ(base64_decode(made.at({"data", "namespace"})), "default");
  EXPECT_EQ(status_with(token), 201);
  call("DELETE", "/api/v1/namespaces/default/secrets/s");
  EXPECT_EQ(status_with(token), 401);
}

TEST_F(AccountTokenTest, PodsMountTheirTokenUnlessToldNotTo) {
  make_account("a");
  Reply mounted = call("POST", kPods, pod("p", R"(,"serviceAccountName":"a")"));
  const json::Array* volumes = json::array_at(mounted.body, {"spec", "volumes"});
  ASSERT_TRUE(volumes && volumes->size() == 1);
  const std::string name(json::string_at((*volumes)[0], {"name"}));
  EXPECT_TRUE(name.starts_with("kube-api-access-"));
  const json::Array* containers = json::array_at(mounted.body, {"spec", "containers"});
  EXPECT_EQ(
      json::serialize(*json::find((*containers)[0], "volumeMounts")),
      R"([{"name":")" + name +
          R"(","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}])");
  Reply without = call("POST", kPods, pod("q", R"(,"automountServiceAccountToken":false)"));
  EXPECT_FALSE(json::find_path(without.body, {"spec", "volumes"}));
  Reply absent = call("POST", kPods, pod("r", R"(,"serviceAccountName":"absent")"));
  EXPECT_EQ(absent.message(),
            "pods \"r\" is forbidden: error looking up service account default/absent: "
            "serviceaccount \"absent\" not found");
}

TEST_F(AccountTokenTest, KeysArePublished) {
  Reply config = call("GET", "/.well-known/openid-configuration");
  EXPECT_EQ(config.at({"issuer"}), "https://kubernetes.default.svc.cluster.local");
  Reply keys = call("GET", "/openid/v1/jwks");
  EXPECT_EQ(keys.headers.get("Content-Type"), "application/jwk-set+json");
  const json::Array* list = json::array_at(keys.body, {"keys"});
  ASSERT_TRUE(list && list->size() == 1);
  EXPECT_EQ(json::string_at((*list)[0], {"kid"}), *Es256Key::read(signing_key).value().id());
  EXPECT_EQ(base64url_decode(json::string_at((*list)[0], {"x"}))->size(), 32U);
}

TEST(TokensTest, GivenTokensAreKnownWhole) {
  sim::SimClock clock;
  sim::SeededRng rng(7);
  AuthOptions options;
  options.static_tokens = {{"abc", "jane", "u1", {"dev"}}};
  Tokens tokens(options, clock, rng);
  const StaticToken* found = tokens.static_token("abc");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user, "jane");
  for (const char* wrong : {"", "ab", "abd", "abcd"})
    EXPECT_FALSE(tokens.static_token(wrong)) << wrong;
}

TEST(TokensTest, TokensOfARotatedKeyStillVerify) {
  sim::SimClock clock;
  sim::SeededRng rng(7);
  AuthOptions before;
  before.signing_key_pem = *make_signing_key();
  Tokens old_tokens(before, clock, rng);
  TokenSubject subject;
  subject.ns = "ns";
  subject.name = "sa";
  subject.uid = "u";
  std::string token = *old_tokens.issue(subject, {}, 600);
  AuthOptions after;
  after.signing_key_pem = *make_signing_key();
  EXPECT_FALSE(Tokens(after, clock, rng).verify(token).has_value());
  after.verify_key_pems = {before.signing_key_pem};
  Tokens rotated(after, clock, rng);
  EXPECT_TRUE(rotated.verify(token).has_value());
  EXPECT_EQ(json::array_at(rotated.key_set(), {"keys"})->size(), 2U);
}

TEST(TokensTest, TokensAreSignedBoundAndExpire) {
  sim::SimClock clock;
  sim::SeededRng rng(7);
  AuthOptions options;
  options.signing_key_pem = *make_signing_key();
  Tokens tokens(options, clock, rng);
  Result<std::string> token = tokens.issue({"ns", "sa", "uid-1", "", "", "", "", ""}, {}, 600);
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
  Result<std::string> elsewhere =
      tokens.issue({"ns", "sa", "u", "", "", "", "", ""}, {"vault"}, 600);
  EXPECT_FALSE(tokens.verify(*elsewhere).has_value());
}

}  // namespace
}  // namespace hekla::apiserver
