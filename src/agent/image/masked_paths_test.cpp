#include "agent/image/masked_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

using Paths = std::vector<std::string>;

TEST(HiddenPlaces, HomesArePeoplesWhereverTheyAre) {
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

TEST(HiddenPlaces, WhatWasHiddenOnceStaysHidden) {
  TempDir data;
  const std::string config = data.path() + "/old.conf";
  ASSERT_TRUE(write_file_atomically(config, "", 0600));
  EXPECT_EQ(remember_hidden(data.path(), {config, "/no/such/file"}),
            (Paths{config, "/no/such/file"}));
  EXPECT_EQ(remember_hidden(data.path(), {"/new"}), (Paths{"/new", config}))
      << "what is gone is forgotten";
  EXPECT_EQ(remembered_hidden(data.path()), (Paths{"/new", config}));
}

TEST(HiddenPlaces, InstancesKnowOfEachOther) {
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

}  // namespace
}  // namespace hekla::agent
