#include "cli/component_flags.h"

#include <gtest/gtest.h>

namespace hekla::cli {
namespace {

const std::vector<std::string> kKnown = {"gc-controller", "job-controller", "pg-controller"};
const std::vector<std::string> kAbsent = {"sharding-controller"};

using FlagNames = std::vector<std::string>;

FlagNames disabled(FlagNames list) {
  Result<FlagNames> found = disabled_controllers(list, kKnown, kAbsent);
  return found ? *found : FlagNames{found.error().message};
}

TEST(ControllersFlag, PicksAndLeavesOut) {
  EXPECT_EQ(disabled({"*"}), FlagNames{});
  EXPECT_EQ(disabled({}), FlagNames{});
  EXPECT_EQ(disabled({"*", "-sharding-controller"}), FlagNames{});
  EXPECT_EQ(disabled({"*", "-gc-controller"}), FlagNames{"gc-controller"});
  EXPECT_EQ(disabled({"-gc-controller", "-pg-controller"}),
            (FlagNames{"gc-controller", "pg-controller"}));
  EXPECT_EQ(disabled({"+gc-controller", "job-controller"}), FlagNames{"pg-controller"});
  EXPECT_EQ(disabled({"*", "+gc-controller"}), FlagNames{});
}

TEST(ControllersFlag, RefusesWhatItCannotMean) {
  EXPECT_EQ(disabled({"-jobs-controller"}),
            FlagNames{"--controllers: there is no controller \"jobs-controller\", did you mean "
                      "\"job-controller\"?"});
  EXPECT_EQ(disabled({"gc-controller", "-gc-controller"}),
            FlagNames{"controllers option -gc-controller cannot have both '-' and '+' prefixes"});
}

TEST(FeatureGates, AreNamesAndTruths) {
  auto gates = parse_feature_gates("WorkLoadSupport=false,PriorityClass=true");
  ASSERT_TRUE(gates);
  EXPECT_EQ(*gates,
            (std::map<std::string, bool>{{"PriorityClass", true}, {"WorkLoadSupport", false}}));
  EXPECT_TRUE(parse_feature_gates("")->empty());
  EXPECT_EQ(parse_feature_gates("A=true,B").error().message,
            "--feature-gates: \"B\" is not of the form NAME=true or NAME=false");
}

TEST(ComponentArguments, ComeAsManifestsWriteThem) {
  FlagNames arguments{"--logtostderr", "--enable_healthz=true", "-v=4", "--scheduler-conf=/a_b",
                      "2>&1"};
  normalize_component_arguments(arguments);
  EXPECT_EQ(arguments, (FlagNames{"--logtostderr", "--enable-healthz=true", "--v=4",
                                  "--scheduler-conf=/a_b"}));
}

}  // namespace
}  // namespace hekla::cli
