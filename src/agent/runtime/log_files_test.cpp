#include "agent/runtime/log_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

class LogFilesTest : public ::testing::Test {
 protected:
  // As the monitor does.
  void replace(const std::string& text) { ASSERT_TRUE(write_file_atomically(path_, text, 0600)); }
  std::string all() {
    std::string out;
    for (const std::string& file : log_files(path_)) out += read_file(file).value_or("?") + " ";
    return out;
  }
  TempDir temp_;
  const std::string path_ = temp_.path() + "/0.log";
};

TEST_F(LogFilesTest, TheBeginningAndTheLastTwoStay) {
  EXPECT_TRUE(tend_log_files(path_)) << "nothing there yet";
  EXPECT_EQ(all(), "");
  replace("a");
  ASSERT_TRUE(tend_log_files(path_));
  EXPECT_EQ(all(), "a ");
  replace("b");
  EXPECT_EQ(all(), "a b ") << "before anybody has looked";
  ASSERT_TRUE(tend_log_files(path_));
  ASSERT_TRUE(tend_log_files(path_));
  EXPECT_EQ(all(), "a b ");
  replace("c");
  EXPECT_EQ(all(), "a b c ");
  ASSERT_TRUE(tend_log_files(path_));
  replace("d");
  ASSERT_TRUE(tend_log_files(path_));
  EXPECT_EQ(all(), "a c d ");
  remove_log_files(path_);
  EXPECT_TRUE(std::filesystem::is_empty(temp_.path()));
}

TEST_F(LogFilesTest, WhatNobodySawIsLostButNotTheBeginning) {
  replace("a");
  ASSERT_TRUE(tend_log_files(path_));
  for (const char* text : {"b", "c", "d"}) replace(text);
  ASSERT_TRUE(tend_log_files(path_));
  EXPECT_EQ(all(), "a d ");
}

}  // namespace
}  // namespace hekla::agent
