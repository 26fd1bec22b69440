#include "agent/image/registry/reference.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

const std::string kSomeDigest = "sha256:" + std::string(64, 'a');

std::string canonical_of(const std::string& text) {
  Result<ImageReference> parsed = parse_reference(text);
  return parsed ? parsed->canonical() : "error: " + parsed.error().message;
}

TEST(ImageReference, ShortNamesAreDockerHubs) {
  EXPECT_EQ(canonical_of("busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(canonical_of("busybox:1.36"), "docker.io/library/busybox:1.36");
  EXPECT_EQ(canonical_of("volcanosh/vc-scheduler:v1.10.0"),
            "docker.io/volcanosh/vc-scheduler:v1.10.0");
  EXPECT_EQ(canonical_of("index.docker.io/library/x"), "docker.io/library/x:latest");
}

TEST(ImageReference, RegistriesHaveADotAPortOrAreLocalhost) {
  EXPECT_EQ(canonical_of("localhost/a"), "localhost/a:latest");
  EXPECT_EQ(canonical_of("127.0.0.1:5000/a/b:t"), "127.0.0.1:5000/a/b:t");
  EXPECT_EQ(canonical_of("registry.example.com/team/app@" + kSomeDigest),
            "registry.example.com/team/app@" + kSomeDigest);
  EXPECT_EQ(canonical_of("r.example/app:v1@" + kSomeDigest), "r.example/app:v1@" + kSomeDigest);
  EXPECT_EQ(canonical_of("[::1]:5000/a"), "[::1]:5000/a:latest");
}

TEST(ImageReference, NonsenseIsRefused) {
  for (const char* text : {"", ":", "a:", "a b", "a//b", "/a", "a/", "-a", "a..b", "a___b", "a@b",
                           "a@sha256:12", "a:-x", "../etc", "r.example:port/a", "a:b c"})
    EXPECT_EQ(canonical_of(text), "error: invalid reference format") << text;
  EXPECT_EQ(canonical_of("team/BusyBox"),
            "error: invalid reference format: repository name (team/BusyBox) must be lowercase");
}

TEST(ImageReference, LatestIsAlwaysPulled) {
  EXPECT_EQ(pull_policy("", *parse_reference("a")), "Always");
  EXPECT_EQ(pull_policy("", *parse_reference("a:1")), "IfNotPresent");
  EXPECT_EQ(pull_policy("", *parse_reference("a@" + kSomeDigest)), "IfNotPresent");
  EXPECT_EQ(pull_policy("Never", *parse_reference("a")), "Never");
}

}  // namespace
}  // namespace hekla::agent
