#include "agent/network/policy_rules.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/os/process.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"
#include "json/codec.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

class PolicyRulesTest : public ::testing::Test {
 protected:
  PolicyRulesTest() {
    add_pod("default", "web", "10.0.0.1", {{"app", "web"}});
    add_pod("default", "client", "10.0.0.2", {{"app", "client"}});
    add_pod("other", "far", "10.0.0.3", {{"app", "client"}});
    pods_[0].spec.containers = {model::Container{}};
    pods_[0].spec.containers[0].ports = {
        {.name = "http", .protocol = "TCP", .containerPort = 8080}};
    namespaces_ = {{"default", {}}, {"other", {{"team", "b"}}}};
  }
  void add_pod(const std::string& ns, const std::string& name, const std::string& address,
               const model::Labels& labels) {
    model::Pod pod;
    pod.metadata.ns = ns;
    pod.metadata.name = name;
    pod.metadata.labels = labels;
    pods_.push_back(pod);
    addresses_.push_back(address);
  }
  std::string rules(const std::string& spec) {
    NetworkPolicy policy;
    policy.metadata.ns = "default";
    policy.metadata.uid = "u";
    policy.spec = json::decode_text<NetworkPolicySpec>(spec).value();
    PolicyInput input{{&policy}, namespaces_, {}, dns_address_, refused_};
    for (std::size_t i = 0; i < pods_.size(); ++i) input.pods.push_back({addresses_[i], &pods_[i]});
    std::string text = policy_rules(input);
    const std::string begin = "table inet hekla_policy\ndelete table inet hekla_policy\n";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(begin.size());
  }
  std::vector<model::Pod> pods_;
  std::vector<std::string> addresses_;
  std::map<std::string, model::Labels> namespaces_;
  std::string dns_address_;
  std::set<std::string> refused_;
};

TEST_F(PolicyRulesTest, NothingWithoutAPolicyForAnyPod) {
  EXPECT_EQ(rules(R"({"podSelector":{"matchLabels":{"app":"none"}},"policyTypes":["Ingress"]})"),
            "");
}

TEST_F(PolicyRulesTest, DenyAllIsolatesOneDirection) {
  EXPECT_EQ(rules(R"({"podSelector":{"matchLabels":{"app":"web"}},"policyTypes":["Ingress"]})"),
            "table inet hekla_policy {\n"
            "  chain ingress_10_0_0_1 {\n    drop\n  }\n"
            "  chain forward {\n    type filter hook forward priority filter; policy accept;\n"
            "    ct state established,related return\n"
            "    ip saddr 10.0.0.1 ip daddr 10.0.0.1 return\n"
            "    ip daddr vmap { 10.0.0.1 : jump ingress_10_0_0_1 }\n  }\n"
            "  chain input {\n    type filter hook input priority filter; policy accept;\n"
            "    ct state established,related return\n  }\n}\n");
}

TEST_F(PolicyRulesTest, PeersBySelectorsAndNamedPorts) {
  std::string text =
      rules(R"({"podSelector":{"matchLabels":{"app":"web"}},"policyTypes":["Ingress"],
      "ingress":[{"from":[{"podSelector":{"matchLabels":{"app":"client"}}}],
                  "ports":[{"port":"http"},{"port":90,"endPort":99},{"protocol":"UDP","port":53}]},
                 {"from":[{"namespaceSelector":{"matchLabels":{"team":"b"}}}]}]})");
  EXPECT_NE(text.find("    ip saddr { 10.0.0.2 } tcp dport { 8080, 90-99 } return\n"
                      "    ip saddr { 10.0.0.2 } udp dport { 53 } return\n"
                      "    ip saddr { 10.0.0.3 } return\n    drop\n"),
            std::string::npos)
      << text;
}

TEST_F(PolicyRulesTest, EgressWithBlocks) {
  std::string text =
      rules(R"({"podSelector":{"matchLabels":{"app":"client"}},"policyTypes":["Egress"],
      "egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]},
                {"to":[{"podSelector":{"matchLabels":{"app":"web"}}}],"ports":[{"port":"http"}]},
                {"ports":[{"protocol":"UDP","port":53}]}]})");
  EXPECT_NE(text.find("  chain egress_10_0_0_2 {\n"
                      "    ip daddr 10.0.0.0/8 ip daddr != 10.1.0.0/16 return\n"
                      "    ip daddr 10.0.0.1 tcp dport { 8080 } return\n"
                      "    udp dport { 53 } return\n    drop\n  }\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("  chain input {\n    type filter hook input priority filter; policy accept;\n"
                "    ct state established,related return\n"
                "    ip saddr vmap { 10.0.0.2 : jump egress_10_0_0_2 }\n"),
      std::string::npos)
      << text;
}

TEST_F(PolicyRulesTest, NamesAreAnsweredByThePodThatOtherClustersHave) {
  namespaces_["kube-system"] = {{"kubernetes.io/metadata.name", "kube-system"}};
  dns_address_ = "10.0.0.254";
  auto egress = [&](const std::string& to, const std::string& ports) {
    std::string text =
        rules(R"({"podSelector":{"matchLabels":{"app":"client"}},"policyTypes":["Egress"],)"
              R"("egress":[{"to":[)" +
              to + "]" + ports + "}]}");
    const std::string begin = "chain egress_10_0_0_2 {\n";
    text = text.substr(text.find(begin) + begin.size());
    return text.substr(0, text.find("  }\n"));
  };
  const std::string system =
      R"("namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}})";
  const std::string names = R"("podSelector":{"matchLabels":{"k8s-app":"kube-dns"}})";
  const std::string ports =
      R"(,"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":"dns-tcp"}])";
  const std::string tcp = "    ip daddr 10.0.0.254 tcp dport { 53 } return\n";
  const std::string udp = "    ip daddr 10.0.0.254 udp dport { 53 } return\n";
  EXPECT_EQ(egress("{" + system + "," + names + "}", ports), tcp + udp + "    drop\n");
  EXPECT_EQ(egress("{" + system + "}", R"(,"ports":[{"protocol":"UDP","port":53}])"),
            udp + "    drop\n");
  EXPECT_EQ(egress("{" + system + "}", R"(,"ports":[{"port":50,"endPort":60},{"protocol":"UDP"}])"),
            tcp + udp + "    drop\n");
  EXPECT_EQ(egress("{" + system + "}", R"(,"ports":[{"port":443},{"protocol":"SCTP"}])"),
            "    drop\n");
  // Without ports every port of that pod is meant, and it has this one only: not the API server's.
  EXPECT_EQ(egress("{" + system + "}", ""), tcp + udp + "    drop\n");
  EXPECT_EQ(egress("{" + names + "}", ""),
            "    drop\n");  // in the policy's own namespace there is none
}

TEST_F(PolicyRulesTest, ARefusedPolicyStillIsolates) {
  refused_ = {"u"};
  const std::string text =
      rules(R"({"podSelector":{"matchLabels":{"app":"web"}},"policyTypes":["Ingress"],
      "ingress":[{}]})");
  EXPECT_NE(text.find("  chain ingress_10_0_0_1 {\n    drop\n  }\n"), std::string::npos) << text;
}

// Every way in which the parts of a policy meet, read by the program that will have to.
TEST_F(PolicyRulesTest, NftTakesWhateverAPolicyMaySay) {
  if (::geteuid() != 0 || ::access("/usr/sbin/nft", X_OK) != 0)
    GTEST_SKIP() << "needs root and nft";
  namespaces_["kube-system"] = {{"kubernetes.io/metadata.name", "kube-system"}};
  dns_address_ = "10.0.0.254";
  const std::vector<std::string> peers = {
      "",
      R"("PEERS":[],)",
      R"("PEERS":[{"podSelector":{}}],)",
      R"("PEERS":[{"namespaceSelector":{}}],)",
      R"("PEERS":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}},
                   "podSelector":{"matchLabels":{"k8s-app":"kube-dns"}}}],)",
      R"("PEERS":[{"ipBlock":{"cidr":"0.0.0.0/0","except":["10.0.0.0/8","10.1.0.0/16","169.254.169.254/32"]}},
                  {"ipBlock":{"cidr":"::/0"}},{"ipBlock":{"cidr":"10.0.0.1/32"}},{"podSelector":{}}],)"};
  const std::vector<std::string> ports = {
      "",
      R"("ports":[])",
      R"("ports":[{"port":53,"protocol":"UDP"}])",
      R"("ports":[{"protocol":"SCTP"},{"port":80}])",
      R"("ports":[{"port":"http"},{"port":"dns","protocol":"UDP"},{"port":"none"}])",
      R"("ports":[{"port":80},{"port":70,"endPort":90},{"port":90,"endPort":90},{"port":1,"endPort":65535}])",
      R"("ports":[{"port":53,"protocol":"UDP"},{"port":53},{"port":5,"endPort":6,"protocol":"SCTP"},
                  {"protocol":"UDP"}])"};
  std::string all;
  for (const std::string& peer : peers)
    for (const std::string& port : ports) {
      auto rule = [&](const std::string& name) {
        std::string text = "[{" + peer + port;
        for (std::size_t at; (at = text.find("PEERS")) != std::string::npos;)
          text.replace(at, 5, name);
        if (text.ends_with(",")) text.pop_back();
        return text + "}]";
      };
      all += "table inet hekla_policy\ndelete table inet hekla_policy\n" +
             rules(R"({"podSelector":{},"policyTypes":["Ingress","Egress"],"ingress":)" +
                   rule("from") + R"(,"egress":)" + rule("to") + "}");
    }
  TempDir dir;
  ASSERT_TRUE(write_file_atomically(dir.path() + "/rules", all, 0600));
  // -c changes nothing, and the network namespace is one nobody has.
  Result<std::string> taken = run_checked(
      {"/usr/bin/unshare", "--net", "/usr/sbin/nft", "-c", "-f", dir.path() + "/rules"});
  EXPECT_TRUE(taken) << taken.error().message;
}

TEST_F(PolicyRulesTest, BlocksThatAreNotIPv4AdmitNothing) {
  const std::string head =
      R"({"podSelector":{"matchLabels":{"app":"client"}},"policyTypes":["Egress"],
      "egress":[{"to":[{"ipBlock":{"cidr":)";
  const std::string tail =
      R"(}},{"ipBlock":{"cidr":"10.0.0.0/8"}}],"ports":[{"port":90,"endPort":70000}]}]})";
  for (
      const char* block :
      {R"("::/0")", R"("x")", R"("10.0.0.0/33")", R"("10.0.0.0/8 return\n}")",
       R"("10.0.0.0\u0000}/8")", R"("10.0.0.0/8","except":["::1/128"])",
       R"("10.0.0.0/8","except":["10.0.0.1 } return\n }\n chain x { type nat hook prerouting"])"}) {
    std::string text = rules(head + block + tail);
    EXPECT_NE(text.find("  chain egress_10_0_0_2 {\n"
                        "    ip daddr 10.0.0.0/8 tcp dport { 90-65535 } return\n    drop\n  }\n"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace hekla::agent
