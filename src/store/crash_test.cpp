// The promise under test: whatever the disk does and whenever the machine stops, a start finds the
// state after some prefix of the commits, as a whole, and this prefix has every acknowledged one.
// Each seed is a life of several crashes; the store is compared with a plain map after every one
// and in between.
//
// One seed alone: HEKLA_STORE_SEED=n build/<preset>/tests/store_test --gtest_filter='Crash.*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>

#include "base/log.h"
#include "store/store_fixture_test.h"

namespace hekla::store {
namespace {

struct ModelItem {
  std::string value;
  Revision created = 0, modified = 0;
  bool operator==(const ModelItem&) const = default;
};
using ModelKey =
    std::pair<std::string, std::string>;  // by bucket name: ids change from start to start

// The contract of store.h, as simply as possible.
struct Model {
  Revision revision = 0;
  std::map<ModelKey, ModelItem> items;
  bool operator==(const Model&) const = default;

  std::optional<Code> apply_one(const std::string& bucket, const Write& write) {
    auto found = items.find({bucket, write.key});
    bool exists = found != items.end();
    Expect::Kind kind = write.expect.kind;
    if (kind == Expect::Kind::absent && exists) return Code::already_exists;
    bool needs_key = kind == Expect::Kind::present || kind == Expect::Kind::revision ||
                     write.op == Write::Op::remove;
    if (needs_key && !exists) return Code::not_found;
    if (kind == Expect::Kind::revision && found->second.modified != write.expect.revision)
      return Code::conflict;
    ++revision;
    if (write.op == Write::Op::remove) {
      items.erase(found);
      return std::nullopt;
    }
    std::string value = write.value;
    if (write.revision_at != Item::kNoRevision)
      value.insert(write.revision_at, std::to_string(revision));
    Revision created = exists ? found->second.created : revision;
    items[{bucket, write.key}] = {value, created, revision};
    return std::nullopt;
  }

  // One entry per write: nothing, or why it failed.
  std::vector<std::optional<Code>> apply(const Batch& batch, BucketId pods) {
    Model before;
    if (batch.all_or_nothing) before = *this;
    std::vector<std::optional<Code>> outcomes;
    for (const Write& write : batch.writes) {
      outcomes.push_back(apply_one(write.bucket == pods ? "pods" : "nodes", write));
      if (batch.all_or_nothing && outcomes.back()) {
        std::optional<Code> cause = outcomes.back();
        *this = std::move(before);
        outcomes.assign(batch.writes.size(), cause);
        return outcomes;
      }
    }
    return outcomes;
  }
};

class Life {
 public:
  explicit Life(std::uint64_t seed) : rng_(seed), f_(seed, options(seed)) {}

  void run() {
    f_.open();
    int restarts = 3;
    for (int step = 0; step < 400 && restarts > 0 && !testing::Test::HasFailure(); ++step) {
      act();
      if (!f_.disk.power_lost()) continue;
      restart(true);
      --restarts;
    }
    restart(true);
  }

 private:
  static Options options(std::uint64_t seed) {
    Options options;
    options.history_changes = 1 + seed % 40;
    options.log_bytes_before_snapshot = 500 + seed % 7 * 1000;
    options.write_ahead_bytes = seed % 3 * 3000;
    options.group_bytes = 200 + seed % 5 * 400;
    return options;
  }

  void act() {
    std::uint64_t roll = uniform(rng_, 100);
    if (roll < 45) return post_batch();
    if (roll < 80) return run_some();
    if (roll < 86) return settle();
    if (roll < 89) return f_.store->compact({});
    if (roll < 91) return f_.disk.fail_next_syncs(1 + static_cast<int>(uniform(rng_, 2)));
    if (roll < 92) return f_.disk.fail_next_directory_syncs(1);
    if (roll < 93) return fail_truncates();
    if (roll < 95) return f_.disk.set_space_left(uniform(rng_, 2000));
    if (roll < 97) return f_.disk.set_space_left(std::nullopt);
    if (roll < 98) return restart(false);
    f_.disk.cut_power_after(uniform(rng_, 12));
  }

  void fail_truncates() {
    truncates_failed_ = true;
    f_.disk.fail_next_truncates(1 + static_cast<int>(uniform(rng_, 2)));
  }

  Batch random_batch() {
    Batch batch;
    batch.all_or_nothing = rng_.chance(40);
    std::uint64_t count = 1 + uniform(rng_, 4);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string name = rng_.chance(70) ? "pods" : "nodes";
      BucketId bucket = f_.store->bucket(name);
      std::string key = "k" + std::to_string(uniform(rng_, 12));
      auto known = model_.items.find({name, key});
      Expect expect;
      if (rng_.chance(20)) expect = known == model_.items.end() ? kAbsent : kPresent;
      if (rng_.chance(20) && known != model_.items.end())
        expect = at_revision(known->second.modified);
      if (rng_.chance(3)) expect = at_revision(12345678);
      if (rng_.chance(20)) {
        batch.writes.push_back(removal(bucket, key, expect));
        continue;
      }
      std::string value = std::to_string(++values_) + ":" + std::string(uniform(rng_, 150), 'v');
      Write write = put(bucket, key, value, expect);
      if (rng_.chance(50))
        write.revision_at = static_cast<std::uint32_t>(uniform(rng_, value.size() + 1));
      batch.writes.push_back(std::move(write));
    }
    return batch;
  }

  void post_batch() {
    Batch batch = random_batch();
    unanswered_.push_back(batch);
    ASSERT_TRUE(
        f_.store->commit(std::move(batch), [this](CommitResults r) { answered(std::move(r)); }));
  }

  // Answers come in the order of the commits.
  void answered(CommitResults results) {
    ASSERT_FALSE(unanswered_.empty());
    Batch batch = std::move(unanswered_.front());
    unanswered_.pop_front();
    ASSERT_EQ(results.size(), batch.writes.size());
    bool failed = !results[0] && results[0].error().code == Code::unavailable;
    if (failed) {
      for (const auto& result : results) ASSERT_EQ(result.error().code, Code::unavailable);
      ghosts_.push_back(std::move(batch));
      return;
    }
    Revision before = model_.revision;
    std::vector<std::optional<Code>> expected = model_.apply(batch, f_.pods);
    // Only a commit that reached the disk proves that failed ones before it did not.
    if (model_.revision != before) ghosts_.clear();
    for (std::size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].has_value(), !expected[i].has_value()) << batch.writes[i].key;
      if (results[i]) {
        ASSERT_EQ(results[i].value()->modified, ++before);
      } else {
        ASSERT_EQ(results[i].error().code, *expected[i]);
      }
    }
  }

  void run_some() {
    for (std::uint64_t i = uniform(rng_, 6); i > 0; --i) f_.simulation.step();
  }

  void settle() {
    ASSERT_TRUE(f_.simulation.run_until_idle());
    ASSERT_TRUE(unanswered_.empty());
    ASSERT_EQ(contents(), model_);
    follow();
    ASSERT_EQ(watched_, contents().items);
  }

  Model contents() {
    Snapshot snapshot = f_.store->snapshot();
    Model found;
    found.revision = snapshot.revision();
    for (std::string name : {"pods", "nodes"}) {
      BucketId bucket = f_.store->bucket(name);
      std::size_t counted = 0;
      snapshot.scan(bucket, "", "", [&](const ItemPtr& item) {
        found.items[{name, item->key}] = {item->value, item->created, item->modified};
        ++counted;
        return true;
      });
      EXPECT_EQ(counted, snapshot.count(bucket));
    }
    return found;
  }

  // A watcher: takes up the changes since last time, or lists again when it came too late.
  void follow() {
    for (std::string name : {"pods", "nodes"}) {
      Revision& cursor = cursors_[name];
      auto changes = f_.store->changes_after(f_.store->bucket(name), cursor, 1000);
      if (!changes) {
        ASSERT_EQ(changes.error().code, Code::expired);
        std::erase_if(watched_, [&](const auto& entry) { return entry.first.first == name; });
        for (const auto& [key, item] : contents().items)
          if (key.first == name) watched_[key] = item;
      } else {
        for (const Change& change : *changes) {
          ASSERT_GT(change.revision, cursor);
          cursor = change.revision;
          ModelKey key{name, change.item->key};
          ASSERT_EQ(change.kind == Change::Kind::created, !watched_.contains(key));
          if (change.kind == Change::Kind::removed)
            watched_.erase(key);
          else
            watched_[key] = {change.item->value, change.item->created, change.revision};
        }
      }
      cursor = f_.store->snapshot().revision();
    }
  }

  // The process ends, and with `power` the machine too. After a failed sync and a failed cut only
  // the kernel has what looks like the log's end (docs/formats/store.md, "Writing"); that takes the
  // machine.
  void restart(bool power) {
    power = power || std::exchange(truncates_failed_, false);
    BucketId pods = f_.pods;
    f_.kill();
    if (power || f_.disk.power_lost())
      f_.disk.crash();
    else
      clear_faults();
    if (rng_.chance(20)) f_.disk.cut_power_after(uniform(rng_, 8));
    Result<void> opened = f_.try_open();
    while (!opened && f_.disk.power_lost()) {
      f_.kill();
      f_.disk.crash();
      opened = f_.try_open();
    }
    ASSERT_TRUE(opened) << opened.error().message;
    Model found = contents();
    ASSERT_TRUE(is_explained(found, pods))
        << "recovered revision " << found.revision << " with " << found.items.size()
        << " keys; acknowledged were revision " << model_.revision << " with "
        << model_.items.size() << " keys, " << unanswered_.size() << " commits unanswered, "
        << ghosts_.size() << " failed";
    model_ = std::move(found);
    ghosts_.clear();
    unanswered_.clear();
    follow();  // watchers go on where they were
    ASSERT_EQ(watched_, model_.items);
  }

  // A group that was never confirmed may have reached the disk, but only as a whole, and in order:
  // one run of failed batches, or the first of those nobody answered.
  bool is_explained(const Model& found, BucketId pods) const {
    if (found == model_) return true;
    for (std::size_t first = 0; first < ghosts_.size(); ++first)
      if (is_run(found, pods, ghosts_, first)) return true;
    return is_run(found, pods, unanswered_, 0);
  }
  bool is_run(const Model& found, BucketId pods, const std::deque<Batch>& batches,
              std::size_t first) const {
    Model candidate = model_;
    for (std::size_t i = first; i < batches.size() && candidate.revision <= found.revision; ++i) {
      candidate.apply(batches[i], pods);
      if (candidate == found) return true;
    }
    return false;
  }

  void clear_faults() {
    f_.disk.set_space_left(std::nullopt);
    f_.disk.fail_next_syncs(0);
    f_.disk.fail_next_directory_syncs(0);
    f_.disk.fail_next_truncates(0);
  }

  sim::SeededRng rng_;
  StoreFixture f_;
  Model model_;
  std::deque<Batch> unanswered_;
  std::deque<Batch> ghosts_;  // answered with unavailable since the last write that succeeded
  std::uint64_t values_ = 0;
  bool truncates_failed_ = false;
  std::map<ModelKey, ModelItem> watched_;
  std::map<std::string, Revision> cursors_;
};

TEST(Crash, EveryAcknowledgedWriteSurvives) {
  std::uint64_t first = 0, count = 2000;
  if (const char* only = std::getenv("HEKLA_STORE_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
  }
  if (count > 1) testing::internal::CaptureStderr();  // thousands of lines about broken disks
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Life(seed).run();
    if (HasFailure())
      ADD_FAILURE() << "replay: HEKLA_STORE_SEED=" << seed
                    << " store_test --gtest_filter='Crash.*'";
  }
  if (count > 1) testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace hekla::store
