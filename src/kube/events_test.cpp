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

// What goes out one by one; the answers come at once.
class Sent {
 public:
  explicit Sent(ScriptedClient& client) : client_(client) {}
  // How many writes there were since last time; the newest is kept.
  std::size_t take() {
    std::size_t count = 0;
    for (; seen_ < client_.batches.size(); ++seen_) {
      for (const Write& write : client_.batches[seen_]) {
        ++count;
        last = write;
      }
      client_.answer({object("default", "e", ++revision_)});
    }
    return count;
  }
  Write last;

 private:
  ScriptedClient& client_;
  std::size_t seen_ = 0;
  std::uint64_t revision_ = 0;
};

TEST_F(EventsTest, SimilarOnesAreCombinedFromTheTenthOn) {
  Sent sent(client);
  for (int i = 0; i < 9; ++i) {
    recorder.record(job, "Normal", "SuccessfulCreate", "Created pod: p" + std::to_string(i));
    ASSERT_EQ(sent.take(), 1u);
    EXPECT_EQ(json::string_at(sent.last.body, {"message"}), "Created pod: p" + std::to_string(i));
  }
  recorder.record(job, "Normal", "SuccessfulCreate", "Created pod: p9");
  ASSERT_EQ(sent.take(), 1u);
  EXPECT_EQ(sent.last.verb, Write::Verb::create);
  EXPECT_EQ(json::string_at(sent.last.body, {"message"}),
            "(combined from similar events): Created pod: p9");
  const std::string name = sent.last.key.name;
  recorder.record(job, "Normal", "SuccessfulCreate", "Created pod: p10");
  ASSERT_EQ(sent.take(), 1u);
  EXPECT_EQ(sent.last.verb, Write::Verb::patch);
  EXPECT_EQ(sent.last.key.name, name);
  EXPECT_EQ(json::int_at(sent.last.body, {"count"}), 2);
  EXPECT_EQ(json::string_at(sent.last.body, {"message"}),
            "(combined from similar events): Created pod: p10");
  // Another reason, and another target, have their own.
  recorder.record(job, "Normal", "SuccessfulDelete", "Deleted pod: p0");
  ASSERT_EQ(sent.take(), 1u);
  EXPECT_EQ(json::string_at(sent.last.body, {"message"}), "Deleted pod: p0");
  EventTarget other = job;
  other.name = "job-2";
  recorder.record(other, "Normal", "SuccessfulCreate", "Created pod: q");
  ASSERT_EQ(sent.take(), 1u);
  EXPECT_EQ(json::string_at(sent.last.body, {"message"}), "Created pod: q");
  // After ten quiet minutes they are told one by one again.
  simulation.clock().advance(std::chrono::minutes(11));
  recorder.record(job, "Normal", "SuccessfulCreate", "Created pod: p11");
  ASSERT_EQ(sent.take(), 1u);
  EXPECT_EQ(json::string_at(sent.last.body, {"message"}), "Created pod: p11");
}

TEST_F(EventsTest, OneTargetDoesNotFlood) {
  Sent sent(client);
  std::size_t written = 0;
  for (int i = 0; i < 100; ++i) {
    recorder.record(job, "Warning", "FailedScheduling", "no room");
    written += sent.take();
  }
  EXPECT_EQ(written, 25u);
  recorder.record(job, "Normal", "Scheduled", "bound");
  EXPECT_EQ(sent.take(), 1u) << "another type counts apart";
  EventTarget other = job;
  other.uid = "uid-2";
  recorder.record(other, "Warning", "FailedScheduling", "no room");
  EXPECT_EQ(sent.take(), 1u);
  simulation.clock().advance(std::chrono::minutes(6));
  recorder.record(job, "Warning", "FailedScheduling", "no room");
  recorder.record(job, "Warning", "FailedScheduling", "no room");
  EXPECT_EQ(sent.take(), 1u) << "one every five minutes";
  EXPECT_EQ(json::int_at(sent.last.body, {"count"}), 101) << "what was not told is counted";
}

TEST_F(EventsTest, ABurstOfTenThousandIsToldInFull) {
  constexpr int kMany = 10'000;
  for (int i = 0; i < kMany; ++i) {
    EventTarget other = job;
    other.uid = "other-" + std::to_string(i);
    recorder.record(other, "Normal", "R", "m");
  }
  std::size_t told = 0;
  for (std::size_t i = 0; i < client.batches.size(); ++i) {
    told += client.batches[i].size();
    client.answer(std::vector<WriteResult>(client.batches[i].size(), object("default", "e", 1)));
  }
  EXPECT_EQ(told, static_cast<std::size_t>(kMany));
}

TEST_F(EventsTest, TheOldestAreForgottenFirst) {
  Sent sent(client);
  EventTarget kept = job;
  for (int i = 0; i < 5000; ++i) {
    EventTarget other = job;
    other.uid = "other-" + std::to_string(i);
    recorder.record(other, "Normal", "R", "m");
    if (i % 1000 == 0) recorder.record(kept, "Normal", "R", "m");
    sent.take();
  }
  recorder.record(kept, "Normal", "R", "m");
  ASSERT_GE(sent.take(), 1u);
  EXPECT_EQ(sent.last.verb, Write::Verb::patch);
  EXPECT_EQ(json::int_at(sent.last.body, {"count"}), 6);
}

}  // namespace
}  // namespace hekla::kube
