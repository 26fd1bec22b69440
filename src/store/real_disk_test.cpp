// The store as it ships: real loops, a real directory, and a real SIGKILL.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "base/loop.h"
#include "store/store.h"
#include "store/store_fixture_test.h"

namespace hekla::store {
namespace {

const std::string kFiller(300, 'v');

class Directory {
 public:
  explicit Directory(const std::string& name)
      : path(testing::TempDir() + "hekla-store-" + name + "-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(path);
  }
  ~Directory() { std::filesystem::remove_all(path); }
  const std::string path;
};

struct RunningStore {
  explicit RunningStore(const std::string& path, Options options = {})
      : disk(open_disk(path).value()), committer("committer"), background("background") {
    auto opened = Store::open(options, *disk, committer, background, nullptr);
    EXPECT_TRUE(opened) << opened.error().message;
    store = std::move(opened).value();
  }
  std::unique_ptr<Disk> disk;
  Loop committer, background;
  std::unique_ptr<Store> store;
};

// Counts down from several threads; wait() returns at zero.
class Latch {
 public:
  explicit Latch(int count) : count_(count) {}
  void arrive() {
    std::lock_guard lock(mutex_);
    if (--count_ == 0) zero_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    zero_.wait(lock, [this] { return count_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  int count_;
};

TEST(RealDisk, FilesOfAnySizeAreReadWhole) {
  Directory directory("read");
  auto disk = open_disk(directory.path).value();
  for (std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 1'000'000u}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31 / 7);
    const std::string name = std::to_string(size);
    ASSERT_TRUE(disk->open_append(name).value()->append(content));
    EXPECT_TRUE(disk->read(name).value() == content) << size;
  }
}

TEST(RealDisk, WhatIsAppendedGoesOverZerosWrittenAhead) {
  Directory directory("ahead");
  auto disk = open_disk(directory.path).value();
  {
    auto file = disk->open_append("log").value();
    ASSERT_TRUE(file->append("one"));
    ASSERT_TRUE(file->write_ahead(100'000));
    EXPECT_EQ(file->size(), 3u);
    ASSERT_TRUE(file->append("two"));
    EXPECT_EQ(file->size(), 6u);
  }
  EXPECT_TRUE(disk->read("log").value() == "onetwo" + std::string(99'997, '\0'));
  auto file = disk->open_append("log").value();
  EXPECT_EQ(file->size(), 100'003u);
  ASSERT_TRUE(file->truncate(6));
  ASSERT_TRUE(file->append("three"));
  EXPECT_EQ(disk->read("log").value(), "onetwothree");
}

// Each client increments one shared counter by compare-and-swap, with its next attempt posted from
// the answer to the last; nobody may overwrite anybody.
TEST(RealDisk, ManyClientsCountTogether) {
  constexpr int kClients = 4, kIncrements = 25;
  Directory directory("clients");
  Options options;
  options.log_bytes_before_snapshot = 2000;  // snapshots run all the while
  RunningStore running(directory.path, options);
  Store& store = *running.store;
  BucketId bucket = store.bucket("counters");
  Latch finished(kClients);
  std::vector<std::unique_ptr<Loop>> clients;
  for (int c = 0; c < kClients; ++c) clients.push_back(std::make_unique<Loop>("client"));

  struct Client {
    Store& store;
    Loop& loop;
    BucketId bucket;
    Latch& finished;
    int left;
    void attempt() {
      ItemPtr current = store.snapshot().get(bucket, "n");
      int value = current ? std::stoi(current->value) : 0;
      Write write = put(bucket, "n", std::to_string(value + 1),
                        current ? at_revision(current->modified) : kAbsent);
      bool accepted = store.commit({{std::move(write)}, false}, [this](CommitResults results) {
        loop.post([this, won = results[0].has_value()] {
          if (won && --left == 0)
            finished.arrive();
          else
            attempt();
        });
      });
      ASSERT_TRUE(accepted);
    }
  };
  std::vector<std::unique_ptr<Client>> states;
  for (auto& loop : clients) {
    states.push_back(std::make_unique<Client>(Client{store, *loop, bucket, finished, kIncrements}));
    loop->post([client = states.back().get()] { client->attempt(); });
  }
  finished.wait();
  for (auto& loop : clients) loop->stop();
  EXPECT_EQ(store.snapshot().get(bucket, "n")->value, std::to_string(kClients * kIncrements));
  EXPECT_EQ(store.snapshot().revision(), static_cast<Revision>(kClients * kIncrements));
}

// Watchers on other threads see every change exactly once, in order, and never a change that a
// snapshot taken afterwards does not contain.
TEST(RealDisk, WatchersMissNothing) {
  constexpr Revision kWrites = 300;
  Directory directory("watchers");
  RunningStore running(directory.path);
  Store& store = *running.store;
  BucketId bucket = store.bucket("things");
  Latch finished(2);
  struct Watcher {
    Store& store;
    BucketId bucket;
    Latch& finished;
    Loop loop{"watcher"};
    std::unique_ptr<Store::Subscription> token{};
    Revision cursor = 0;
    std::string fault{};
    void pull() {
      if (cursor == kWrites) return;
      Revision published = store.snapshot().revision();
      auto changes = store.changes_after(bucket, cursor, 7);
      if (!changes) fault = changes.error().message;
      for (const Change& change : *changes) {
        if (change.revision != cursor + 1) fault = "skipped to " + std::to_string(change.revision);
        cursor = change.revision;
      }
      if (changes->size() < 7 && cursor < published) fault = "published, yet not in the history";
      if (store.snapshot().revision() < cursor) fault = "a change from the future";
      if (!changes->empty()) loop.post([this] { pull(); });
      if (cursor == kWrites) finished.arrive();
    }
  };
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 2; ++i) {
    watchers.push_back(std::make_unique<Watcher>(store, bucket, finished));
    Watcher& watcher = *watchers.back();
    watcher.token =
        store.subscribe(bucket, [&watcher] { watcher.loop.post([&watcher] { watcher.pull(); }); });
  }
  for (Revision i = 0; i < kWrites; ++i)
    ASSERT_TRUE(
        store.commit({{put(bucket, std::to_string(i % 10), std::to_string(i))}, false}, nullptr));
  finished.wait();
  for (auto& watcher : watchers) {
    watcher->token = nullptr;
    watcher->loop.stop();
    EXPECT_EQ(watcher->fault, "");
    EXPECT_EQ(watcher->cursor, kWrites);
  }
}

// A subscription's end is final: the flag below lives no longer than the token.
TEST(RealDisk, NoNotificationAfterTheTokenIsGone) {
  Directory directory("tokens");
  RunningStore running(directory.path);
  BucketId bucket = running.store->bucket("things");
  Latch answered(200);
  for (int i = 0; i < 200; ++i) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    auto token = running.store->subscribe(bucket, [flag = alive.get()] { ++*flag; });
    ASSERT_TRUE(running.store->commit({{put(bucket, "k", "v")}, false},
                                      [&](CommitResults) { answered.arrive(); }));
    token = nullptr;
    *alive = -1000;
    EXPECT_EQ(*alive, -1000);
  }
  answered.wait();
}

// Commits until killed and reports each acknowledged revision through the pipe.
[[noreturn]] void commit_until_killed(const std::string& path, int report_fd) {
  Options options;
  options.log_bytes_before_snapshot = 20'000;
  RunningStore running(path, options);
  BucketId bucket = running.store->bucket("things");
  for (Revision next = running.store->snapshot().revision() + 1;; ++next) {
    Latch answered(1);
    Write write = put(bucket, "k" + std::to_string(next % 20), kFiller + ":");
    write.revision_at = static_cast<std::uint32_t>(write.value.size());
    bool accepted = running.store->commit({{std::move(write)}, false}, [&](CommitResults results) {
      Revision revision = results[0] ? results[0].value()->modified : 0;
      if (::write(report_fd, &revision, sizeof revision) != sizeof revision) ::_exit(1);
      answered.arrive();
    });
    if (!accepted) ::_exit(2);
    answered.wait();
  }
}

TEST(RealDisk, AKilledProcessLosesNothingItAcknowledged) {
  Directory directory("killed");
  Revision acknowledged = 0;
  for (int round = 0; round < 4; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      commit_until_killed(directory.path, ends[1]);
    }
    ::close(ends[1]);
    Revision reported = 0;
    for (int i = 0; i < 60 + round * 17; ++i) {
      ASSERT_EQ(::read(ends[0], &reported, sizeof reported), static_cast<ssize_t>(sizeof reported));
      ASSERT_GT(reported, acknowledged);
      acknowledged = reported;
    }
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    while (::read(ends[0], &reported, sizeof reported) == static_cast<ssize_t>(sizeof reported))
      acknowledged = reported;
    ::close(ends[0]);

    RunningStore running(directory.path);
    Snapshot snapshot = running.store->snapshot();
    ASSERT_GE(snapshot.revision(), acknowledged);
    ASSERT_LE(snapshot.revision(), acknowledged + 1);
    snapshot.scan(running.store->bucket("things"), "", "", [&](const ItemPtr& item) {
      EXPECT_EQ(item->value, kFiller + ":" + std::to_string(item->modified));
      EXPECT_EQ(item->key, "k" + std::to_string(item->modified % 20));
      return true;
    });
    acknowledged = snapshot.revision();
  }
}

}  // namespace
}  // namespace hekla::store
