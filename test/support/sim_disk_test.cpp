#include "support/sim_disk.h"

#include <gtest/gtest.h>

#include <set>

namespace hekla::sim {
namespace {

// A disk with the durable file "f" holding "synced".
struct Fixture {
  explicit Fixture(std::uint64_t seed) : disk(seed) {
    file = disk.open_append("f").value();
    EXPECT_TRUE(file->append("synced"));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(disk.sync_directory());
  }
  SimDisk disk;
  std::unique_ptr<AppendFile> file;
};

TEST(SimDisk, WhatWasSyncedSurvivesAndTheRestMayBeTorn) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Fixture f(seed);
    ASSERT_TRUE(f.file->append(std::string(2000, 'x')));
    EXPECT_EQ(f.disk.read("f")->size(), 2006u);
    f.disk.crash();
    std::string content = f.disk.read("f").value();
    ASSERT_TRUE(content.starts_with("synced"));
    outcomes.insert(content);
  }
  EXPECT_TRUE(outcomes.contains("synced"));
  EXPECT_TRUE(outcomes.contains("synced" + std::string(2000, 'x')));
  EXPECT_GT(outcomes.size(), 20u);
}

TEST(SimDisk, NamesNotSyncedMayBeLost) {
  int created = 0, renamed = 0, removed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Fixture f(seed);
    auto file = f.disk.open_append("new").value();
    f.disk.crash();
    created += f.disk.read("new").has_value();
    ASSERT_TRUE(f.disk.rename("f", "g"));
    f.disk.crash();
    bool moved = f.disk.read("g").has_value();
    renamed += moved;
    ASSERT_NE(moved, f.disk.read("f").has_value()) << "a rename is atomic";
    std::string name = moved ? "g" : "f";
    ASSERT_TRUE(f.disk.sync_directory());
    ASSERT_TRUE(f.disk.remove(name));
    f.disk.crash();
    removed += !f.disk.read(name).has_value();
  }
  for (int count : {created, renamed, removed}) {
    EXPECT_GT(count, 50);
    EXPECT_LT(count, 150);
  }
}

TEST(SimDisk, FilesOpenedBeforeACrashAreDead) {
  Fixture f(1);
  f.disk.crash();
  EXPECT_FALSE(f.file->append("x"));
  EXPECT_FALSE(f.file->sync());
  EXPECT_FALSE(f.file->truncate(0));
}

TEST(SimDisk, SpaceRunsOutAndComesBack) {
  Fixture f(1);
  f.disk.set_space_left(3);
  auto written = f.file->append("12345");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "write f: No space left on device");
  EXPECT_EQ(f.disk.read("f").value(), "synced123");
  ASSERT_TRUE(f.file->truncate(6));
  EXPECT_TRUE(f.file->append("123"));
  EXPECT_FALSE(f.file->append("4"));
  f.disk.set_space_left(std::nullopt);
  EXPECT_TRUE(f.file->append("4"));
}

TEST(SimDisk, AfterAFailedSyncALaterOneProvesNothing) {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Fixture f(seed);
    ASSERT_TRUE(f.file->append("dirty"));
    f.disk.fail_next_syncs(1);
    ASSERT_FALSE(f.file->sync());
    EXPECT_EQ(f.disk.read("f").value(), "synceddirty");
    ASSERT_TRUE(f.file->sync());
    f.disk.crash();
    lost += f.disk.read("f").value() != "synceddirty";
  }
  EXPECT_GT(lost, 25);
}

TEST(SimDisk, PowerGoesDuringAnOperation) {
  Fixture f(1);
  f.disk.cut_power_after(1);
  EXPECT_TRUE(f.file->append("a"));
  EXPECT_FALSE(f.disk.power_lost());
  EXPECT_FALSE(f.file->append("b"));
  EXPECT_TRUE(f.disk.power_lost());
  EXPECT_FALSE(f.file->sync());
  EXPECT_FALSE(f.disk.open_append("g"));
  EXPECT_FALSE(f.disk.read("f"));
  EXPECT_FALSE(f.disk.list());
  f.disk.crash();
  EXPECT_EQ(f.disk.read("f")->substr(0, 6), "synced");
}

TEST(SimDisk, DamageStays) {
  Fixture f(1);
  f.disk.flip_bit("f", 0, 0);
  EXPECT_EQ(f.disk.read("f").value(), "rynced");
  f.disk.crash();
  EXPECT_EQ(f.disk.read("f").value(), "rynced");
}

}  // namespace
}  // namespace hekla::sim
