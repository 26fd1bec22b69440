#include "kube/reconcile.h"

#include <gtest/gtest.h>

#include "kube/scripted_client_test.h"
#include "support/sim_executor.h"

namespace hekla::kube {
namespace {

class ReconcileTest : public testing::Test {
 protected:
  sim::Simulation simulation{1};
  sim::SimExecutor& loop = simulation.add("loop");
  ScriptedClient client{loop};
  int rounds = 0;
  std::vector<std::string> overlaid;
  std::function<Round(const Key&)> body;
  ReconcileLoop reconciler{
      client, ReconcileOptions{.name = "test"},
      [this](const Key& key, WallTime) {
        ++rounds;
        return body(key);
      },
      [this](const Write&, const ObjectPtr& object) { overlaid.push_back(object->name); }};

  static Round one_write(Write::Verb verb = Write::Verb::patch) {
    Round round;
    Write write;
    write.verb = verb;
    round.writes.push_back(std::move(write));
    return round;
  }
};

TEST_F(ReconcileTest, NothingRunsBeforeTheCachesAreSynced) {
  body = [](const Key&) { return Round{}; };
  reconciler.add({"a", "x"});
  simulation.run_until_idle();
  EXPECT_EQ(rounds, 0);
  reconciler.enable();
  simulation.run_until_idle();
  EXPECT_EQ(rounds, 1);
}

TEST_F(ReconcileTest, AKeyAddedManyTimesRunsOnce) {
  body = [](const Key&) { return Round{}; };
  reconciler.enable();
  for (int i = 0; i < 5; ++i) reconciler.add({"a", "x"});
  simulation.run_until_idle();
  EXPECT_EQ(rounds, 1);
}

TEST_F(ReconcileTest, OneRoundPerKeyIsInFlightAndDirtyOnesRunAgain) {
  body = [](const Key&) { return one_write(); };
  reconciler.enable();
  reconciler.add({"a", "x"});
  simulation.run_until_idle();
  reconciler.add({"a", "x"});
  reconciler.add({"a", "x"});
  simulation.run_until_idle();
  EXPECT_EQ(rounds, 1) << "the first round has not been answered";
  body = [](const Key&) { return Round{}; };
  client.answer({object("a", "x", 5)});
  EXPECT_EQ(overlaid, std::vector<std::string>{"x"});
  simulation.run_until_idle();
  EXPECT_EQ(rounds, 2);
}

TEST_F(ReconcileTest, AFailedWriteIsRetriedWithGrowingDelay) {
  body = [](const Key&) { return one_write(); };
  reconciler.enable();
  reconciler.add({"a", "x"});
  simulation.run_until_idle();
  client.answer({fail(Code::conflict, "changed")});
  simulation.run_for(std::chrono::milliseconds(4));
  EXPECT_EQ(rounds, 1);
  simulation.run_for(std::chrono::milliseconds(2));
  EXPECT_EQ(rounds, 2);
  client.answer({fail(Code::conflict, "changed")});
  simulation.run_for(std::chrono::milliseconds(8));
  EXPECT_EQ(rounds, 2) << "ten milliseconds after the second failure";
  simulation.run_for(std::chrono::milliseconds(4));
  EXPECT_EQ(rounds, 3);
}

TEST_F(ReconcileTest, ARoundThatThrowsIsRetriedAndStopsNobodyElse) {
  std::vector<std::string> looked;
  body = [&](const Key& key) -> Round {
    looked.push_back(key.name);
    if (key.name == "bad" && rounds < 3) throw std::runtime_error("cannot be read");
    return {};
  };
  reconciler.enable();
  reconciler.add({"a", "bad"});
  reconciler.add({"a", "good"});
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(looked, (std::vector<std::string>{"bad", "good", "bad"}));
}

TEST_F(ReconcileTest, GoneAndThereAlreadyAreSuccess) {
  body = [this](const Key&) {
    return rounds == 1 ? one_write(Write::Verb::remove) : one_write(Write::Verb::create);
  };
  reconciler.enable();
  reconciler.add({"a", "x"});
  simulation.run_until_idle();
  client.answer({fail(Code::not_found, "gone")});
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(rounds, 1);
  reconciler.add({"a", "x"});
  simulation.run_until_idle();
  client.answer({fail(Code::already_exists, "there")});
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_EQ(rounds, 2);
}

TEST_F(ReconcileTest, ARoundMayAskForAnotherLater) {
  body = [](const Key&) {
    Round round;
    round.again_after = std::chrono::minutes(1);
    return round;
  };
  reconciler.enable();
  reconciler.add({"a", "x"});
  simulation.run_for(std::chrono::seconds(59));
  EXPECT_EQ(rounds, 1);
  simulation.run_for(std::chrono::seconds(2));
  EXPECT_EQ(rounds, 2);
}

TEST_F(ReconcileTest, ARoundThatCannotBeComputedCountsAsAFailure) {
  body = [](const Key&) {
    Round round;
    round.error = Error{Code::not_found, "the queue is missing"};
    return round;
  };
  reconciler.enable();
  reconciler.add({"a", "x"});
  simulation.run_for(std::chrono::seconds(1));
  EXPECT_GE(rounds, 7);
  EXPECT_LE(rounds, 9) << "5, 10, 20 ... ms";
}

}  // namespace
}  // namespace hekla::kube
