#include "pipelines/page/run_topic.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "base/loop.h"

namespace hekla::pipelines::page {
namespace {

class Sink final : public kube::TopicSink {
 public:
  void snapshot(std::vector<std::string> items, std::string) override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(items.empty());
    ++snapshots_;
  }
  void changes(std::vector<kube::TopicChange> changes, std::string) override {
    std::lock_guard lock(mutex_);
    ++messages_;
    for (const kube::TopicChange& change : changes) seen_.insert(change.json);
    wake_.notify_all();
  }
  void fail(Error) override {}

  // The things told, when `count` things have.
  std::set<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::seconds(10), [&] { return seen_.size() >= count; });
    return seen_;
  }
  int messages() {
    std::lock_guard lock(mutex_);
    return messages_;
  }
  int snapshots() {
    std::lock_guard lock(mutex_);
    return snapshots_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<std::string> seen_;
  int messages_ = 0, snapshots_ = 0;
};

TEST(RunTopic, TellsOfRunsAndListsAtOnce) {
  Loop loop("topic");
  RunTopic topic(loop);
  auto all = std::make_shared<Sink>(), one = std::make_shared<Sink>();
  const kube::StreamTopic served = topic.topic();
  EXPECT_EQ(served.name, "runs");
  auto first = served.begin({}, all);
  auto second = served.begin({.parameters = {{"run", "a"}}}, one);
  EXPECT_EQ(all->snapshots(), 1);
  topic.runs_changed({"a", "b"});
  topic.runs_changed({"b"});
  topic.list_changed("experiments");
  EXPECT_EQ(all->wait_for(4),
            (std::set<std::string>{R"({"uid":"experiments"})", R"({"uid":"runs"})",
                                   R"({"uid":"runs/a"})", R"({"uid":"runs/b"})"}));
  EXPECT_EQ(one->wait_for(1), (std::set<std::string>{R"({"uid":"runs/a"})"}));
  EXPECT_EQ(all->messages(), 1);  // what comes together is told together
  first.reset();
  topic.runs_changed({"a", "c"});
  second.reset();
  topic.list_changed("pipelines");
  loop.stop();
  EXPECT_EQ(all->wait_for(4).size(), 4u);
}

}  // namespace
}  // namespace hekla::pipelines::page
