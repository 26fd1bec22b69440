#include "cli/train/command_job.h"

#include <gtest/gtest.h>

#include <fstream>

namespace hekla::cli {
namespace {

TEST(CommandJob, IsAGangThatEndsWithItsFirstFailure) {
  const json::Value job = command_job({.command = {"python3", "train.py", "--epochs", "3"},
                                       .name = "train-x",
                                       .ns = "team",
                                       .image = "host",
                                       .queue = "research",
                                       .memory = "2Gi",
                                       .replicas = 4,
                                       .gpus = 1});
  EXPECT_EQ(json::int_at(job, {"spec", "minAvailable"}), 4);
  EXPECT_EQ(json::string_at(job, {"spec", "queue"}), "research");
  EXPECT_EQ(json::string_at(json::array_at(job, {"spec", "policies"})->at(0), {"action"}),
            "TerminateJob");
  const json::Value& task = json::array_at(job, {"spec", "tasks"})->at(0);
  EXPECT_EQ(json::int_at(task, {"replicas"}), 4);
  const json::Value& container = json::array_at(task, {"template", "spec", "containers"})->at(0);
  EXPECT_EQ(json::serialize(*json::find(container, "command")),
            R"(["python3","train.py","--epochs","3"])");
  EXPECT_EQ(json::serialize(*json::find(container, "resources")),
            R"({"requests":{"memory":"2Gi"},"limits":{"memory":"2Gi","nvidia.com/gpu":1}})");
  EXPECT_EQ(json::find(container, "workingDir"), nullptr);
}

TEST(CommandJob, IsNamedAfterTheProgram) {
  EXPECT_EQ(name_of_command({"python", "-u", "my/Train.py"}, "x"), "train-x");
  EXPECT_EQ(name_of_command({"sh", "-c", "echo hello"}, "x"), "sh-x");
  EXPECT_EQ(name_of_command({"./bench"}, "x"), "bench-x");
}

TEST(CommandJob, AFileOfObjectsIsNoProgram) {
  const std::string path = testing::TempDir() + "/job.yaml";
  std::ofstream(path) << "kind: Job\n";
  Result<void> checked = check_command({path});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            path + " is a file of objects, no program: hekla run -f " + path);
  EXPECT_TRUE(check_command({"cat", path}));
}

}  // namespace
}  // namespace hekla::cli
