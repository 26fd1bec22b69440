// How fast the store makes writes durable, on a real directory with real fdatasync: records per
// second with batches of 1 and of 100 (many commits waiting, as under load), and the latency of
// single commits sent one after the other. Values are 2 KB. Also what 10 000 inserts into one tree
// cost the committer in memory. Prints one JSON line.
//
//   bench/store [directory]      (default: a new directory below the current one, removed
//   afterwards)
#include "store/store.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/loop.h"
#include "store/tree.h"

namespace hekla::store {
namespace {

constexpr std::size_t kValueBytes = 2048;
constexpr int kLatencySamples = 2000;
constexpr std::size_t kWindow = 64;  // commits in flight while measuring throughput

double seconds_since(MonoTime start) {
  return std::chrono::duration<double>(real_clock().mono() - start).count();
}

class Bench {
 public:
  explicit Bench(Store& store) : store_(store), bucket_(store.bucket("bench")) {}

  // Keeps kWindow commits of `batch_size` writes in flight for a while.
  double records_per_second(std::size_t batch_size, double seconds) {
    MonoTime start = real_clock().mono();
    std::size_t sent = 0;
    while (seconds_since(start) < seconds) {
      wait_until_fewer_than(kWindow);
      send(batch_size);
      ++sent;
    }
    wait_until_fewer_than(1);
    return static_cast<double>(sent * batch_size) / seconds_since(start);
  }

  // Sorted, in milliseconds.
  std::vector<double> single_commit_latencies_ms() {
    std::vector<double> latencies;
    for (int i = 0; i < kLatencySamples; ++i) {
      MonoTime start = real_clock().mono();
      send(1);
      wait_until_fewer_than(1);
      latencies.push_back(seconds_since(start) * 1000);
    }
    std::sort(latencies.begin(), latencies.end());
    return latencies;
  }

  bool failed() const { return failed_; }

 private:
  void send(std::size_t batch_size) {
    Batch batch;
    for (std::size_t i = 0; i < batch_size; ++i) {
      Write write;
      write.bucket = bucket_;
      write.key = "namespace/object-" + std::to_string(next_key_++ % 20'000);
      write.value.assign(kValueBytes, 'v');
      write.revision_at = 100;
      batch.writes.push_back(std::move(write));
    }
    {
      std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    bool accepted = store_.commit(std::move(batch), [this](CommitResults results) {
      std::lock_guard lock(mutex_);
      for (const auto& result : results) failed_ = failed_ || !result;
      --in_flight_;
      answered_.notify_one();
    });
    if (accepted) return;
    std::lock_guard lock(mutex_);
    --in_flight_;
    failed_ = true;
  }

  void wait_until_fewer_than(std::size_t limit) {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return in_flight_ < limit; });
  }

  Store& store_;
  const BucketId bucket_;
  std::uint64_t next_key_ = 0;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::size_t in_flight_ = 0;
  bool failed_ = false;
};

// One group of 10 000 inserts into a tree of 50 000 keys that somebody else still holds. `apart`:
// all over the tree, so that nearly every node is copied; otherwise side by side, like the pods of
// one job.
double tree_insert_ms(bool apart) {
  auto item = [](std::uint64_t n) {
    auto made = std::make_shared<Item>();
    made->key = "namespace/object-" + std::to_string(1'000'000 + n);
    return made;
  };
  Tree tree;
  std::vector<ItemPtr> fresh;
  for (std::uint64_t n = 0; n < 60'000; ++n) {
    bool is_fresh = apart ? n % 6 == 0 : n / 10'000 == 2;
    if (is_fresh)
      fresh.push_back(item(n));
    else
      tree.put(item(n), 1);
  }
  Tree published = tree;
  MonoTime start = real_clock().mono();
  for (ItemPtr& made : fresh) tree.put(std::move(made), 2);
  double ms = seconds_since(start) * 1000;
  return tree.size() == 60'000 && published.size() == 50'000 ? ms : -1;
}

int run(const std::string& path) {
  auto disk = open_disk(path);
  if (!disk) return std::fprintf(stderr, "%s\n", disk.error().message.c_str()), 1;
  Loop committer("committer"), background("background");
  auto store = Store::open({}, **disk, committer, background, nullptr);
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message.c_str()), 1;
  Bench bench(**store);
  double hundreds = bench.records_per_second(100, 3);
  double singles = bench.records_per_second(1, 3);
  std::vector<double> latencies = bench.single_commit_latencies_ms();
  committer.stop();
  background.stop();
  double together_ms = tree_insert_ms(false), apart_ms = tree_insert_ms(true);
  if (bench.failed()) return std::fprintf(stderr, "a commit failed\n"), 1;
  std::printf(
      "{\"bench\":\"store\",\"value_bytes\":%zu,\"records_per_second_batch_1\":%.0f,"
      "\"records_per_second_batch_100\":%.0f,\"commit_p50_ms\":%.3f,\"commit_p99_ms\":%.3f,"
      "\"tree_10000_inserts_together_ms\":%.2f,\"tree_10000_inserts_apart_ms\":%.2f}\n",
      kValueBytes, singles, hundreds, latencies[latencies.size() / 2],
      latencies[latencies.size() * 99 / 100], together_ms, apart_ms);
  return 0;
}

}  // namespace
}  // namespace hekla::store

int main(int argc, char** argv) {
  std::string path = argc > 1 ? argv[1] : "store-bench.tmp";
  bool existed = std::filesystem::exists(path);
  int code = hekla::store::run(path);
  if (!existed) std::filesystem::remove_all(path);
  return code;
}
