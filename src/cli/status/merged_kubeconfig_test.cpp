#include "cli/status/merged_kubeconfig.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::cli {
namespace {

constexpr const char* kOurs =
    "apiVersion: v1\nkind: Config\nclusters: [{name: hekla, cluster: {server: 'https://one'}}]\n"
    "users: [{name: hekla, user: {token: t}}]\n"
    "contexts: [{name: hekla, context: {cluster: hekla, user: hekla}}]\n"
    "current-context: hekla\n";

json::Value read(const std::string& text) { return json::parse_yaml(text).value().at(0).value; }

TEST(MergedKubeconfig, StandsBesideOthersWhichStayCurrent) {
  const std::string theirs =
      "apiVersion: v1\nkind: Config\npreferences: {colors: true}\n"
      "clusters: [{name: work, cluster: {server: 'https://work'}}]\n"
      "users: [{name: me, user: {exec: {command: login}}}]\n"
      "contexts: [{name: work, context: {cluster: work, user: me}}]\ncurrent-context: work\n";
  const json::Value merged = read(merged_kubeconfig(theirs, kOurs, "hekla").value());
  EXPECT_EQ(json::string_at(merged, {"current-context"}), "work");
  ASSERT_EQ(json::array_at(merged, {"clusters"})->size(), 2u);
  EXPECT_EQ(json::string_at(json::array_at(merged, {"users"})->at(0), {"user", "exec", "command"}),
            "login");
  EXPECT_EQ(json::string_at(json::array_at(merged, {"contexts"})->at(1), {"context", "user"}),
            "hekla");
  EXPECT_TRUE(json::bool_at(merged, {"preferences", "colors"}));
}

TEST(MergedKubeconfig, ReplacesItselfAndBecomesCurrentWhereNothingIs) {
  const std::string once = merged_kubeconfig("", kOurs, "hekla-two").value();
  const json::Value twice = read(merged_kubeconfig(once, kOurs, "hekla-two").value());
  EXPECT_EQ(json::array_at(twice, {"clusters"})->size(), 1u);
  EXPECT_EQ(json::string_at(twice, {"current-context"}), "hekla-two");
}

TEST(MergedKubeconfig, RefusesWhatIsNone) {
  EXPECT_FALSE(merged_kubeconfig("just words", kOurs, "hekla"));
}

}  // namespace
}  // namespace hekla::cli
