#include "agent/image/image_map.h"

#include <gtest/gtest.h>

namespace hekla::agent {
namespace {

TEST(ImageMap, StarMatchesAnything) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*", "docker.io/library/nginx:1"));
  EXPECT_TRUE(matches_glob("busybox*", "busybox:1.36"));
  EXPECT_TRUE(matches_glob("*/tf-*:latest", "kubeflow/tf-mnist:latest"));
  EXPECT_TRUE(matches_glob("a*b*c", "axxbyybzzc"));
  EXPECT_FALSE(matches_glob("busybox", "busybox:1.36"));
  EXPECT_FALSE(matches_glob("a*b*c", "axxbyy"));
  EXPECT_FALSE(matches_glob("", "x"));
}

TEST(ImageMap, HostIsAlwaysTheHost) {
  ImageMap map = ImageMap::parse({"volcanosh/*=host"}).value();
  EXPECT_TRUE(map.is_host("host"));
  EXPECT_TRUE(map.is_host("volcanosh/example-mpi:0.0.3"));
  EXPECT_FALSE(map.is_host("nginx"));
}

TEST(ImageMap, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(ImageMap::parse({"nginx"}));
  EXPECT_FALSE(ImageMap::parse({"=host"}));
  Result<ImageMap> other = ImageMap::parse({"nginx=busybox"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "image map \"nginx=busybox\": the only target is \"host\"");
}

}  // namespace
}  // namespace hekla::agent
