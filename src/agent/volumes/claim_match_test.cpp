#include "agent/volumes/claim_match.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::agent {
namespace {

json::Value claim(const std::string& spec_members = "") {
  return json::parse(R"({"metadata":{"name":"c","namespace":"n","uid":"u"},"spec":{)" +
                     spec_members +
                     R"("accessModes":["ReadWriteOnce"],"storageClassName":"",)"
                     R"("resources":{"requests":{"storage":"2Gi"}}}})")
      .value();
}

json::Value volume(const std::string& name, const std::string& size,
                   const std::string& spec_members = "") {
  return json::parse(R"({"metadata":{"name":")" + name + R"(","labels":{"disk":")" + name +
                     R"("}},"spec":{)" + spec_members +
                     R"("accessModes":["ReadWriteOnce","ReadOnlyMany"],"capacity":{"storage":")" +
                     size + R"("},"hostPath":{"path":"/data/)" + name + R"("}}})")
      .value();
}

TEST(ClaimMatch, AVolumeForReadersAloneIsReadOnly) {
  auto volume = [](const char* modes) {
    return json::parse(R"({"spec":{"accessModes":)" + std::string(modes) + "}}").value();
  };
  EXPECT_TRUE(is_read_only(volume(R"(["ReadOnlyMany"])")));
  EXPECT_FALSE(is_read_only(volume(R"(["ReadOnlyMany","ReadWriteOnce"])")));
  EXPECT_FALSE(is_read_only(volume(R"(["ReadWriteMany"])")));
  EXPECT_FALSE(is_read_only(volume("[]")));
}

TEST(ClaimMatch, TakesTheSmallestThatFits) {
  std::vector<json::Value> volumes = {volume("small", "1Gi"), volume("large", "10Gi"),
                                      volume("right", "3Gi")};
  EXPECT_EQ(match_volume(claim(), volumes), 2u);
  EXPECT_EQ(match_volume(claim(R"("selector":{"matchLabels":{"disk":"large"}},)"), volumes), 1u);
  EXPECT_EQ(match_volume(claim(R"("selector":{"matchExpressions":[
      {"key":"disk","operator":"NotIn","values":["right"]}]},)"),
                         volumes),
            1u);
  EXPECT_EQ(match_volume(claim(), {volumes[0]}), std::nullopt);
}

TEST(ClaimMatch, LeavesOtherPeoplesVolumesAlone) {
  const std::string other = R"("claimRef":{"name":"x","namespace":"n","uid":"y"},)";
  const std::string reserved = R"("claimRef":{"name":"c","namespace":"n"},)";
  const std::string classed = R"("storageClassName":"fast",)";
  EXPECT_EQ(match_volume(claim(), {volume("a", "3Gi", other)}), std::nullopt);
  EXPECT_EQ(match_volume(claim(), {volume("a", "3Gi", classed)}), std::nullopt);
  EXPECT_EQ(match_volume(claim(), {volume("a", "3Gi", reserved)}), 0u);
}

TEST(ClaimMatch, TheVolumeThatIsNamedOrReservedComesFirst) {
  const std::string reserved = R"("claimRef":{"name":"c","namespace":"n","uid":"u"},)";
  std::vector<json::Value> volumes = {volume("a", "3Gi"), volume("b", "20Gi", reserved),
                                      volume("c", "30Gi"), volume("d", "1Gi")};
  EXPECT_EQ(match_volume(claim(), volumes), 1u);
  EXPECT_EQ(match_volume(claim(R"("volumeName":"c",)"), volumes), 2u);
  EXPECT_EQ(
      match_volume(claim(R"("volumeName":"c","selector":{"matchLabels":{"x":"y"}},)"), volumes),
      2u);
  EXPECT_EQ(match_volume(claim(R"("volumeName":"d",)"), volumes), std::nullopt);
  EXPECT_EQ(match_volume(claim(R"("volumeName":"none",)"), volumes), std::nullopt);
}

TEST(ClaimMatch, MakesAVolumeForAClaim) {
  json::Value made = provisioned_volume(claim(), local_path_class(), "/s/d", "node-1");
  EXPECT_EQ(json::string_at(made, {"metadata", "name"}), "pvc-u");
  EXPECT_EQ(json::string_at(made, {"spec", "persistentVolumeReclaimPolicy"}), "Delete");
  EXPECT_EQ(json::string_at(made, {"spec", "capacity", "storage"}), "2Gi");
  EXPECT_EQ(json::string_at(made, {"spec", "claimRef", "uid"}), "u");
  EXPECT_EQ(volume_path(made).value(), "/s/d");
  EXPECT_NE(json::serialize(made).find("\"values\":[\"node-1\"]"), std::string::npos);
  EXPECT_FALSE(volume_path(json::parse(R"({"metadata":{"name":"x"},"spec":{"nfs":{}}})").value()));
}

}  // namespace
}  // namespace hekla::agent
