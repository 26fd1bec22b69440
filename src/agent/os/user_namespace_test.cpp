#include "agent/os/user_namespace.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(UserNamespace, OfOneUserIsToldByTheTableOfUsers) {
  EXPECT_TRUE(maps_one_user("         0       4242          1\n"));
  EXPECT_FALSE(maps_one_user("         0          0 4294967295\n"));
  EXPECT_FALSE(
      maps_one_user("         0       1000          1\n         1     100000      65536\n"));
  EXPECT_FALSE(maps_one_user(""));
}

}  // namespace
}  // namespace hekla::agent
