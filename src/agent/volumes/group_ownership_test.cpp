#include "agent/volumes/group_ownership.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;
constexpr std::uint32_t kGroup = 4711;

class GroupOwnershipTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "files are given away: run this as root";
    fs::create_directories(top_ + "/a/b");
    ASSERT_TRUE(write_file_atomically(top_ + "/a/b/file", "x", 0600));
    ASSERT_TRUE(write_file_atomically(temp_.path() + "/outside", "x", 0600));
    fs::create_symlink("../outside", top_ + "/link");
    ::chmod((top_ + "/a/b").c_str(), 0700);
  }
  // "group mode" of the path itself, whatever it is.
  static std::string look(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    char text[32];
    std::snprintf(text, sizeof text, "%u %o", info.st_gid, info.st_mode & 07777);
    return text;
  }
  TempDir temp_;
  const std::string top_ = temp_.path() + "/volume";
};

TEST_F(GroupOwnershipTest, ReachesEverythingBelowAndNothingElse) {
  ASSERT_TRUE(give_to_group(top_, kGroup, false));
  EXPECT_EQ(look(top_ + "/a/b"), "4711 2770");
  EXPECT_EQ(look(top_ + "/a/b/file"), "4711 660");
  EXPECT_TRUE(look(top_ + "/link").starts_with("4711 "));
  EXPECT_EQ(look(temp_.path() + "/outside"), "0 600");
}

TEST_F(GroupOwnershipTest, OnRequestATopThatIsRightSaysTheRestIs) {
  ASSERT_TRUE(give_to_group(top_, kGroup, true));
  EXPECT_EQ(look(top_ + "/a/b/file"), "4711 660");
  ASSERT_EQ(::lchown((top_ + "/a/b/file").c_str(), 0, 0), 0);
  ASSERT_TRUE(give_to_group(top_, kGroup, true));
  EXPECT_EQ(look(top_ + "/a/b/file"), "0 660");
  ASSERT_TRUE(give_to_group(top_, kGroup, false));
  EXPECT_EQ(look(top_ + "/a/b/file"), "4711 660");
  EXPECT_FALSE(give_to_group(top_ + "/nothing", kGroup, false));
}

}  // namespace
}  // namespace hekla::agent
