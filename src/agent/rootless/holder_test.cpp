#include "agent/rootless/holder.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(Holder, KnowsWhichSettingForbidsNamespaces) {
  EXPECT_EQ(user_namespace_fix("1\n", "96350\n", "0\n"), "");
  EXPECT_EQ(user_namespace_fix("", "", ""), "");
  EXPECT_NE(user_namespace_fix("0\n", "96350\n", "").find("unprivileged_userns_clone=1"),
            std::string::npos);
  EXPECT_NE(user_namespace_fix("", "0\n", "").find("max_user_namespaces="), std::string::npos);
  EXPECT_NE(user_namespace_fix("1\n", "9\n", "1\n").find("apparmor_restrict"), std::string::npos);
}

}  // namespace
}  // namespace hekla::agent
