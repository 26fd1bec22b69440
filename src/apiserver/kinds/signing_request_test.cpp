#include "apiserver/server/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

// O=dev, O=system:masters, CN=eve
constexpr const char* kMasters =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdk1JR1hBZ0VBTURVeEREQUtCZ05WQkFvTUEyUmxkak"
    "VYTUJV"
    "R0ExVUVDZ3dPYzNsemRHVnRPbTFoYzNSbApjbk14RERBS0JnTlZCQU1NQTJWMlpUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1"
    "NNNDlB"
    "d0VIQTBJQUJMVm5FcTdoCnB2RDkvMzJ3cndDcEVCaGcrWmhjckZML0RYOGdEbnVsL05Yb2o0cGxBVGJOVFV5dG5Dek9Kaj"
    "VXRWEz"
    "b1BJYlEKOWFNWjJtWkpjTWYzS3dpZ0FEQUtCZ2dxaGtqT1BRUURBZ05IQURCRUFpQkYrZXVCRWxMdDhlQ1pXeHBaNGVuNA"
    "orT3kx"
    "Y2VSR3lyZnMzdUIrSEZkOGNnSWdBY3BNdndhbE4wS2FpbGtQb0ZuWGdMVnloTVlsc3JNRGxDWkhBK1crCjN2cz0KLS0tLS"
    "1FTkQg"
    "Q0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
// O=dev, CN=eve
constexpr const char* kDeveloper =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIV01INENBUUF3SERFTU1Bb0dBMVVFQ2d3RFpHVjJNUX"
    "d3Q2dZ"
    "RFZRUUREQU5sZG1Vd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBUWl5WUdYZi9DSHowRTMweG5NSEl2VU"
    "RURG1E"
    "eTQ5QTJ0aUF4aEc2YjU5CkYxaWZZeDR0cTFKeG4vbW9zS044U3g4SmxhNFRMZ3NpcThjUnF2NjJOclpab0FBd0NnWUlLb1"
    "pJemow"
    "RUF3SUQKU0FBd1JRSWdZdzBaWGdhdVhWVzNOeStiemNLeDd5U2VXRnFtbU1lMkpKTHQxNTl4UkFrQ0lRRDdic0ZDUEsrdQ"
    "pPQWhr"
    "eU44a0ptQmZyODF4VFFydWdkVTRLNXpnZEdOQk9RPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";

class SigningRequestTest : public ServerFixture {};

TEST_F(SigningRequestTest, TellsWhoAskedAndIsApprovedOnItsOwnPath) {
  Reply made = call(
      "POST", kRequests,
      R"({"metadata":{"name":"r"},"spec":{"request":")" + std::string(kDeveloper) +
          R"(","signerName":"example.com/s","usages":["digital signature"],"username":"somebody else"}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at({"spec", "username"}), "kubernetes-admin");

  json::Value changed = made.body;
  json::at_path(changed, {"spec", "signerName"}) = "example.com/other";
  json::at_path(changed, {"status"}) = *json::parse(
      R"({"conditions":[{"type":"Approved","status":"True","reason":"r","message":"m"}]})");
  Reply approved = call("PUT", std::string(kRequests) + "/r/approval", json::serialize(changed));
  ASSERT_EQ(approved.status, 200) << approved.text;
  EXPECT_EQ(approved.at({"spec", "signerName"}), "example.com/s");
  const json::Array* conditions = json::array_at(approved.body, {"status", "conditions"});
  ASSERT_TRUE(conditions && conditions->size() == 1);
  EXPECT_EQ(json::string_at(conditions->front(), {"type"}), "Approved");
  EXPECT_FALSE(json::string_at(conditions->front(), {"lastUpdateTime"}).empty());
  EXPECT_EQ(call("GET", std::string(kRequests) + "/r/approval").at({"metadata", "name"}), "r");
}

TEST_F(SigningRequestTest, StatusDoesNotApproveAndNothingTakesAnApprovalBack) {
  json::Value request =
      call("POST", kRequests,
           R"({"metadata":{"name":"r"},"spec":{"request":")" + std::string(kDeveloper) +
               R"(","signerName":"example.com/s","usages":["digital signature"]}})")
          .body;
  const auto put = [&](const std::string& subresource, const std::string& conditions) {
    json::at_path(request, {"metadata"}).get_object().erase("resourceVersion");
    json::at_path(request, {"status"}) = *json::parse(R"({"conditions":)" + conditions + "}");
    return call("PUT", std::string(kRequests) + "/r/" + subresource, json::serialize(request));
  };
  const std::string approved =
      R"([{"type":"Approved","status":"True","reason":"r","message":"m"}])";
  Reply refused = put("status", approved);
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(
      refused.message().find(
          "status.conditions: Forbidden: updates may not add a condition of type \"Approved\""),
      std::string::npos)
      << refused.message();
  EXPECT_EQ(
      put("status", R"([{"type":"Failed","status":"True","reason":"r","message":"m"}])").status,
      200);
  EXPECT_EQ(put("approval", approved).status, 422) << "the failure must stay";
  Reply both = put("approval", R"([{"type":"Failed","status":"True","reason":"r","message":"m"},
    {"type":"Approved","status":"True","reason":"r","message":"m"}])");
  EXPECT_EQ(both.status, 200) << both.text;
  EXPECT_NE(put("approval", "[]")
                .message()
                .find("updates may not remove a condition of type \"Approved\""),
            std::string::npos);
}

TEST_F(SigningRequestTest, NobodyAsksForMastersCertificates) {
  auto ask = [&](const std::string& name, const std::string& request) {
    return call(
        "POST", kRequests,
        R"({"metadata":{"name":")" + name + R"("},"spec":{"request":")" + request +
            R"(","signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}})");
  };
  Reply refused = ask("m", kMasters);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "certificatesigningrequests.certificates.k8s.io \"m\" is forbidden: use of "
            "kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
  EXPECT_EQ(ask("d", kDeveloper).status, 201);
  EXPECT_EQ(ask("x", "eA==").message(),
            "CertificateSigningRequest.certificates.k8s.io \"x\" is invalid: spec.request: Invalid "
            "value: \"eA==\": "
            "PEM block type must be CERTIFICATE REQUEST");
}

TEST_F(SigningRequestTest, WhatIsNoRequestIsRefused) {
  const auto ask = [&](const std::string& rest) {
    const std::string text = call("POST", kRequests,
                                  R"({"metadata":{"name":"r"},"spec":{"request":")" +
                                      std::string(kDeveloper) + "\"," + rest + "}}")
                                 .message();
    constexpr std::string_view kBefore =
        "CertificateSigningRequest.certificates.k8s.io \"r\" is invalid: ";
    return text.starts_with(kBefore) ? text.substr(kBefore.size()) : text;
  };
  const std::string usages = R"("usages":["client auth"],)";
  EXPECT_EQ(ask(usages + R"("signerName":"s")"),
            "spec.signerName: Invalid value: \"s\": must be a fully qualified domain and path of "
            "the form "
            "'example.com/signer-name'");
  EXPECT_EQ(ask(usages + R"("signerName":"local/s")"),
            "spec.signerName: Invalid value: \"local\": should be a domain with at least two "
            "segments separated "
            "by dots");
  EXPECT_TRUE(ask(usages + R"("signerName":"a.b/C")")
                  .starts_with("spec.signerName: Invalid value: \"C\": validating label \"C\": a "
                               "lowercase RFC 1123 subdomain"));
  EXPECT_EQ(ask(usages + R"("signerName":"kubernetes.io/legacy-unknown")"),
            "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy "
            "signerName is not allowed "
            "via this API version");
  EXPECT_EQ(ask(R"("usages":["signing","signing"],"signerName":"a.b/c")"),
            "spec.usages[1]: Duplicate value: \"signing\"");
  EXPECT_TRUE(ask(R"("usages":["spying"],"signerName":"a.b/c")")
                  .starts_with("spec.usages[0]: Unsupported value: \"spying\": supported values: "
                               "\"any\", \"cert sign\", "));
  EXPECT_EQ(ask(usages + R"("signerName":"a.b/c","expirationSeconds":599)"),
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 "
            "seconds "
            "(10 minutes)");
}

TEST_F(SigningRequestTest, ApprovalTakesARightOnTheSigner) {
  constexpr const char* kRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  json::Value request =
      call("POST", kRequests,
           R"({"metadata":{"name":"r"},"spec":{"request":")" + std::string(kDeveloper) +
               R"(","signerName":"example.com/s","usages":["digital signature"]}})")
          .body;
  json::at_path(request, {"metadata"}).get_object().erase("resourceVersion");
  json::at_path(request, {"status"}) = *json::parse(
      R"({"conditions":[{"type":"Approved","status":"True","reason":"r","message":"m"}]})");
  call("POST", kRoles,
       R"({"metadata":{"name":"approver"},"rules":[{"apiGroups":["certificates.k8s.io"],
      "resources":["certificatesigningrequests/approval","certificatesigningrequests/status"],"verbs":["update"]}]})");
  call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
       R"({"metadata":{"name":"approver"},
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"approver"},
      "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"jane"}]})");
  const auto put = [&](const std::string& subresource, const json::Value& body) {
    return call("PUT", std::string(kRequests) + "/r/" + subresource, json::serialize(body),
                {{"Authorization", "Bearer secret"}, {"Impersonate-User", "jane"}});
  };
  Reply refused = put("approval", request);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: user not permitted "
            "to approve requests "
            "with signerName \"example.com/s\"");
  json::Value failed = request;
  json::at_path(failed, {"status"}) = *json::parse(
      R"({"conditions":[{"type":"Failed","status":"True","reason":"r","message":"m"}]})");
  EXPECT_NE(put("status", failed).message().find("user not permitted to sign requests"),
            std::string::npos);
  patch(std::string(kRoles) + "/approver", R"({"rules":[{"apiGroups":["certificates.k8s.io"],
      "resources":["certificatesigningrequests/approval"],"verbs":["update"]},{"apiGroups":["certificates.k8s.io"],
      "resources":["signers"],"resourceNames":["example.com/*"],"verbs":["approve"]}]})");
  Reply approved = put("approval", request);
  EXPECT_EQ(approved.status, 200) << approved.text;
}

}  // namespace
}  // namespace hekla::apiserver
