#include "controllers/cluster/certificate_signer.h"

#include "base/bytes.h"
#include "base/certificate.h"
#include "controllers/cluster/cluster_fixture_test.h"
#include "model/time.h"

namespace hekla::controllers {
namespace {

const kube::Resource kRequests{"certificates.k8s.io", "v1", "certificatesigningrequests",
                               "CertificateSigningRequest", false};
// CN=eve
constexpr const char* kRequest =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQkJEQ0Jxd0lCQURBY01Rd3dDZ1lEVlFRS0RBTmtaWF"
    "l4RERBS0Jn"
    "TlZCQU1NQTJWMlpUQlpNQk1HQnlxRwpTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCTnRLT1E2aHh3djRGNXNiZVpNQnpVQT"
    "RwU2cvOEJx"
    "bHBncVBsdnB5CmV6MUVVQldpRkdoUmJqUlhpeXRnMVhiV3BRUzRuNjVEVFNLeDhoblRWTW94MEdtZ0xUQXJCZ2txaGtpRz"
    "l3MEIKQ1E0"
    "eEhqQWNNQm9HQTFVZEVRUVRNQkdDRDJWMlpTNWxlR0Z0Y0d4bExtTnZiVEFLQmdncWhrak9QUVFEQWdOSQpBREJGQWlBd3"
    "M1Q3Nyd1BT"
    "M2xpcjJGb2RDaHV4cDBXNVRIYXFYQThMb3dYNWRHeDE2QUloQVBzQkdibFZWMXMwCnBtaGxobVZVeHhOcXM0WTNzZkc2cj"
    "FnTUFNdktR"
    "M0haCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

class CertificateSignerTest : public ClusterTest {
 protected:
  CertificateSignerTest() { signer_.start(); }

  void ask(const std::string& name, const std::string& usages, const std::string& more = {}) {
    create(kRequests, R"({"metadata":{"name":")" + name + R"("},"spec":{"request":")" + kRequest +
                          R"(","signerName":"kubernetes.io/kube-apiserver-client","usages":[)" +
                          usages + "]" + more + "}}");
  }
  void settle_as(const std::string& name, const std::string& type) {
    patch(kRequests, {"", name},
          R"({"status":{"conditions":[{"type":")" + type +
              R"(","status":"True","lastUpdateTime":")" +
              model::format_rfc3339(simulation_.clock().wall()) + R"("}]}})",
          "status");
  }
  std::string certificate(const std::string& name) {
    const std::string text = at(kRequests, {"", name}, {"status", "certificate"});
    return text.size() < 2 ? "" : base64_decode(text.substr(1, text.size() - 2)).value_or("");
  }

  KeyPair ca_ = make_ca("ca", simulation_.clock()).value();
  CertificateSigner signer_{client_, ca_};
};

TEST_F(CertificateSignerTest, IssuesWhatHasBeenApproved) {
  ask("eve", R"("client auth","digital signature")", R"(,"expirationSeconds":7200)");
  EXPECT_EQ(certificate("eve"), "");
  settle_as("eve", "Denied");
  EXPECT_EQ(certificate("eve"), "");
  ask("bob", R"("client auth")", R"(,"expirationSeconds":7200)");
  settle_as("bob", "Approved");
  ASSERT_NE(certificate("bob"), "");
  const Nanos left = *certificate_end(certificate("bob")) - simulation_.clock().wall();
  EXPECT_LE(left, std::chrono::hours(2));
  EXPECT_GT(left, std::chrono::minutes(119));
}

TEST_F(CertificateSignerTest, FailsWhatIsNotForClientsAndLeavesOtherSignersAlone) {
  ask("server", R"("server auth")");
  settle_as("server", "Approved");
  EXPECT_EQ(certificate("server"), "");
  EXPECT_NE(at(kRequests, {"", "server"}, {"status", "conditions"})
                .find("invalid usage for client certificate: server auth"),
            std::string::npos);
  create(kRequests, R"({"metadata":{"name":"x"},"spec":{"signerName":"example.com/s","request":")" +
                        std::string(kRequest) + R"(","usages":["client auth"]}})");
  settle_as("x", "Approved");
  EXPECT_EQ(certificate("x"), "");
}

TEST_F(CertificateSignerTest, RequestsGoWhenTheirTimeIsOver) {
  ask("pending", R"("client auth")");
  ask("issued", R"("client auth")");
  settle_as("issued", "Approved");
  advance(std::chrono::minutes(59));
  EXPECT_TRUE(has(kRequests, {"", "issued"}));
  advance(std::chrono::minutes(2));
  EXPECT_FALSE(has(kRequests, {"", "issued"}));
  EXPECT_TRUE(has(kRequests, {"", "pending"}));
  advance(std::chrono::hours(24));
  EXPECT_FALSE(has(kRequests, {"", "pending"}));
}

}  // namespace
}  // namespace hekla::controllers
