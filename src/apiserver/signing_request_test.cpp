#include "apiserver/server_fixture_test.h"

namespace hekla::apiserver {
namespace {

constexpr const char* kRequests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

class SigningRequestTest : public ServerFixture {};

TEST_F(SigningRequestTest, TellsWhoAskedAndIsApprovedOnItsOwnPath) {
  Reply made = call("POST", kRequests, R"({"metadata":{"name":"r"},"spec":{"request":"eA==",
    "signerName":"example.com/s","usages":["digital signature"],"username":"somebody else"}})");
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

}  // namespace
}  // namespace hekla::apiserver
