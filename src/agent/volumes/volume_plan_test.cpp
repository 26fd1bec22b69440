#include "agent/volumes/volume_plan.h"

#include <gtest/gtest.h>

#include "json/codec.h"

namespace hekla::agent {
namespace {

model::Pod pod_with(const std::string& volume) {
  return json::decode_text<model::Pod>(
             R"({"metadata":{"name":"p","namespace":"ns","uid":"u","labels":{"a":"b"}},
                 "spec":{"volumes":[)" +
             volume + "]}}")
      .value();
}

PodSources sources() {
  PodSources out;
  out.config_maps["m"].data = {{"a", "1"}, {"b", "2"}};
  out.config_maps["m"].binaryData = {{"bin", "AAE="}};
  out.secrets["s"].data = {{"k", "djE="}};
  return out;
}

Result<VolumePlan> plan(const std::string& volume, const PodSources& from = sources()) {
  auto plans = plan_volumes(pod_with(volume), {}, from, {});
  if (!plans) return std::unexpected(plans.error());
  return plans->at(0);
}

std::string shown(const VolumePlan& plan) {
  std::string out;
  for (const VolumeFile& file : plan.files) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%o", file.mode);
    out += file.path + ":" + mode + "=" + file.content + ";";
  }
  return out;
}

TEST(VolumePlan, AConfigMapIsItsKeys) {
  EXPECT_EQ(shown(*plan(R"({"name":"v","configMap":{"name":"m"}})")),
            std::string("a:644=1;b:644=2;bin:644=") + std::string("\0\1", 2) + ";");
}

TEST(VolumePlan, ItemsChooseAndRename) {
  EXPECT_EQ(shown(*plan(R"({"name":"v","configMap":{"name":"m","defaultMode":256,
              "items":[{"key":"b","path":"x/y"},{"key":"a","path":"z","mode":493}]}})")),
            "x/y:400=2;z:755=1;");
}

TEST(VolumePlan, SecretsAreDecoded) {
  EXPECT_EQ(shown(*plan(R"({"name":"v","secret":{"secretName":"s"}})")), "k:644=v1;");
}

TEST(VolumePlan, MissingObjectsFailUnlessOptional) {
  auto missing = plan(R"({"name":"v","configMap":{"name":"no"}})");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "MountVolume.SetUp failed for volume \"v\" : configmap \"no\" not found");
  EXPECT_EQ(shown(*plan(R"({"name":"v","configMap":{"name":"no","optional":true}})")), "");
  auto key = plan(R"({"name":"v","configMap":{"name":"m","items":[{"key":"q","path":"q"}]}})");
  ASSERT_FALSE(key);
  EXPECT_NE(key.error().message.find("references non-existent config key: q"), std::string::npos);
}

TEST(VolumePlan, ProjectionsAreMergedAndTokensMayBeMissing) {
  const char* projected = R"({"name":"v","projected":{"defaultMode":420,"sources":[
      {"serviceAccountToken":{"path":"token","expirationSeconds":3607}},
      {"configMap":{"name":"m","items":[{"key":"a","path":"ca.crt"}]}},
      {"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"fieldPath":"metadata.namespace"}}]}}]}})";
  EXPECT_EQ(shown(*plan(projected)), "ca.crt:644=1;namespace:644=ns;");
  PodSources with_token = sources();
  with_token.tokens[token_requests(pod_with(projected)).at(0)] = "jwt";
  EXPECT_EQ(shown(*plan(projected, with_token)), "token:644=jwt;ca.crt:644=1;namespace:644=ns;");
}

TEST(VolumePlan, TheRootCertificateHasAStandIn) {
  auto plans = plan_volumes(pod_with(R"({"name":"v","configMap":{"name":"kube-root-ca.crt"}})"), {},
                            {}, {.ca_pem = "PEM"});
  EXPECT_EQ(shown(plans->at(0)), "ca.crt:644=PEM;");
}

TEST(VolumePlan, KindsOfDirectories) {
  EXPECT_EQ(plan(R"({"name":"v"})")->kind, VolumePlan::Kind::directory);
  EXPECT_EQ(plan(R"({"name":"v","emptyDir":{}})")->kind, VolumePlan::Kind::directory);
  auto memory = plan(R"({"name":"v","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}})");
  EXPECT_EQ(memory->kind, VolumePlan::Kind::memory);
  EXPECT_EQ(memory->size_limit_bytes, 1 << 20);
  EXPECT_EQ(plan(R"({"name":"v","hostPath":{"path":"/data"}})")->host_path, "/data");
}

TEST(VolumePlan, RefusesWhatItCannotDo) {
  EXPECT_EQ(plan(R"({"name":"v","persistentVolumeClaim":{"claimName":"c"}})").error().message,
            "MountVolume.SetUp failed for volume \"v\" : persistentvolumeclaim \"c\" not found");
  EXPECT_NE(
      plan(R"({"name":"v","nfs":{"server":"x","path":"/"}})").error().message.find("type nfs"),
      std::string::npos);
}

TEST(VolumePlan, PathsStayInside) {
  for (const char* path : {"../x", "a/../../x", "/etc/x", "..", "a/.."})
    EXPECT_FALSE(
        plan(std::string(R"({"name":"v","configMap":{"name":"m","items":[{"key":"a","path":")") +
             path + "\"}]}}"))
        << path;
}

}  // namespace
}  // namespace hekla::agent
