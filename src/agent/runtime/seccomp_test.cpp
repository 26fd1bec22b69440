#include "agent/runtime/seccomp.h"

#include <gtest/gtest.h>

#include "agent/runtime/bundle.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

bool forbids(const json::Value& section, const std::string& call) {
  return json::serialize(section).find("\"" + call + "\"") != std::string::npos;
}

TEST(Seccomp, CapabilitiesGiveCallsBack) {
  EXPECT_TRUE(forbids(default_seccomp({}), "mount"));
  EXPECT_TRUE(forbids(default_seccomp({}), "keyctl"));
  EXPECT_FALSE(forbids(default_seccomp({"SYS_ADMIN"}), "mount"));
  EXPECT_TRUE(forbids(default_seccomp({"SYS_ADMIN"}), "reboot"));
}

TEST(Seccomp, TheProfileOfTheContainerWinsOverThePods) {
  json::Value runtime = json::parse(R"({"seccompProfile":{"type":"RuntimeDefault"}})").value();
  json::Value none = json::parse(R"({"seccompProfile":{"type":"Unconfined"}})").value();
  BundleSpec spec;
  auto filtered = [&] { return json::find_path(oci_config(spec), {"linux", "seccomp"}) != nullptr; };
  EXPECT_FALSE(filtered());
  spec.security = merge_security(runtime, json::Value());
  EXPECT_TRUE(filtered());
  spec.security = merge_security(runtime, none);
  EXPECT_FALSE(filtered());
  spec.security = merge_security(json::Value(), runtime);
  EXPECT_TRUE(filtered());
  spec.security.privileged = true;
  EXPECT_FALSE(filtered());
}

}  // namespace
}  // namespace hekla::agent
