#include "agent/network/policy_rules.h"

#include <gtest/gtest.h>

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
    pods_[0].spec.containers[0].ports = {{.name = "http", .protocol = "TCP", .containerPort = 8080}};
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
    policy.spec = json::decode_text<NetworkPolicySpec>(spec).value();
    PolicyInput input{{&policy}, namespaces_, {}, dns_address_};
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
};

TEST_F(PolicyRulesTest, NothingWithoutAPolicyForAnyPod) {
  EXPECT_EQ(rules(R"({"podSelector":{"matchLabels":{"app":"none"}},"policyTypes":["Ingress"]})"), "");
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
  std::string text = rules(R"({"podSelector":{"matchLabels":{"app":"web"}},"policyTypes":["Ingress"],
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
  std::string text = rules(R"({"podSelector":{"matchLabels":{"app":"client"}},"policyTypes":["Egress"],
      "egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]},
                {"to":[{"podSelector":{"matchLabels":{"app":"web"}}}],"ports":[{"port":"http"}]},
                {"ports":[{"protocol":"UDP","port":53}]}]})");
  EXPECT_NE(text.find("  chain egress_10_0_0_2 {\n"
                      "    ip daddr 10.0.0.0/8 ip daddr != { 10.1.0.0/16 } return\n"
                      "    ip daddr 10.0.0.1 tcp dport { 8080 } return\n"
                      "    udp dport { 53 } return\n    drop\n  }\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  chain input {\n    type filter hook input priority filter; policy accept;\n"
                      "    ct state established,related return\n"
                      "    ip saddr vmap { 10.0.0.2 : jump egress_10_0_0_2 }\n"),
            std::string::npos)
      << text;
}

TEST_F(PolicyRulesTest, NamesAreAnsweredByThePodThatOtherClustersHave) {
  namespaces_["kube-system"] = {{"kubernetes.io/metadata.name", "kube-system"}};
  dns_address_ = "10.0.0.254";
  auto egress = [&](const std::string& to, const std::string& ports) {
    std::string text = rules(R"({"podSelector":{"matchLabels":{"app":"client"}},"policyTypes":["Egress"],)"
                             R"("egress":[{"to":[)" + to + "]" + ports + "}]}");
    const std::string begin = "chain egress_10_0_0_2 {\n";
    text = text.substr(text.find(begin) + begin.size());
    return text.substr(0, text.find("  }\n"));
  };
  const std::string system = R"("namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}})";
  const std::string names = R"("podSelector":{"matchLabels":{"k8s-app":"kube-dns"}})";
  const std::string ports = R"(,"ports":[{"protocol":"UDP","port":53},{"protocol":"TCP","port":"dns-tcp"}])";
  const std::string begin = "    ip daddr 10.0.0.254 meta l4proto { tcp, udp } th dport 53 ";
  EXPECT_EQ(egress("{" + system + "," + names + "}", ports),
            begin + "tcp dport { 53 } return\n" + begin + "udp dport { 53 } return\n    drop\n");
  // Without ports every port of that pod is meant, and it has this one only: not the API server's.
  EXPECT_EQ(egress("{" + system + "}", ""), begin + "return\n    drop\n");
  EXPECT_EQ(egress("{" + names + "}", ""), "    drop\n");  // in the policy's own namespace there is none
}

TEST_F(PolicyRulesTest, BlocksThatAreNotIPv4AdmitNothing) {
  const std::string head = R"({"podSelector":{"matchLabels":{"app":"client"}},"policyTypes":["Egress"],
      "egress":[{"to":[{"ipBlock":{"cidr":)";
  const std::string tail = R"(}},{"ipBlock":{"cidr":"10.0.0.0/8"}}],"ports":[{"port":90,"endPort":70000}]}]})";
  for (const char* block :
       {R"("::/0")", R"("x")", R"("10.0.0.0/33")", R"("10.0.0.0/8 return\n}")", R"("10.0.0.0\u0000}/8")",
        R"("10.0.0.0/8","except":["::1/128"])",
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
