#include "agent/image/image_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/image/archive_file.h"
#include "agent/image/layer_pack.h"
#include "agent/image/registry/login_file.h"
#include "agent/os/file_descriptor.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

class ImageStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "layers keep their owners: run as root";
    ASSERT_TRUE(store_.prepare());
  }
  // A root file system of one file, imported under a name.
  StoredImage import(const std::string& name, const std::string& content) {
    LayerPacker packer;
    EXPECT_TRUE(packer.open(dir_.path() + "/root.tar", true));
    EXPECT_TRUE(packer.add_text("etc/content", content, {}));
    EXPECT_TRUE(packer.close());
    auto images = store_.import(dir_.path() + "/root.tar", *parse_reference(name));
    EXPECT_TRUE(images.has_value()) << images.error().message;
    return images->at(0);
  }
  std::string only_record() {
    return fs::directory_iterator(dir_.path() + "/images/refs")->path().string();
  }
  bool is_here(const std::string& name) {
    auto found = store_.find(*parse_reference(name));
    return found && found->has_value();
  }

  TempDir dir_;
  ImageStore store_{ImageStoreOptions{dir_.path() + "/images", {}}};
};

Result<std::set<std::string>> nobody() { return std::set<std::string>(); }

TEST_F(ImageStoreTest, ATornRecordIsAsGoodAsNone) {
  import("a:1", "one");
  EXPECT_TRUE(is_here("a:1"));
  const std::string path = only_record();
  const std::string whole = *read_file(path);
  std::ofstream(path, std::ios::trunc) << whole.substr(0, whole.size() / 2);
  EXPECT_FALSE(is_here("a:1"));
  EXPECT_TRUE(store_.list()->empty());
  import("a:1", "one");
  EXPECT_TRUE(is_here("a:1")) << "written anew";
}

TEST_F(ImageStoreTest, AnImageWithoutItsLayersIsNotHere) {
  StoredImage image = import("a:1", "one");
  fs::remove_all(dir_.path() + "/images/layers/" + image.layers.at(0));
  EXPECT_FALSE(is_here("a:1"));
}

TEST_F(ImageStoreTest, LayersAreNotTakenAwayFromUnderABuild) {
  import("a:1", "one");
  auto held = store_.hold_layers();
  ASSERT_TRUE(held.has_value());
  auto removed = store_.remove({"docker.io/library/a:1"}, nobody);
  ASSERT_FALSE(removed.has_value());
  EXPECT_EQ(removed.error().code, Code::conflict);
  EXPECT_TRUE(is_here("a:1"));
  held->close();
  EXPECT_TRUE(store_.remove({"docker.io/library/a:1"}, nobody).has_value());
  EXPECT_FALSE(is_here("a:1"));
}

TEST_F(ImageStoreTest, ALayerThatIsNotWhatTheConfigurationSaysIsRefused) {
  LayerPacker packer;
  const std::string file = *store_.temporary("layer");
  ASSERT_TRUE(packer.open(file, true));
  ASSERT_TRUE(packer.add_text("etc/content", "other", {}));
  ASSERT_TRUE(packer.close());
  const std::string right = *uncompressed_digest(file);
  Result<StoredImage> added =
      store_.add(*parse_reference("a:1"), std::nullopt, false, json::Object(),
                 {{file, "sha256:" + std::string(64, '0')}});
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find("wrong diff id calculated on extraction \"" + right + "\""),
            std::string::npos)
      << added.error().message;
  EXPECT_FALSE(is_here("a:1"));
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/images/layers"));
}

TEST_F(ImageStoreTest, WhatIsSharedStaysUntilTheLastNameGoes) {
  StoredImage image = import("a:1", "one");
  ASSERT_TRUE(store_.tag(image, *parse_reference("b:1")).has_value());
  ASSERT_TRUE(store_.remove({"docker.io/library/a:1"}, nobody).has_value());
  EXPECT_TRUE(is_here("b:1"));
  auto used = [&]() -> Result<std::set<std::string>> {
    return std::set<std::string>{"docker.io/library/b@" + image.digest};
  };
  EXPECT_EQ(store_.remove({"docker.io/library/b:1"}, used).error().message,
            "the image docker.io/library/b:1 is used by a pod");
  {
    // Somebody pulls: eviction does not wait for that.
    FileDescriptor lock(::open((dir_.path() + "/images/lock").c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    auto refused = store_.prune(nobody, WallTime::max(), false);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::conflict);
  }
  auto pruned = store_.prune(nobody, WallTime::max());
  ASSERT_TRUE(pruned.has_value());
  EXPECT_GT(pruned->bytes, 0);
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/images/layers"));
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/images/blobs"));
}

TEST_F(ImageStoreTest, WhatAContainerChangedBecomesALayer) {
  const std::string upper = dir_.path() + "/upper";
  fs::create_directories(upper + "/opaque");
  fs::create_directories(upper + "/plain");
  std::ofstream(upper + "/plain/file") << "text";
  fs::create_hard_link(upper + "/plain/file", upper + "/plain/same");
  fs::create_symlink("/etc", upper + "/link");
  ASSERT_EQ(::mknod((upper + "/gone").c_str(), S_IFCHR, 0), 0);
  ASSERT_EQ(::lsetxattr((upper + "/opaque").c_str(), "trusted.overlay.opaque", "y", 1, 0), 0);
  LayerPacker packer;
  const std::string file = dir_.path() + "/layer.tar.gz";
  ASSERT_TRUE(packer.open(file, true));
  FileDescriptor directory(::open(upper.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(packer.add_upper(directory.get()));
  ASSERT_TRUE(packer.close());
  EXPECT_EQ(*archive_names(file),
            (std::set<std::string>{".wh.gone", "link", "opaque/", "opaque/.wh..wh..opq", "plain/",
                                   "plain/file", "plain/same"}));
  EXPECT_NE(*uncompressed_digest(file), describe_file(file)->digest);
}

TEST(LoginFile, LoginsComeAndGo) {
  TempDir dir;
  EXPECT_EQ(read_logins(dir.path())->find("r.example.com", "x"), std::nullopt);
  ASSERT_TRUE(add_login(dir.path(), "r.example.com", {"u", "p:w"}));
  EXPECT_EQ(read_logins(dir.path())->find("r.example.com", "x"), (RegistryLogin{"u", "p:w"}));
  EXPECT_TRUE(*remove_login(dir.path(), "r.example.com"));
  EXPECT_FALSE(*remove_login(dir.path(), "r.example.com"));
  EXPECT_EQ(read_logins(dir.path())->find("r.example.com", "x"), std::nullopt);
}

}  // namespace
}  // namespace hekla::agent
