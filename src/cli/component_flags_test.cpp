#include "cli/component_flags.h"

#include <gtest/gtest.h>

namespace hekla::cli {
namespace {

const std::vector<std::string> kKnown = {"gc-controller", "job-controller", "pg-controller"};
const std::vector<std::string> kAbsent = {"sharding-controller"};

using Names = std::vector<std::string>;

Names disabled(Names list) {
  Result<Names> found = disabled_controllers(list, kKnown, kAbsent);
  return found ? *found : Names{found.error().message};
}

TEST(ControllersFlag, PicksAndLeavesOut) {
  EXPECT_EQ(disabled({"*"}), Names{});
  EXPECT_EQ(disabled({}), Names{});
  EXPECT_EQ(disabled({"*", "-sharding-controller"}), Names{});
  EXPECT_EQ(disabled({"*", "-gc-controller"}), Names{"gc-controller"});
  EXPECT_EQ(disabled({"-gc-controller", "-pg-controller"}),
            (Names{"gc-controller", "pg-controller"}));
  EXPECT_EQ(disabled({"+gc-controller", "job-controller"}), Names{"pg-controller"});
  EXPECT_EQ(disabled({"*", "+gc-controller"}), Names{});
}

TEST(ControllersFlag, RefusesWhatItCannotMean) {
  EXPECT_EQ(disabled({"-jobs-controller"}),
            Names{"--controllers: there is no controller \"jobs-controller\", did you mean "
                  "\"job-controller\"?"});
  EXPECT_EQ(disabled({"gc-controller", "-gc-controller"}),
            Names{"controllers option -gc-controller cannot have both '-' and '+' prefixes"});
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
  Names arguments{"--logtostderr", "--enable_healthz=true", "-v=4", "--scheduler-conf=/a_b",
                  "2>&1"};
  normalize_component_arguments(arguments);
  EXPECT_EQ(arguments,
            (Names{"--logtostderr", "--enable-healthz=true", "--v=4", "--scheduler-conf=/a_b"}));
}

}  // namespace
}  // namespace hekla::cli
