#include "cli/up_options.h"

#include <gtest/gtest.h>

#include "base/disk.h"
#include "cli/command.h"

namespace hekla::cli {
namespace {

using Texts = std::vector<std::string>;

// As `hekla up` would understand the arguments; null when it refuses them.
std::unique_ptr<UpOptions> parsed(Texts arguments) {
  auto options = std::make_unique<UpOptions>();
  Command root{.name = "hekla"};
  root.commands.push_back(
      {.name = "up", .summary = "", .flags = up_flags(*options), .run = [] { return 0; }});
  if (run_command_line(root, std::move(arguments)) != 0) return nullptr;
  return options;
}

std::vector<Texts> values_of(UpOptions& options) {
  std::vector<Texts> values;
  for (const Flag& flag : up_flags(options)) values.push_back(flag.get());
  return values;
}

// Another value than the usual one that the flag's rules allow.
Texts another(const Flag& flag) {
  if (flag.takes == Flag::Takes::nothing) return {flag.get().front() == "true" ? "false" : "true"};
  for (const char* text : {"*=host", "7", "restricted", "none", "debug", "cpu=4", "/dev/null"}) {
    std::string value = text;
    bool right = true;
    for (const ValueRule& rule : flag.rules) right &= rule.check(value).empty();
    if (!right || Texts{text} == flag.get()) continue;
    const Texts before = flag.get();
    if (flag.set({text})) return {text};
    flag.set(before);
  }
  ADD_FAILURE() << "no other value for " << flag.names;
  return {};
}

TEST(UpArguments, CarryEveryFlagToASecondProcess) {
  UpOptions options;
  for (const Flag& flag : up_flags(options)) flag.set(another(flag));
  std::unique_ptr<UpOptions> there = parsed(up_arguments(options));
  ASSERT_TRUE(there);
  EXPECT_EQ(values_of(*there), values_of(options));
}

TEST(UpArguments, LeaveOutWhatIsUsual) {
  UpOptions options;
  options.data_dir = "/data";
  EXPECT_EQ(up_arguments(options), (Texts{"up", "--data-dir", "/data"}));
  options.agent.pod_max_pids = 9;
  options.agent.outside = false;
  options.agent.image_map = {"a=host", "*=host"};
  EXPECT_EQ(up_arguments(options),
            (Texts{"up", "--data-dir", "/data", "--image-map", "a=host", "--image-map", "*=host",
                   "--pod-max-pids", "9", "--no-outside"}));
}

TEST(UpArguments, OfTheLastStartEndWhatItLeft) {
  std::string directory = testing::TempDir() + "stop-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  EXPECT_EQ(arguments_to_stop(directory), (Texts{"up", "--data-dir", directory, "--only-stop"}));
  UpOptions options;
  options.data_dir = directory;
  options.agent.node_name = "n";
  options.agent.node_resources = parse_resource_list("nvidia.com/gpu=4").value();
  options.agent.pod_max_pids = 9;  // no matter when all it does is end pods
  options.record = "/record";
  remember_arguments(options);
  EXPECT_EQ(arguments_to_stop(directory),
            (Texts{"up", "--data-dir", directory, "--node-name", "n", "--node-resources",
                   "nvidia.com/gpu=4", "--only-stop"}));
}

TEST(UpFlags, SetTheComponentsOwnOptions) {
  std::unique_ptr<UpOptions> options =
      parsed({"up", "--eviction-pressure-transition-period", "90", "--fake-pod-delay", "0.5",
              "--fake-nodes", "3", "--eviction-hard", "", "--no-outside",
              "--minimum-image-ttl-duration=60"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->agent.eviction.pressure_transition, std::chrono::seconds(90));
  EXPECT_EQ(options->agent.image_gc.minimum_age, std::chrono::minutes(1));
  EXPECT_EQ(options->fake_nodes.pod_delay, std::chrono::milliseconds(500));
  EXPECT_EQ(options->fake_nodes.count, 3);
  EXPECT_EQ(options->agent.eviction.hard, "");
  EXPECT_FALSE(options->agent.outside);
}

TEST(UpFlags, RefuseWhatIsNoValue) {
  EXPECT_FALSE(parsed({"up", "--gpu-replicas", "0"}));
  EXPECT_FALSE(parsed({"up", "--gpu-replicas", "two"}));
  EXPECT_FALSE(parsed({"up", "--log-level", "loud"}));
  EXPECT_FALSE(parsed({"up", "--node-resources", "gpu"}));
  EXPECT_FALSE(parsed({"up", "--history-changes", "0"}));
  EXPECT_FALSE(parsed({"up", "--scheduler-conf", "/nonexistent"}));
}

}  // namespace
}  // namespace hekla::cli
