#include "agent/rootless.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(Rootless, SaysWhatIsMissing) {
  EXPECT_NE(rootless_notice(1000, "no pasta").find("nothing outside (no pasta)"),
            std::string::npos);
  EXPECT_EQ(rootless_notice(1000, "").find("nothing outside"), std::string::npos);
  EXPECT_NE(rootless_notice(1000, "").find("uid 1000"), std::string::npos);
}

}  // namespace
}  // namespace hekla::agent
