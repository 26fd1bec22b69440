#include "agent/image/masked_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

using Paths = std::vector<std::string>;

TEST(MaskedPaths, HomesArePeoplesWhereverTheyAre) {
  EXPECT_EQ(home_directories("root:x:0:0:root:/root:/bin/bash\n"
                             "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
                             "www:x:33:33::/var/www:/bin/sh\n"
                             "ann:x:1000:1000:Ann,,,:/data/people/ann/:/bin/bash\n"
                             "bob:x:1001:1001::/home/bob:/bin/bash\n"
                             "svc:x:1002:1002::/:/bin/false\n"
                             "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
                             "broken:line\n"),
            (Paths{"/root", "/data/people/ann", "/home/bob"}));
}

TEST(MaskedPaths, WhatWasHiddenOnceStaysHidden) {
  TempDir data;
  const std::string config = data.path() + "/old.conf";
  ASSERT_TRUE(write_file_atomically(config, "", 0600));
  EXPECT_EQ(remember_masked(data.path(), {config, "/no/such/file"}),
            (Paths{config, "/no/such/file"}));
  EXPECT_EQ(remember_masked(data.path(), {"/new"}), (Paths{"/new", config}))
      << "what is gone is forgotten";
  EXPECT_EQ(remembered_masked(data.path()), (Paths{"/new", config}));
}

TEST(MaskedPaths, InstancesKnowOfEachOther) {
  TempDir registry, one, other;
  EXPECT_EQ(remember_instance(registry.path(), one.path()), Paths{one.path()});
  {
    TempDir gone;
    EXPECT_EQ(remember_instance(registry.path(), gone.path()).value().size(), 2u);
  }
  Paths both{one.path(), other.path()};
  std::ranges::sort(both);
  EXPECT_EQ(remember_instance(registry.path(), other.path()), both);
  EXPECT_EQ(known_instances(registry.path()), both);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(registry.path()), {}), 2);
}

TEST(MaskedPaths, OnlyASystemIsShownAtTheTop) {
  TempDir root;
  for (const char* name : {"usr", "lib64", "etc", "data", "scratch", "export", "proc"})
    std::filesystem::create_directory(root.path() + "/" + name);
  ASSERT_TRUE(write_file_atomically(root.path() + "/swapfile", "", 0600));
  std::filesystem::create_symlink("usr/bin", root.path() + "/bin");
  std::filesystem::create_symlink("data", root.path() + "/shared");
  EXPECT_EQ(foreign_names(root.path()), (Paths{"data", "export", "scratch", "shared", "swapfile"}));
}

TEST(MaskedPaths, WhatOthersMayNotReadIsPrivate) {
  namespace fs = std::filesystem;
  TempDir temp;
  const std::string etc = temp.path();
  for (const char* name : {"letsencrypt", "letsencrypt/archive", "apt", "known"})
    fs::create_directory(etc + "/" + name);
  fs::permissions(etc + "/letsencrypt", fs::perms(0700));
  fs::permissions(etc + "/apt", fs::perms(0711));
  const std::pair<const char*, unsigned> files[] = {{"letsencrypt/archive/key", 0644},
                                                    {"apt/auth.conf", 0640},
                                                    {"apt/sources.list", 0644},
                                                    {"debian.cnf", 0600},
                                                    {"passwd", 0644},
                                                    {"known/secret", 0600}};
  for (const auto& [name, mode] : files)
    ASSERT_TRUE(write_file_atomically(etc + "/" + name, "", mode));
  fs::create_symlink("debian.cnf", etc + "/link");
  PrivatePaths found = private_paths(etc, {etc + "/known"});
  EXPECT_EQ(found.directories, Paths{etc + "/letsencrypt"});
  EXPECT_EQ(found.files, (Paths{etc + "/apt/auth.conf", etc + "/debian.cnf"}));
  found = private_paths(etc, {}, 1);
  EXPECT_EQ(found.directories, (Paths{etc + "/apt", etc + "/known", etc + "/letsencrypt"}))
      << "what is too much to look at is not shown";
}

}  // namespace
}  // namespace hekla::agent
