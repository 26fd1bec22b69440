// Shared by the store's tests: a store on a simulated disk in a simulated process that can be
// killed and started again.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/store.h"
#include "support/sim_disk.h"
#include "support/sim_executor.h"

namespace hekla::store {

inline Write put(BucketId bucket, std::string key, std::string value, Expect expect = {}) {
  Write write;
  write.bucket = bucket;
  write.key = std::move(key);
  write.value = std::move(value);
  write.expect = expect;
  return write;
}

inline Write removal(BucketId bucket, std::string key, Expect expect = {}) {
  Write write = put(bucket, std::move(key), "", expect);
  write.op = Write::Op::remove;
  return write;
}

inline constexpr Expect kAbsent{Expect::Kind::absent, 0};
inline constexpr Expect kPresent{Expect::Kind::present, 0};
inline Expect at_revision(Revision revision) { return {Expect::Kind::revision, revision}; }

class StoreFixture {
 public:
  explicit StoreFixture(std::uint64_t seed = 1, Options options = {.write_ahead_bytes = 0})
      : simulation(seed), disk(seed ^ 0x5eed), options(options) {}

  Result<void> try_open() {
    committer = &simulation.add("committer");
    background = &simulation.add("background");
    auto opened = Store::open(options, disk, *committer, *background, attacher, metrics);
    if (!opened) return std::unexpected(opened.error());
    store = std::move(*opened);
    pods = store->bucket("pods");
    nodes = store->bucket("nodes");
    return {};
  }
  void open() {
    Result<void> opened = try_open();
    ASSERT_TRUE(opened) << opened.error().message;
  }
  // The process ends; what the kernel holds stays.
  void kill() {
    store = nullptr;
    if (committer) committer->stop();
    if (background) background->stop();
  }
  void reopen() {
    kill();
    open();
  }

  CommitResults commit(Batch batch) {
    CommitResults results;
    bool done = false;
    EXPECT_TRUE(store->commit(std::move(batch), [&](CommitResults r) {
      results = std::move(r);
      done = true;
    }));
    EXPECT_TRUE(simulation.run_until([&] { return done; }));
    return results;
  }
  CommitResults commit(std::vector<Write> writes) {
    return commit(Batch{std::move(writes), false});
  }
  Result<ItemPtr> commit(Write write) {
    std::vector<Write> writes;
    writes.push_back(std::move(write));
    return commit(std::move(writes)).at(0);
  }
  Result<void> compact() {
    Result<void> result = fail(Code::internal, "compact() was never answered");
    store->compact([&](Result<void> r) { result = std::move(r); });
    EXPECT_TRUE(simulation.run_until_idle());
    return result;
  }

  sim::Simulation simulation;
  sim::SimDisk disk;
  Options options;
  Attacher attacher;
  Metrics* metrics = nullptr;
  sim::SimExecutor* committer = nullptr;
  sim::SimExecutor* background = nullptr;
  std::unique_ptr<Store> store;
  BucketId pods = 0, nodes = 0;
};

}  // namespace hekla::store
