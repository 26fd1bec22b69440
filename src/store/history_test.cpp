#include "store/history.h"

#include <gtest/gtest.h>

namespace hekla::store {
namespace {

constexpr std::uint64_t kNoByteLimit = ~0ull;

BucketChange change(BucketId bucket, Revision revision, std::size_t value_bytes = 0) {
  auto item = std::make_shared<Item>();
  item->modified = revision;
  item->value.assign(value_bytes, 'v');
  return {bucket, {Change::Kind::created, revision, item, nullptr}};
}

std::vector<Revision> revisions(const Result<std::vector<Change>>& changes) {
  std::vector<Revision> found;
  if (changes)
    for (const Change& change : *changes) found.push_back(change.revision);
  return found;
}

TEST(History, ServesEachBucketInOrder) {
  History history({100, kNoByteLimit}, 10);
  EXPECT_TRUE(history.append({change(0, 11), change(1, 12), change(0, 13), change(0, 14)}).empty());
  EXPECT_EQ(revisions(history.after(0, 10, 100)), (std::vector<Revision>{11, 13, 14}));
  EXPECT_EQ(revisions(history.after(0, 11, 1)), (std::vector<Revision>{13}));
  EXPECT_EQ(revisions(history.after(1, 12, 100)), (std::vector<Revision>{}));
  EXPECT_EQ(revisions(history.after(0, 99, 100)), (std::vector<Revision>{}));
  EXPECT_EQ(revisions(history.after(7, 10, 100)), (std::vector<Revision>{}));
}

TEST(History, StartsAtTheRecoveredRevision) {
  History history({100, kNoByteLimit}, 10);
  EXPECT_EQ(history.oldest(), 10u);
  EXPECT_TRUE(history.after(0, 10, 100));
  auto older = history.after(0, 9, 100);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, Code::expired);
  EXPECT_EQ(older.error().message,
            "changes after revision 9 are no longer kept, the oldest still served is 10");
}

TEST(History, ForgetsTheOldestOfAllBuckets) {
  History history({3, kNoByteLimit}, 0);
  EXPECT_TRUE(history.append({change(0, 1), change(1, 2), change(1, 3)}).empty());
  EXPECT_EQ(history.oldest(), 0u);
  EXPECT_EQ(history.append({change(1, 4), change(1, 5)}).size(), 2u);
  EXPECT_EQ(history.oldest(), 2u);
  EXPECT_EQ(revisions(history.after(1, 2, 100)), (std::vector<Revision>{3, 4, 5}));
  EXPECT_FALSE(history.after(0, 1, 100));
  EXPECT_TRUE(history.after(0, 2, 100));
}

TEST(History, IsBoundedInBytes) {
  History history({1000, 10'000}, 0);
  std::size_t dropped = 0;
  for (Revision r = 1; r <= 20; ++r) dropped += history.append({change(0, r, 1000)}).size();
  EXPECT_GE(dropped, 11u);
  EXPECT_LT(dropped, 20u);
  EXPECT_EQ(history.oldest(), dropped);
  EXPECT_EQ(history.after(0, history.oldest(), 100)->size(), 20 - dropped);
}

}  // namespace
}  // namespace hekla::store
