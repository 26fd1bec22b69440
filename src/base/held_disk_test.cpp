#include "base/held_disk.h"

#include <gtest/gtest.h>

#include "base/temp_dir_test.h"

namespace hekla {
namespace {

using Names = std::vector<std::string>;

class HeldDiskTest : public ::testing::Test {
 protected:
  HeldDiskTest() { start(); }
  // What a killed process finds when it begins again.
  void start(bool syncs = true) { disk = hold_back(open_disk(root).value(), syncs).value(); }
  std::string content(const std::string& name) { return disk->read(name).value_or("<nothing>"); }

  TempDir temp;
  const std::string& root = temp.path();
  std::unique_ptr<Disk> disk;
};

TEST_F(HeldDiskTest, OnlyWhatWasSyncedSurvives) {
  auto file = disk->open_append("a").value();
  ASSERT_TRUE(file->append("one"));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(disk->list().value(), Names{"a"});
  start();
  EXPECT_EQ(disk->list().value(), Names{}) << "its name was not synced";
  file = disk->open_append("a").value();
  ASSERT_TRUE(file->append("one"));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(file->append("two"));
  ASSERT_TRUE(disk->sync_directory());
  EXPECT_EQ(content("a"), "onetwo");
  start();
  EXPECT_EQ(content("a"), "one");
  file = disk->open_append("a").value();
  ASSERT_TRUE(file->append("three"));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(file->truncate(2));
  start();
  EXPECT_EQ(content("a"), "onethree");
  file = disk->open_append("a").value();
  ASSERT_TRUE(file->truncate(2));
  ASSERT_TRUE(file->append("!"));
  ASSERT_TRUE(file->sync());
  start();
  EXPECT_EQ(content("a"), "on!");
}

TEST_F(HeldDiskTest, NamesWaitForTheDirectory) {
  for (const char* name : {"a", "b"}) {
    auto file = disk->open_append(name).value();
    ASSERT_TRUE(file->append(name));
    ASSERT_TRUE(file->sync());
  }
  ASSERT_TRUE(disk->sync_directory());
  ASSERT_TRUE(disk->rename("a", "c"));
  ASSERT_TRUE(disk->remove("b"));
  EXPECT_EQ(disk->list().value(), Names{"c"});
  start();
  EXPECT_EQ(disk->list().value(), (Names{"a", "b"}));
  ASSERT_TRUE(disk->rename("a", "b"));
  ASSERT_TRUE(disk->sync_directory());
  start();
  EXPECT_EQ(disk->list().value(), Names{"b"});
  EXPECT_EQ(content("b"), "a");
}

TEST_F(HeldDiskTest, WithoutSyncsNothingSurvives) {
  start(false);
  auto file = disk->open_append("a").value();
  ASSERT_TRUE(file->append("one"));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(disk->sync_directory());
  start();
  EXPECT_EQ(disk->list().value(), Names{});
}

}  // namespace
}  // namespace hekla
