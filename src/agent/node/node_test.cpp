#include "agent/node/node.h"

#include <gtest/gtest.h>

#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

NodeOptions sample() {
  NodeOptions options;
  options.name = "node-1";
  options.facts.cpus = 4;
  options.facts.memory_bytes = std::int64_t{8} << 30;
  options.facts.architecture = "amd64";
  options.facts.address = "192.168.0.5";
  options.resources["nvidia.com/gpu"] = model::Quantity::of(2);
  options.version = "v1.34.1";
  return options;
}

TEST(Node, DeclaredResourcesJoinTheMachines) {
  model::ResourceList capacity = node_capacity(sample());
  EXPECT_EQ(capacity.at("cpu").text(), "4");
  EXPECT_EQ(capacity.at("memory").text(), "8Gi");
  EXPECT_EQ(capacity.at("pods").text(), "110");
  EXPECT_EQ(capacity.at("nvidia.com/gpu").text(), "2");
  NodeOptions bigger = sample();
  bigger.resources["cpu"] = model::Quantity::of(64);
  EXPECT_EQ(node_capacity(bigger).at("cpu").text(), "64");
}

class NodeRegistrationTest : public ::testing::Test {
 protected:
  NodeRegistrationTest() : api_(simulation_.clock()), client_(api_, simulation_.add("agent")) {}
  std::string renewed() {
    return std::string(json::string_at(
        *api_.find(kube::resources::leases, {"kube-node-lease", "node-1"}), {"spec", "renewTime"}));
  }
  sim::Simulation simulation_{1};
  test::FakeApi api_;
  test::FakeClient client_;
};

TEST_F(NodeRegistrationTest, PressureAndImagesAreWrittenAtOnce) {
  NodeRegistration node(client_, sample());
  node.set_images({{{"a@sha256:1", "a:1"}, 7}});
  node.start();
  simulation_.run_for(std::chrono::seconds(1));
  auto object = [&] { return *api_.find(kube::resources::nodes, {"", "node-1"}); };
  auto condition = [&](std::string_view type) {
    const json::Value now = object();
    for (const json::Value& one : *json::array_at(now, {"status", "conditions"}))
      if (json::string_at(one, {"type"}) == type)
        return std::string(json::string_at(one, {"status"})) + " " +
               std::string(json::string_at(one, {"reason"}));
    return std::string();
  };
  EXPECT_EQ(json::serialize(*json::find_path(object(), {"status", "images"})),
            R"([{"names":["a@sha256:1","a:1"],"sizeBytes":7}])");
  EXPECT_EQ(condition("MemoryPressure"), "False KubeletHasSufficientMemory");
  node.set_pressure({.memory = true, .disk = true});
  simulation_.run_for(std::chrono::seconds(1));
  EXPECT_EQ(condition("MemoryPressure"), "True KubeletHasInsufficientMemory");
  EXPECT_EQ(condition("DiskPressure"), "True KubeletHasDiskPressure");
  EXPECT_EQ(condition("PIDPressure"), "False KubeletHasSufficientPID");
  node.set_pressure({.pids = true});
  node.set_images({});
  simulation_.run_for(std::chrono::seconds(1));
  EXPECT_EQ(condition("MemoryPressure"), "False KubeletHasSufficientMemory");
  EXPECT_EQ(condition("PIDPressure"), "True KubeletHasInsufficientPID");
  EXPECT_EQ(json::array_at(object(), {"status", "images"})->size(), 0u);
}

TEST_F(NodeRegistrationTest, AppearsReadyWithALease) {
  NodeRegistration node(client_, sample());
  node.start();
  simulation_.run_for(std::chrono::seconds(1));
  const json::Value* object = api_.find(kube::resources::nodes, {"", "node-1"});
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(json::string_at(*object, {"metadata", "labels", "kubernetes.io/hostname"}), "node-1");
  EXPECT_EQ(json::string_at(*object, {"status", "allocatable", "nvidia.com/gpu"}), "2");
  EXPECT_EQ(json::string_at(*object, {"status", "nodeInfo", "kubeletVersion"}), "v1.34.1");
  const json::Array* conditions = json::array_at(*object, {"status", "conditions"});
  EXPECT_EQ(json::string_at(conditions->back(), {"type"}), "Ready");
  EXPECT_EQ(json::string_at(conditions->back(), {"status"}), "True");
  std::string first = renewed();
  simulation_.run_for(std::chrono::seconds(11));
  EXPECT_NE(renewed(), first);
}

TEST_F(NodeRegistrationTest, TakesOverAnExistingNodeAndComesBackWhenDeleted) {
  json::Value before = node_object(sample());
  json::at_path(before, {"metadata", "labels", "mine"}) = "kept";
  ASSERT_TRUE(api_.create(kube::resources::nodes, before));
  NodeRegistration node(client_, sample());
  node.start();
  simulation_.run_for(std::chrono::seconds(1));
  const json::Value* object = api_.find(kube::resources::nodes, {"", "node-1"});
  EXPECT_EQ(json::string_at(*object, {"metadata", "labels", "mine"}), "kept");
  EXPECT_NE(json::find_path(*object, {"status", "capacity", "cpu"}), nullptr);
  ASSERT_TRUE(api_.remove(kube::resources::nodes, {"", "node-1"}));
  simulation_.run_for(std::chrono::minutes(6));
  EXPECT_NE(api_.find(kube::resources::nodes, {"", "node-1"}), nullptr);
}

TEST(Node, ReadsThisMachine) {
  MachineFacts facts = read_machine_facts("/");
  EXPECT_GT(facts.cpus, 0);
  EXPECT_GT(facts.memory_bytes, 0);
  EXPECT_GT(facts.disk_bytes, 0);
  EXPECT_FALSE(facts.hostname.empty());
}

}  // namespace
}  // namespace hekla::agent
