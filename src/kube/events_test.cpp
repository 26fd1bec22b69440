#include "kube/events.h"

#include <gtest/gtest.h>

#include "kube/scripted_client_test.h"
#include "support/sim_executor.h"

namespace hekla::kube {
namespace {

class EventsTest : public testing::Test {
 protected:
  sim::Simulation simulation{1};
  sim::SimExecutor& loop = simulation.add("loop");
  ScriptedClient client{loop};
  EventRecorder recorder{client, "vc-controller-manager"};
  EventTarget job{"batch.volcano.sh/v1alpha1", "Job", "default", "job-1", "uid-1", 7};

  const Write& only(std::size_t batch) {
    EXPECT_EQ(client.batches.at(batch).size(), 1u);
    return client.batches[batch].front();
  }
};

TEST_F(EventsTest, AnEventNamesItsTargetAndItsSource) {
  recorder.record(job, "Normal", "ExecuteAction", "Start to execute action CompleteJob ");
  const Write& write = only(0);
  EXPECT_EQ(write.verb, Write::Verb::create);
  EXPECT_EQ(write.key.ns, "default");
  EXPECT_TRUE(write.key.name.starts_with("job-1."));
  EXPECT_EQ(json::string_at(write.body, {"involvedObject", "uid"}), "uid-1");
  EXPECT_EQ(json::string_at(write.body, {"source", "component"}), "vc-controller-manager");
  EXPECT_EQ(json::string_at(write.body, {"message"}), "Start to execute action CompleteJob ");
  EXPECT_EQ(json::int_at(write.body, {"count"}), 1);
}

TEST_F(EventsTest, RepeatedEventsBecomeOneWithACount) {
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  client.answer({object("default", "e", 1)});
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  const Write& second = only(1);
  EXPECT_EQ(second.verb, Write::Verb::patch);
  EXPECT_EQ(second.key.name, only(0).key.name);
  EXPECT_EQ(json::int_at(second.body, {"count"}), 2);
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  client.answer({object("default", "e", 2)});
  EXPECT_EQ(json::int_at(only(2).body, {"count"}), 4) << "what waited went out once";
}

TEST_F(EventsTest, AfterTenMinutesOrAFailureANewEventIsMade) {
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  client.answer({object("default", "e", 1)});
  simulation.clock().advance(std::chrono::minutes(11));
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  EXPECT_EQ(only(1).verb, Write::Verb::create);
  client.answer({fail(Code::not_found, "namespace gone")});
  recorder.record(job, "Warning", "PodGroupPending", "no room");
  EXPECT_EQ(only(2).verb, Write::Verb::create);
}

}  // namespace
}  // namespace hekla::kube
