#include "cli/docker_link.h"

#include <gtest/gtest.h>

namespace hekla::cli {
namespace {

std::string said(std::vector<std::string> arguments) {
  Result<std::vector<std::string>> made = docker_arguments(std::move(arguments));
  if (!made) return made.error().message;
  std::string out;
  for (const std::string& one : *made) out += (out.empty() ? "" : " ") + one;
  return out;
}

TEST(DockerLink, IsHeklaImage) {
  EXPECT_EQ(
      said({"build", "-t", "registry.example.com/a:1", "--no-cache", "--progress=plain", "."}),
      "image build -t registry.example.com/a:1 .");
  EXPECT_EQ(said({"image", "build", "-t", "a", "."}), "image build -t a .");
  EXPECT_EQ(said({"push", "registry.example.com/a:1"}), "image push registry.example.com/a:1");
  EXPECT_EQ(said({"pull", "a:1"}), "image pull --skip-built-in a:1");
  EXPECT_EQ(said({"tag", "a", "b"}), "image tag a b");
  EXPECT_EQ(said({"images"}), "image list -o docker");
  EXPECT_EQ(said({"images", "-q"}), "image list -o docker -q");
  EXPECT_EQ(said({"save", "-o", "a.tar", "a"}), "image save -o a.tar a");
  EXPECT_EQ(said({"load", "-i", "a.tar"}), "image import a.tar");
  EXPECT_EQ(said({"load", "--input=a.tar"}), "image import a.tar");
  EXPECT_EQ(said({"load"}), "image import -");
  EXPECT_EQ(said({"login", "registry.example.com", "-u", "me"}),
            "image login registry.example.com -u me");
}

TEST(DockerLink, SaysWhatItIsNot) {
  EXPECT_EQ(said({"run", "-it", "ubuntu"}),
            "docker run: this docker is a link to hekla, which builds, pulls, pushes, tags, saves "
            "and loads images; containers run in pods: kubectl run, or hekla run -f FILE");
}

}  // namespace
}  // namespace hekla::cli
