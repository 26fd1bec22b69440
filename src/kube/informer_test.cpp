#include "kube/informer.h"

#include <gtest/gtest.h>

#include "kube/scripted_client_test.h"
#include "model/core.h"
#include "support/sim_executor.h"

namespace hekla::kube {
namespace {

using Type = WatchEvent::Type;

class InformerTest : public testing::Test {
 protected:
  sim::Simulation simulation{1};
  sim::SimExecutor& loop = simulation.add("loop");
  ScriptedClient client{loop};
  Informer<model::Pod> pods{client, resources::pods};
  std::vector<std::string> seen;

  void start(std::uint64_t version, std::vector<ObjectPtr> items) {
    client.list_answers.push_back(List{version, std::move(items)});
    pods.on_change([this](const auto& before, const auto& after) {
      seen.push_back((before ? before->status.phase : "-") + std::string(">") +
                     (after ? after->status.phase : "-"));
    });
    pods.start();
    simulation.run_until_idle();
  }
};

TEST_F(InformerTest, ListsThenFollowsTheWatchFromTheListsRevision) {
  start(10, {object("a", "x", 7, "Pending")});
  EXPECT_TRUE(pods.synced());
  EXPECT_EQ(client.watched_from, std::vector<std::uint64_t>{10});
  client.send(Type::modified, object("a", "x", 11, "Running"));
  client.send(Type::added, object("b", "y", 12, "Pending"));
  client.send(Type::deleted, object("a", "x", 13, "Running"));
  EXPECT_EQ(seen,
            (std::vector<std::string>{"->Pending", "Pending>Running", "->Pending", "Running>-"}));
  EXPECT_EQ(pods.get({"a", "x"}), nullptr);
  EXPECT_EQ(pods.get({"b", "y"})->status.phase, "Pending");
}

TEST_F(InformerTest, ABrokenWatchResumesWhereItStopped) {
  start(10, {});
  client.send(Type::added, object("a", "x", 15));
  client.break_watch(Code::unavailable);
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(client.lists, 1);
  EXPECT_EQ(client.watched_from, (std::vector<std::uint64_t>{10, 15}));
}

TEST_F(InformerTest, AnExpiredWatchListsAgainAndDropsWhatIsGone) {
  start(10, {object("a", "x", 7, "Pending"), object("a", "y", 8, "Pending")});
  client.list_answers.push_back(List{30, {object("a", "y", 25, "Running")}});
  client.break_watch(Code::expired);
  simulation.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(pods.get({"a", "x"}), nullptr);
  EXPECT_EQ(pods.get({"a", "y"})->status.phase, "Running");
  EXPECT_EQ(client.watched_from.back(), 30u);
}

TEST_F(InformerTest, AFailedFirstListIsTriedAgain) {
  client.list_answers.push_back(fail(Code::unavailable, "not yet"));
  start(10, {});
  EXPECT_FALSE(pods.synced());
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_TRUE(pods.synced());
}

// The CRD was deleted: nothing is left of it, and it is asked for until it is back.
TEST_F(InformerTest, AResourceThatIsNoLongerServedIsEmptyUntilItIsBack) {
  start(10, {object("a", "x", 7, "Pending")});
  client.list_answers.push_back(fail(Code::not_found, "the server could not find the resource"));
  client.list_answers.push_back(List{40, {object("a", "y", 35, "Running")}});
  client.break_watch(Code::not_found);
  simulation.run_for(std::chrono::milliseconds(60));
  EXPECT_TRUE(pods.synced());
  EXPECT_TRUE(pods.absent());
  EXPECT_EQ(pods.size(), 0u);
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_FALSE(pods.absent());
  EXPECT_EQ(pods.get({"a", "y"})->status.phase, "Running");
  EXPECT_EQ(seen, (std::vector<std::string>{"->Pending", "Pending>-", "->Running"}));
}

TEST_F(InformerTest, AnOverlayShowsAtOnceAndLateEventsDoNotUndoIt) {
  start(10, {object("a", "x", 7, "Pending")});
  pods.overlay(object("a", "x", 20, "Running"));
  EXPECT_EQ(pods.get({"a", "x"})->status.phase, "Running");
  client.send(Type::modified, object("a", "x", 15, "Pending"));
  EXPECT_EQ(pods.get({"a", "x"})->status.phase, "Running");
  client.send(Type::modified, object("a", "x", 20, "Running"));
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(InformerTest, ARemovedOverlayStaysRemovedUntilTheNameIsUsedAgain) {
  start(10, {object("a", "x", 7, "Pending")});
  pods.overlay_removed({"a", "x"}, 20);
  client.send(Type::modified, object("a", "x", 15, "Running"));
  EXPECT_EQ(pods.get({"a", "x"}), nullptr);
  client.send(Type::added, object("a", "x", 21, "Pending"));
  EXPECT_NE(pods.get({"a", "x"}), nullptr);
}

TEST_F(InformerTest, AResultOvertakenByTheObjectsEndIsIgnored) {
  start(10, {object("a", "x", 7, "Pending")});
  client.send(Type::deleted, object("a", "x", 20, "Running"));
  pods.overlay(object("a", "x", 15, "Running"));
  EXPECT_EQ(pods.get({"a", "x"}), nullptr);
  pods.overlay(object("a", "x", 25, "Pending"));
  EXPECT_NE(pods.get({"a", "x"}), nullptr);
}

TEST_F(InformerTest, IndexesFollowChanges) {
  int by_phase = pods.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
    keys.push_back(pod.status.phase);
  });
  start(10, {object("a", "x", 7, "Pending"), object("a", "y", 8, "Pending")});
  EXPECT_EQ(pods.by(by_phase, "Pending").size(), 2u);
  client.send(Type::modified, object("a", "x", 11, "Running"));
  EXPECT_EQ(pods.by(by_phase, "Pending").size(), 1u);
  EXPECT_EQ(pods.by(by_phase, "Running").front()->metadata.name, "x");
  client.send(Type::deleted, object("a", "x", 12, "Running"));
  EXPECT_TRUE(pods.by(by_phase, "Running").empty());
}

}  // namespace
}  // namespace hekla::kube
