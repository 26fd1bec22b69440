#include "apiserver/object/registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "apiserver/kinds/builtin.h"
#include "support/sim_disk.h"
#include "support/sim_executor.h"

namespace hekla::apiserver {
namespace {

// Readers of one catalog keep it while others put new ones in its place.
TEST(Registry, IsReadWhileItChanges) {
  sim::Simulation simulation{1};
  sim::SimDisk disk{1};
  auto store = store::Store::open({}, disk, simulation.add("committer"),
                                  simulation.add("background"), nullptr);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  Registry registry(**store, builtin_kinds(), false);
  const std::size_t served = registry.resources().size();
  ASSERT_GT(served, 20u);
  std::atomic<bool> over = false;
  std::thread changes([&] {
    while (!over) registry.set_custom({});
  });
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(registry.resources().size(), served);
  over = true;
  changes.join();
}

}  // namespace
}  // namespace hekla::apiserver
