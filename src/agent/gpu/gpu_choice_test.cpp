#include "agent/gpu/gpu_choice.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

using Cards = std::vector<std::int32_t>;

TEST(GpuChoice, CardsAreExclusiveByDefault) {
  GpuPool pool{.cards = 4};
  EXPECT_EQ(choose_gpus(pool, {}, 2), (Cards{0, 1}));
  EXPECT_EQ(choose_gpus(pool, {0, 2}, 2), (Cards{1, 3}));
  EXPECT_EQ(choose_gpus(pool, {0, 1, 2}, 2), std::nullopt);
  EXPECT_EQ(choose_gpus(pool, {}, 0), Cards{});
}

TEST(GpuChoice, SharesSpreadOverTheCards) {
  GpuPool pool{.cards = 2, .replicas = 3};
  Cards used;
  std::vector<int> load(2, 0);
  for (int pod = 0; pod < 5; ++pod) {
    auto cards = choose_gpus(pool, used, 1);
    ASSERT_TRUE(cards);
    used.push_back(cards->front());
    ++load[static_cast<std::size_t>(cards->front())];
  }
  EXPECT_EQ(load, (std::vector<int>{3, 2}));
  EXPECT_TRUE(choose_gpus(pool, used, 1));
  used.push_back(1);
  EXPECT_EQ(choose_gpus(pool, used, 1), std::nullopt);
}

TEST(GpuChoice, NamesACardOnce) {
  EXPECT_EQ(gpu_list({0, 2}), "0,2");
  EXPECT_EQ(gpu_list({1, 1}), "1");
  EXPECT_EQ(gpu_list({}), "");
}

}  // namespace
}  // namespace hekla::agent
