#include "agent/image/image_map.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

using Words = std::vector<std::string>;

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

class ImageMapTest : public ::testing::Test {
 protected:
  ImageMapTest() {
    for (const char* name : {"/programs", "/tf/bin", "/conda/bin"})
      std::filesystem::create_directories(temp_.path() + name);
    root_ = std::filesystem::canonical(temp_.path());
  }
  HostImageSpec spec(const std::string& parts) {
    Result<ImageMap> map = ImageMap::parse({"x = host, " + parts});
    EXPECT_TRUE(map) << map.error().message;
    return map ? *map->find("x") : HostImageSpec{};
  }
  static std::string refusal(const std::string& entry) {
    Result<ImageMap> map = ImageMap::parse({entry});
    return map ? "accepted" : map.error().message;
  }
  TempDir temp_;
  std::string root_;
};

TEST_F(ImageMapTest, CarriesWhatAnImageHas) {
  HostImageSpec made =
      spec("files=" + root_ + "/programs:/var/tf_dist_mnist, files=" + root_ +
           "/tf:/, workdir=/app, user=1000:7, env=MODE=a\\,b=c, cmd=[\"x,y\", \"[z]\"], "
           "entrypoint=exec python3 -u");
  EXPECT_EQ(made.files,
            (std::vector<LaidDirectory>{{root_ + "/programs", "/var/tf_dist_mnist", true},
                                        {root_ + "/tf", "/", true}}));
  EXPECT_EQ(made.config.working_dir, "/app");
  EXPECT_EQ(made.config.user, "1000:7");
  EXPECT_EQ(made.config.env, Words{"MODE=a,b=c"});
  EXPECT_EQ(made.config.cmd, (Words{"x,y", "[z]"}));
  EXPECT_EQ(made.config.entrypoint, (Words{"/bin/sh", "-c", "exec python3 -u"}));
}

TEST_F(ImageMapTest, AnEnvironmentIsFirstInThePath) {
  HostImageSpec made = spec("env=PATH=/mine, venv=" + root_ + "/tf");
  EXPECT_EQ(made.config.env,
            (Words{"VIRTUAL_ENV=" + root_ + "/tf", "PATH=" + root_ + "/tf/bin:/mine"}));
  EXPECT_EQ(made.files, (std::vector<LaidDirectory>{{root_ + "/tf", root_ + "/tf", false}}));
  made = spec("conda=" + root_ + "/conda");
  ASSERT_EQ(made.config.env.size(), 2u);
  EXPECT_EQ(made.config.env[0], "CONDA_PREFIX=" + root_ + "/conda");
  EXPECT_TRUE(made.config.env[1].starts_with("PATH=" + root_ + "/conda/bin:/usr/local/sbin:"));
}

TEST_F(ImageMapTest, AnEnvironmentBringsAnInterpreterOfSomebodysHome) {
  const std::string real = root_ + "/home/pythons/3.12", linked = root_ + "/home/.local";
  for (const std::string& made : {real + "/bin", real + "/lib", linked + "/bin"})
    std::filesystem::create_directories(made);
  ASSERT_TRUE(write_file_atomically(real + "/bin/python3", "#!/bin/sh\n", 0755));
  auto environment = [&](const std::string& home) {
    EXPECT_TRUE(write_file_atomically(root_ + "/tf/pyvenv.cfg",
                                      "home = " + home + "\nversion = 3.12.1\n", 0644));
    return spec("venv=" + root_ + "/tf").files;
  };
  const LaidDirectory own{root_ + "/tf", root_ + "/tf", false};
  const LaidDirectory bin{real + "/bin", real + "/bin", false},
      lib{real + "/lib", real + "/lib", false};
  EXPECT_EQ(environment(real + "/bin"), (std::vector<LaidDirectory>{own, bin, lib}));
  std::filesystem::create_symlink(real + "/bin/python3", linked + "/bin/python3");
  EXPECT_EQ(environment(linked + "/bin"),
            (std::vector<LaidDirectory>{own,
                                        {real + "/bin", linked + "/bin", false},
                                        {real + "/lib", linked + "/lib", false},
                                        bin,
                                        lib}))
      << "by both names, and nothing else of the home";
  EXPECT_EQ(environment("/usr/bin"), std::vector<LaidDirectory>{own}) << "which pods see anyway";
  EXPECT_EQ(environment(root_ + "/no/such"), std::vector<LaidDirectory>{own});
}

TEST_F(ImageMapTest, AFileHasOneOnEachLine) {
  ASSERT_TRUE(write_file_atomically(
      root_ + "/images", "# the tutorials'\n\nvolcanosh/* = host, files=programs:/p\n*=host\n",
      0644));
  ImageMap map = ImageMap::parse({root_ + "/images"}).value();
  EXPECT_EQ(map.find("volcanosh/x")->files.at(0).source, root_ + "/programs") << "beside the file";
  EXPECT_TRUE(map.find("other")->files.empty());
  ASSERT_TRUE(write_file_atomically(root_ + "/bad", "a=host\nb=host, size=3\n", 0644));
  const std::string why = refusal(root_ + "/bad");
  EXPECT_TRUE(why.starts_with("image map " + root_ +
                              "/bad:2: part \"size=3\": \"size\" is not one of files="))
      << why;
}

TEST_F(ImageMapTest, ARecipeMayStandForAnImage) {
  ImageMap map = ImageMap::parse({"a/*=jax, workdir=/src", "b=registry", "*=host"}).value();
  EXPECT_EQ(map.find("a/b")->recipe, "jax");
  EXPECT_EQ(map.find("a/b")->config.working_dir, "/src");
  EXPECT_FALSE(map.is_host("a/b"));
  EXPECT_TRUE(map.find("b")->registry);
  EXPECT_FALSE(map.is_host("b"));
  EXPECT_TRUE(map.is_host("hekla"));
  EXPECT_TRUE(map.find("hekla")->program) << "whatever is mapped";
  EXPECT_FALSE(map.find("other")->program);
}

TEST_F(ImageMapTest, SaysWhichPartIsWrong) {
  EXPECT_TRUE(refusal("nginx=busybox")
                  .starts_with("image map \"nginx=busybox\": the target is \"host\", \"registry\" "
                               "or a recipe: there is no "
                               "recipe \"busybox\"; there are hello, "));
  EXPECT_EQ(refusal("=host"), "image map \"=host\": expected PATTERN=host or PATTERN=RECIPE");
  EXPECT_EQ(refusal("a=registry, workdir=/x"),
            "image map \"a=registry, workdir=/x\": \"registry\" takes no parts");
  EXPECT_EQ(
      refusal("a=jax, files=/etc:/x"),
      "image map \"a=jax, files=/etc:/x\": files, venv and conda go with \"host\", not with a "
      "recipe");
  EXPECT_TRUE(refusal("nginx").starts_with(
      "image map \"nginx\": expected PATTERN=host, PATTERN=RECIPE or a file of such lines: "));
  auto part = [](const std::string& text) {
    const std::string all = refusal("a=host, " + text);
    return all.substr(all.find("\": part") + 3);
  };
  EXPECT_EQ(part("files=/etc"), "part \"files=/etc\": expected files=DIR:/PATH");
  EXPECT_EQ(part("files=/etc:app"),
            "part \"files=/etc:app\": the place \"app\" must be an absolute path");
  EXPECT_EQ(part("files=/etc/passwd:/a"),
            "part \"files=/etc/passwd:/a\": /etc/passwd is not a directory");
  EXPECT_EQ(part("files=/no/such:/a"),
            "part \"files=/no/such:/a\": /no/such: No such file or directory");
  EXPECT_EQ(part("venv=/etc"),
            "part \"venv=/etc\": /etc has no directory bin: it is no Python environment");
  EXPECT_EQ(part("workdir=app"), "part \"workdir=app\": the path must be absolute");
  EXPECT_EQ(part("env=X"), "part \"env=X\": expected env=NAME=VALUE");
  EXPECT_EQ(part("user="), "part \"user=\": nothing stands behind the =");
  EXPECT_EQ(part("cmd=[1]"),
            "part \"cmd=[1]\": expected a JSON array of words, like [\"python3\", \"-u\"]");
  EXPECT_TRUE(part("quiet").starts_with("part \"quiet\": expected one of files="));
}

}  // namespace
}  // namespace hekla::agent
