#include "base/rotating_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla {
namespace {

class StepClock final : public Clock {
 public:
  WallTime wall() const override { return now; }
  MonoTime mono() const override { return MonoTime(now.time_since_epoch()); }
  WallTime now{std::chrono::hours(24 * 365 * 50)};
};

class RotatingFileTest : public ::testing::Test {
 protected:
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory + "/logs"))
      names.insert(entry.path().filename().string());
    return names;
  }
  TempDir temp;
  const std::string& directory = temp.path();
  StepClock clock;
};

TEST_F(RotatingFileTest, IsPutAsideWhenItHasGrownAndOldOnesGo) {
  const std::string path = directory + "/logs/audit.log";
  auto file = RotatingFile::open(path, {.max_bytes = 10, .max_backups = 2}, clock).value();
  for (char c : {'a', 'b', 'c', 'd'}) {
    ASSERT_TRUE(file->append(std::string(6, c)));
    clock.now += std::chrono::milliseconds(1500);
  }
  EXPECT_EQ(read_file(path).value(), "dddddd");
  EXPECT_EQ(files(), (std::set<std::string>{"audit.log", "audit-2019-12-20T00-00-03.000.log",
                                            "audit-2019-12-20T00-00-04.500.log"}));
  file =
      RotatingFile::open(path, {.max_bytes = 10, .max_age = std::chrono::hours(1)}, clock).value();
  ASSERT_TRUE(file->append("ee"));  // goes on where the last one stopped
  EXPECT_EQ(read_file(path).value(), "ddddddee");
  clock.now += std::chrono::hours(2);
  ASSERT_TRUE(file->append("ffff"));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(RotatingFileTest, WhatCannotBeOpenedIsSaid) {
  EXPECT_EQ(RotatingFile::open("/proc/nowhere/audit.log", {}, clock).error().message,
            "open /proc/nowhere/audit.log: No such file or directory");
}

}  // namespace
}  // namespace hekla
