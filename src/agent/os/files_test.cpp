#include "agent/os/files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

TEST(Files, EndsOfAFileOfAnySize) {
  TempDir temp;
  const std::string path = temp.path() + "/f";
  ASSERT_TRUE(replace_file(path, "0123456789", 0600));
  EXPECT_EQ(read_beginning(path, 4).value(), "0123");
  EXPECT_EQ(read_end(path, 4).value(), "6789");
  EXPECT_EQ(read_beginning(path, 40).value(), "0123456789");
  EXPECT_EQ(read_end(path, 40).value(), "0123456789");
  EXPECT_EQ(read_beginning(temp.path() + "/none", 4).error().code, Code::not_found);
  // A hole as large as a disk is read no further than asked.
  std::filesystem::resize_file(path, std::uintmax_t{1} << 42);
  EXPECT_EQ(read_beginning(path, 12).value(), std::string("0123456789\0\0", 12));
  EXPECT_EQ(read_end(path, 3).value(), std::string(3, '\0'));
}

}  // namespace
}  // namespace hekla::agent
