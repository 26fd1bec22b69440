#include "agent/image/registry/manifest.h"

#include <gtest/gtest.h>

#include <csignal>

#include "json/parse.h"

namespace hekla::agent {
namespace {

std::string digest_of(char digit) { return "sha256:" + std::string(64, digit); }

std::string entry(char digit, const std::string& platform) {
  return R"({"digest":")" + digest_of(digit) + R"(","size":1,"platform":)" + platform + "}";
}

Result<BlobDescriptor> choose(const std::string& entries, const Platform& platform) {
  return choose_manifest(*json::parse(R"({"manifests":[)" + entries + "]}"), platform);
}

TEST(ImageManifest, TheIndexIsSearchedForThePlatform) {
  const std::string index = entry('a', R"({"os":"windows","architecture":"amd64"})") + "," +
                            entry('b', R"({"os":"linux","architecture":"arm","variant":"v6"})") +
                            "," +
                            entry('c', R"({"os":"linux","architecture":"arm","variant":"v7"})") +
                            "," + entry('d', R"({"os":"linux","architecture":"amd64"})");
  EXPECT_EQ(choose(index, {"linux", "amd64", ""})->digest, digest_of('d'));
  EXPECT_EQ(choose(index, {"linux", "arm", "v7"})->digest, digest_of('c'));
  EXPECT_EQ(choose(index, {"linux", "riscv64", ""}).error().message,
            "no match for platform in manifest: not found");
}

TEST(ImageManifest, AVariantThatIsNotNamedWillDo) {
  const std::string index = entry('a', R"({"os":"linux","architecture":"arm64"})");
  EXPECT_EQ(choose(index, {"linux", "arm64", "v8"})->digest, digest_of('a'));
}

TEST(ImageManifest, AnIndexIsToldByTypeOrMembers) {
  EXPECT_TRUE(is_index(*json::parse(R"({"manifests":[]})")));
  EXPECT_TRUE(is_index(*json::parse(
      R"({"mediaType":"application/vnd.docker.distribution.manifest.list.v2+json"})")));
  EXPECT_FALSE(is_index(*json::parse(
      R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","manifests":[]})")));
}

std::string manifest_with(const std::string& layer_type, const std::string& digest) {
  return R"({"schemaVersion":2,"config":{"digest":")" + digest_of('c') +
         R"(","size":2},"layers":[{"mediaType":")" + layer_type + R"(","digest":")" + digest +
         R"(","size":3}]})";
}

TEST(ImageManifest, LayersOfBothFormatsAreRead) {
  for (const char* type :
       {"application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+zstd"}) {
    auto manifest = read_manifest(*json::parse(manifest_with(type, digest_of('e'))));
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->config.digest, digest_of('c'));
    ASSERT_EQ(manifest->layers.size(), 1u);
    EXPECT_EQ(manifest->layers[0].digest, digest_of('e'));
    EXPECT_EQ(manifest->layers[0].size, 3);
  }
}

TEST(ImageManifest, WhatCannotBeCheckedOrUnpackedIsRefused) {
  auto refusal = [](const std::string& text) {
    auto manifest = read_manifest(*json::parse(text));
    return manifest ? std::string() : manifest.error().message;
  };
  EXPECT_EQ(refusal(manifest_with("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
                                  digest_of('e'))),
            "unsupported layer type "
            "\"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip\"");
  EXPECT_EQ(refusal(manifest_with("application/vnd.oci.image.layer.v1.tar", "md5:1")),
            "layer: invalid digest \"md5:1\"");
  EXPECT_EQ(refusal(R"({"schemaVersion":1})"), "unsupported manifest schema version");
}

TEST(ImageManifest, TheConfigSaysWhatRuns) {
  ImageConfig config = read_image_config(*json::parse(
      R"({"config":{"User":"app:staff","Env":["A=1"],"Entrypoint":["/run"],"Cmd":["x"],
          "WorkingDir":"/srv"}})"));
  EXPECT_EQ(config.user, "app:staff");
  EXPECT_EQ(config.working_dir, "/srv");
  EXPECT_EQ(config.env, std::vector<std::string>{"A=1"});
  EXPECT_EQ(config.entrypoint, std::vector<std::string>{"/run"});
  EXPECT_EQ(config.cmd, std::vector<std::string>{"x"});
}

TEST(ImageManifest, SignalsByNameAndNumber) {
  EXPECT_EQ(signal_number("SIGQUIT"), SIGQUIT);
  EXPECT_EQ(signal_number("quit"), SIGQUIT);
  EXPECT_EQ(signal_number("3"), 3);
  EXPECT_EQ(signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(signal_number(""), SIGTERM);
  for (const char* none : {"SIGNOTHING", "0", "-9", "1000", "SIGRTMIN+", "9x"})
    EXPECT_EQ(signal_number(none), SIGTERM) << none;
}

}  // namespace
}  // namespace hekla::agent
