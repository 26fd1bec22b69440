#include "agent/fake_nodes.h"

#include <gtest/gtest.h>

#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

using std::chrono::milliseconds;

class FakeNodesTest : public ::testing::Test {
 protected:
  FakeNodesTest() : api_(simulation_.clock()), client_(api_, simulation_.add("nodes")) {}

  void start(FakeNodesOptions options) {
    nodes_ = std::make_unique<FakeNodes>(std::move(options), client_);
    nodes_->start();
    simulation_.run_for(milliseconds(10));
  }
  void add_node(const std::string& name, json::Object labels) {
    api_.create(kube::resources::nodes,
                json::Object{{"metadata", json::Object{{"name", name}, {"labels", labels}}}});
  }
  void add_pod(const std::string& name, const std::string& node) {
    api_.create(kube::resources::pods,
                json::Object{{"metadata", json::Object{{"name", name}, {"namespace", "n"}}},
                             {"spec", json::Object{{"nodeName", node}}},
                             {"status", json::Object{{"phase", "Pending"}}}});
  }
  std::string phase(const std::string& name) {
    const json::Value* pod = api_.find(kube::resources::pods, {"n", name});
    return pod ? std::string(json::string_at(*pod, {"status", "phase"})) : "gone";
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_;
  test::FakeClient client_;
  std::unique_ptr<FakeNodes> nodes_;
};

TEST_F(FakeNodesTest, PodsOfItsNodesRunAtOnceAndGoAtOnce) {
  start({.count = 1});
  add_pod("p", fake_node_name(0));
  add_pod("elsewhere", "node-1");
  simulation_.run_for(milliseconds(10));
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_EQ(phase("elsewhere"), "Pending");
  api_.remove(kube::resources::pods, {"n", "p"});
  simulation_.run_for(milliseconds(10));
  EXPECT_EQ(phase("p"), "gone");
}

TEST_F(FakeNodesTest, ANodeWithTheLabelIsPlayedWhoeverMadeIt) {
  add_node("theirs", {{"hekla.io/fake-node", "true"}});
  add_node("real", {{"zone", "a"}});
  start({});
  add_pod("p", "theirs");
  add_pod("q", "real");
  add_pod("early", "later");
  simulation_.run_for(milliseconds(10));
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_EQ(phase("q"), "Pending");
  EXPECT_EQ(phase("early"), "Pending");
  add_node("later", {{"hekla.io/fake-node", "true"}});
  simulation_.run_for(milliseconds(10));
  EXPECT_EQ(phase("early"), "Running");
}

TEST_F(FakeNodesTest, StartAndEndTakeTheDelay) {
  start({.count = 1, .pod_delay = milliseconds(500)});
  add_pod("p", fake_node_name(0));
  simulation_.run_for(milliseconds(400));
  EXPECT_EQ(phase("p"), "Pending");
  simulation_.run_for(milliseconds(200));
  EXPECT_EQ(phase("p"), "Running");
  api_.remove(kube::resources::pods, {"n", "p"});
  simulation_.run_for(milliseconds(400));
  EXPECT_EQ(phase("p"), "Running");
  simulation_.run_for(milliseconds(200));
  EXPECT_EQ(phase("p"), "gone");
}

}  // namespace
}  // namespace hekla::agent
