#include "scheduler/cluster/resources.h"

#include <gtest/gtest.h>

namespace hekla::scheduler {
namespace {

Resources make(std::int64_t cpu, std::int64_t memory) {
  Resources out;
  out.set(kCpu, cpu);
  out.set(kMemory, memory);
  return out;
}

TEST(Resources, MissingOnTheRightIsZeroOrInfinity) {
  Resources left = make(1, 1), right = make(1, 1);
  left.set(5, 2);
  EXPECT_FALSE(less_equal(left, right, Missing::zero));
  EXPECT_TRUE(less_equal(left, right, Missing::infinity));
  // A dimension only the right has makes the infinite comparison fail, and the other one not.
  EXPECT_TRUE(less_equal(right, left, Missing::zero));
  EXPECT_FALSE(less_equal(right, left, Missing::infinity));
}

TEST(Resources, SharesAreComparedWithATolerance) {
  Shares left = to_shares(make(100, 0)), right = to_shares(make(100, 0));
  right.set(kCpu, 99.95);
  EXPECT_TRUE(less_equal(left, right, Missing::zero));
  right.set(kCpu, 99.9 - 1e-9);
  EXPECT_FALSE(less_equal(left, right, Missing::zero));
}

TEST(Resources, ExceededLooksAtRequestedDimensionsWithoutToleranceAndNotAtPods) {
  Resources request = make(1, 0), amount = make(10, 99), limit = make(10, 0);
  request.set(kPods, 1);
  amount.set(kPods, 50);
  EXPECT_EQ(exceeded(amount, limit, request), 0u);
  Shares tight = to_shares(limit);
  tight.set(kCpu, 9.95);
  EXPECT_EQ(exceeded(amount, tight, request), 1u << kCpu);
}

TEST(Resources, EmptyIgnoresPods) {
  Resources request = make(0, 0);
  request.set(kPods, 1);
  EXPECT_TRUE(request.is_empty());
  request.set(7, 1);
  EXPECT_FALSE(request.is_empty());
}

TEST(Resources, DominantShareOfNothing) {
  EXPECT_EQ(dominant_share(make(0, 0), make(0, 0)), 0);
  EXPECT_EQ(dominant_share(make(1, 0), make(0, 10)), 0);
  EXPECT_EQ(dominant_share(make(1, 5), make(10, 10)), 0.5);
}

TEST(Dimensions, ConvertsLikeVolcano) {
  Dimensions dimensions;
  model::ResourceList list{{"cpu", *model::Quantity::parse("1500m")},
                           {"memory", *model::Quantity::parse("1Gi")},
                           {"pods", *model::Quantity::parse("3")},
                           {"nvidia.com/gpu", *model::Quantity::parse("2")},
                           {"count/pods", *model::Quantity::parse("9")},
                           {"limits.cpu", *model::Quantity::parse("9")},
                           {"requests.nvidia.com/gpu", *model::Quantity::parse("9")},
                           {"services", *model::Quantity::parse("9")}};
  Resources out = dimensions.convert(list);
  EXPECT_EQ(out[kCpu], 1500);
  EXPECT_EQ(out[kMemory], 1 << 30);
  EXPECT_EQ(out[kPods], 3);
  ASSERT_EQ(dimensions.size(), 5u);
  EXPECT_EQ(dimensions.name(kFirstExtended), "nvidia.com/gpu");
  EXPECT_EQ(out[kFirstExtended], 2000);
  EXPECT_EQ(dimensions.quantity(kCpu, 1500).text(), "1500m");
  EXPECT_EQ(dimensions.quantity(kMemory, 1 << 30).text(), "1Gi");
  EXPECT_EQ(dimensions.quantity(kFirstExtended, 2000).text(), "2");
}

TEST(Dimensions, TheTableHasALimit) {
  Dimensions dimensions;
  model::ResourceList list;
  for (std::size_t i = 0; i < kMaxDimensions - kFirstExtended; ++i)
    list["example.com/r" + std::to_string(i)] = model::Quantity::of(1);
  std::vector<std::string> refused;
  dimensions.convert(list, &refused);
  EXPECT_TRUE(refused.empty());
  dimensions.convert({{"example.com/one-too-many", model::Quantity::of(1)}}, &refused);
  EXPECT_EQ(refused, std::vector<std::string>{"example.com/one-too-many"});
}

TEST(Dimensions, RequestsDoNotFillTheTable) {
  Dimensions dimensions;
  model::ResourceList list{{"cpu", model::Quantity::of(1)},
                           {"example.com/none", model::Quantity::of(0)}};
  for (int i = 0; i < 100; ++i) list["example.com/r" + std::to_string(i)] = model::Quantity::of(1);
  model::ResourceList unknown;
  Resources request = dimensions.request(list, unknown);
  EXPECT_EQ(unknown.size(), 100u);
  EXPECT_EQ(dimensions.size(), std::size_t{kFirstExtended});
  EXPECT_FALSE(
      less_equal(request, dimensions.convert({{"cpu", model::Quantity::of(8)}}), Missing::zero));
  EXPECT_EQ(dimensions.list(1u << kCpu | 1u << kUnknown, "no", {{"a.b/c", model::Quantity::of(1)}}),
            "no cpu, no a.b/c");
  unknown = {{"example.com/r7", model::Quantity::of(1)}};
  Resources node = dimensions.convert(
      {{"cpu", model::Quantity::of(8)}, {"example.com/r7", model::Quantity::of(2)}});
  EXPECT_TRUE(dimensions.recognise(request, unknown));
  EXPECT_TRUE(unknown.empty());
  EXPECT_TRUE(less_equal(request, node, Missing::zero));
}

}  // namespace
}  // namespace hekla::scheduler
