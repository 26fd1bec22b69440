#include "base/command.h"

#include <gtest/gtest.h>

namespace hekla {
namespace {

using namespace std::chrono_literals;

TEST(Command, OutputExitCodeAndEnvironment) {
  Result<CommandOutcome> outcome =
      run_command({"sh", "-c", "read line; echo \"$GREETING $# [$line]\"; exit 3", "sh", "one"},
                  {"GREETING=hello"}, 60s);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->output, "hello 1 []\n");
  EXPECT_EQ(outcome->exit_code, 3);
  EXPECT_EQ(run_command({"sh", "-c", "kill -TERM $$"}, {}, 60s)->exit_code, 128 + 15);
  EXPECT_NE(run_command({"sh", "-c", "echo $PATH"}, {}, 60s)->output, "\n") << "ours is inherited";
}

TEST(Command, WhatGoesWrong) {
  EXPECT_EQ(run_command({"hekla-no-such-program"}, {}, 60s).error().code, Code::not_found);
  EXPECT_EQ(run_command({"sleep", "60"}, {}, 50ms).error().code, Code::timeout);
  EXPECT_EQ(run_command({"sh", "-c", "exec sleep 60 >&-"}, {}, 50ms).error().code, Code::timeout);
  EXPECT_EQ(run_command({"sh", "-c", "head -c 2000000 /dev/zero"}, {}, 60s).error().code,
            Code::too_large);
}

}  // namespace
}  // namespace hekla
