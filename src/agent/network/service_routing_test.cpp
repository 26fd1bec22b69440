#include "agent/network/service_routing.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

using kube::resources::services;

class LoadBalancerTest : public ::testing::Test {
 protected:
  LoadBalancerTest() {
    informer_.on_change([this](const auto&, const auto&) { routing_.changed(); });
    informer_.on_settled([this] { routing_.changed(); });
    informer_.start();
    routing_.start();
    settle();
  }
  void settle() { simulation_.run_for(std::chrono::seconds(3)); }
  void create(const std::string& members) {
    api_.create(
        services,
        json::parse(R"({"metadata":{"name":"web","namespace":"n"},"spec":{"type":"LoadBalancer",)" +
                    members +
                    R"("clusterIP":"10.96.0.9","ports":[{"port":8080,"protocol":"TCP"}]}})")
            .value());
    settle();
  }
  bool is_announced() {
    const json::Array* ingress =
        json::array_at(*api_.find(services, {"n", "web"}), {"status", "loadBalancer", "ingress"});
    return ingress && !ingress->empty();
  }
  bool has_port() const {
    return std::ranges::any_of(ports_,
                               [](const HostPort& one) { return one.key == PortKey{8080, false}; });
  }
  std::vector<std::string> reasons() const {
    std::vector<std::string> found;
    for (const json::Value* event : api_.list(kube::resources::events))
      found.emplace_back(json::string_at(*event, {"reason"}));
    return found;
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_{simulation_.clock()};
  test::FakeClient client_{api_, simulation_.add("agent")};
  kube::Informer<model::Service> informer_{client_, services};
  std::vector<HostPort> ports_;
  ServiceRouting routing_{client_,
                          informer_,
                          {"10.96.0.0/16",
                           "192.168.0.1",
                           {"10.244.0.1", 6443},
                           [](std::string, Done<void> done) { done({}); },
                           [this](std::vector<HostPort> ports, auto held) {
                             ports_ = std::move(ports);
                             std::vector<PortKey> keys;
                             for (const HostPort& one : ports_) keys.push_back(one.key);
                             held(std::move(keys));
                           },
                           [] {}}};
};

TEST_F(LoadBalancerTest, IsAnnouncedOnceItsPortsAreHeld) {
  create("");
  EXPECT_TRUE(has_port());
  EXPECT_TRUE(is_announced());
}

TEST_F(LoadBalancerTest, AnotherClassIsAnothersWork) {
  create(R"("loadBalancerClass":"example.com/other",)");
  EXPECT_FALSE(has_port());
  EXPECT_FALSE(is_announced());
  EXPECT_TRUE(reasons().empty());
}

TEST_F(LoadBalancerTest, RangesWithoutTheLoopbackAreRefused) {
  create(R"("loadBalancerSourceRanges":["10.0.0.0/8"],)");
  EXPECT_FALSE(has_port());
  EXPECT_FALSE(is_announced());
  EXPECT_EQ(reasons(), std::vector<std::string>{"SyncLoadBalancerFailed"});
  api_.patch(services, {"n", "web"},
             json::parse(R"({"spec":{"loadBalancerSourceRanges":["127.0.0.0/8"]}})").value());
  settle();
  EXPECT_TRUE(is_announced());
  api_.patch(services, {"n", "web"},
             json::parse(R"({"spec":{"loadBalancerSourceRanges":["10.0.0.0/8"]}})").value());
  settle();
  EXPECT_FALSE(has_port());
  EXPECT_FALSE(is_announced());
}

TEST(ServiceRules, RangesAreReadAsTheyAreWritten) {
  const auto admits = [](const char* range) {
    return admits_loopback({.loadBalancerSourceRanges = {range}});
  };
  EXPECT_TRUE(admits_loopback({}));
  for (const char* range : {"0.0.0.0/0", "127.0.0.1/32", "127.0.0.0/8", "64.0.0.0/2"})
    EXPECT_TRUE(admits(range)) << range;
  for (const char* range : {"128.0.0.0/1", "127.0.0.2/32", "10.0.0.0/8", "::/0"})
    EXPECT_FALSE(admits(range)) << range;
}

}  // namespace
}  // namespace hekla::agent
