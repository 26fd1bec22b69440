#include "agent/runtime/apparmor.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::agent {
namespace {

TEST(AppArmor, ANamedProfileIsNotLeftOut) {
  const json::Value named =
      json::parse(R"({"appArmorProfile":{"type":"Localhost","localhostProfile":"strict"}})")
          .value();
  const json::Value usual = json::parse(R"({"appArmorProfile":{"type":"RuntimeDefault"}})").value();
  model::Pod pod;
  pod.spec.containers.resize(1);
  pod.spec.securityContext = usual;
  EXPECT_EQ(missing_apparmor(pod, {}), std::nullopt);
  pod.spec.containers[0].securityContext = named;
  EXPECT_EQ(missing_apparmor(pod, {}),
            "Cannot enforce AppArmor: AppArmor is not enabled on the host");
  const AppArmor kernel{true, "other (enforce)\nstrict (enforce)\n"};
  EXPECT_EQ(missing_apparmor(pod, kernel), std::nullopt);
  EXPECT_EQ(apparmor_profile(usual, named, kernel), "strict");
  EXPECT_EQ(apparmor_profile(named, usual, kernel), "") << "the container's word is the last";
  EXPECT_EQ(apparmor_profile(nullptr, named, {true, "stricter (enforce)\n"}).error().message,
            "apparmor profile not found strict");
}

}  // namespace
}  // namespace hekla::agent
