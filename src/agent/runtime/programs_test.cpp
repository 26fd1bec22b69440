#include "agent/runtime/programs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

class ProgramsTest : public ::testing::Test {
 protected:
  void install(const std::string& name, unsigned mode = 0755) {
    ASSERT_TRUE(write_file_atomically(dir_.path() + "/" + name, "", mode));
  }
  std::string runtime(const std::string& wanted) {
    Result<RuntimePrograms> found = find_programs(wanted, {"/no/such", dir_.path()});
    if (!found) return found.error().message;
    EXPECT_EQ(found->monitor, dir_.path() + "/conmon");
    return found->runtime;
  }
  TempDir dir_;
};

TEST_F(ProgramsTest, CrunComesFirstAndRuncStandsIn) {
  EXPECT_EQ(runtime(""), "running pods needs conmon: install it with apt install conmon");
  install("conmon");
  EXPECT_EQ(runtime(""), "running pods needs crun (or runc): install it with apt install crun");
  install("runc");
  install("crun", 0644);
  EXPECT_EQ(runtime(""), dir_.path() + "/runc") << "what cannot be run is none";
  EXPECT_EQ(runtime("crun"), "running pods needs crun: install it with apt install crun");
  install("crun");
  EXPECT_EQ(runtime(""), dir_.path() + "/crun");
  EXPECT_EQ(runtime("runc"), dir_.path() + "/runc");
  EXPECT_EQ(runtime("/bin/true"), "/bin/true");
  EXPECT_EQ(runtime("/bin/no-such"), "the runtime /bin/no-such cannot be run");
  EXPECT_EQ(runtime("docker"), "the runtime is crun, runc or an absolute path, not \"docker\"");
}

TEST_F(ProgramsTest, RunningPodsKeepTheirRuntime) {
  install("crun");
  const std::string crun = dir_.path() + "/crun";
  EXPECT_EQ(keep_runtime(dir_.path(), crun), crun);
  EXPECT_EQ(keep_runtime(dir_.path(), "/usr/bin/other"), crun);
  ASSERT_EQ(::unlink(crun.c_str()), 0);
  EXPECT_EQ(keep_runtime(dir_.path(), "/usr/bin/other"), "/usr/bin/other") << "it is gone";
}

TEST_F(ProgramsTest, WhatRunsCannotBeWritten) {
  install("crun");
  install("newer");
  const std::string crun = dir_.path() + "/crun", newer = dir_.path() + "/newer",
                    place = dir_.path() + "/bound";
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << "mounts need root";
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr), 0);
    EXPECT_EQ(bind_read_only(crun, place), place);
    EXPECT_EQ(::open(place.c_str(), O_WRONLY | O_CLOEXEC), -1);
    EXPECT_EQ(errno, EROFS);
    ASSERT_TRUE(write_file_atomically(newer, "newer", 0755));
    EXPECT_EQ(bind_read_only(newer, place), place);
    EXPECT_EQ(read_file(place).value_or(""), "newer")
        << "the next start has what is installed then";
    EXPECT_EQ(bind_read_only(dir_.path() + "/gone", place), dir_.path() + "/gone");
  }).join();
}

}  // namespace
}  // namespace hekla::agent
