#include "agent/volumes/volume_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"
#include "json/codec.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

class VolumeStoreTest : public ::testing::Test {
 protected:
  TempDir temp_;
  const std::string& dir_ = temp_.path();
};

TEST_F(VolumeStoreTest, FilesAreLinksThroughData) {
  ASSERT_TRUE(write_files(dir_, {{"a", "1", 0644}, {"sub/b", "2", 0400}}, {}));
  EXPECT_EQ(fs::read_symlink(dir_ + "/a"), "..data/a");
  EXPECT_EQ(fs::read_symlink(dir_ + "/sub"), "..data/sub");
  EXPECT_EQ(*read_file(dir_ + "/sub/b"), "2");
  EXPECT_EQ(fs::status(dir_ + "/sub/b").permissions(), fs::perms::owner_read);
}

TEST_F(VolumeStoreTest, AChangeReplacesEverythingAtOnce) {
  ASSERT_TRUE(write_files(dir_, {{"a", "1", 0644}, {"old", "x", 0644}}, {}));
  fs::path before = fs::read_symlink(dir_ + "/..data");
  ASSERT_TRUE(write_files(dir_, {{"a", "2", 0644}, {"new", "y", 0644}}, {}));
  EXPECT_EQ(*read_file(dir_ + "/a"), "2");
  EXPECT_EQ(*read_file(dir_ + "/new"), "y");
  EXPECT_FALSE(fs::exists(fs::symlink_status(dir_ + "/old")));
  EXPECT_NE(fs::read_symlink(dir_ + "/..data"), before);
  EXPECT_FALSE(fs::exists(fs::path(dir_) / before));
}

TEST_F(VolumeStoreTest, TheSameContentIsLeftAlone) {
  ASSERT_TRUE(write_files(dir_, {{"a", "1", 0644}}, {}));
  auto stamp = fs::last_write_time(dir_ + "/..data/a");
  ASSERT_TRUE(write_files(dir_, {{"a", "1", 0644}}, {}));
  EXPECT_EQ(fs::last_write_time(dir_ + "/..data/a"), stamp);
}

TEST_F(VolumeStoreTest, MountsFollowTheSpec) {
  model::Pod pod = json::decode_text<model::Pod>(R"({"spec":{"volumes":[
      {"name":"c","configMap":{"name":"m"}},{"name":"e","emptyDir":{}},{"name":"h","hostPath":{"path":"/h"}}],
      "containers":[{"name":"c","volumeMounts":[{"name":"c","mountPath":"/c"},
      {"name":"e","mountPath":"/e","subPath":"x/y"},{"name":"h","mountPath":"/h2","readOnly":true}]}]}})")
                       .value();
  VolumeSources sources = volume_sources_of(pod, dir_);
  fs::create_directories(dir_ + "/e");
  std::vector<OciMount> mounts = volume_mounts(pod.spec.containers[0], sources).value();
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0], (OciMount{"/c", "none", dir_ + "/c", {"rbind", "rprivate", "ro"}}));
  EXPECT_EQ(mounts[1], (OciMount{"/e", "none", dir_ + "/e/x/y", {"rbind", "rprivate", "rw"}}));
  EXPECT_EQ(mounts[2], (OciMount{"/h2", "none", "/h", {"rbind", "rprivate", "ro"}}));
}

TEST_F(VolumeStoreTest, SubPathsCannotEscape) {
  fs::create_directories(dir_ + "/e");
  fs::create_symlink("/etc", dir_ + "/e/link");
  model::Container container;
  VolumeSources sources{{"e", {dir_ + "/e", false}}};
  for (const char* path : {"../x", "link", "link/ssl", "/etc", "a/../../x"}) {
    container.volumeMounts = {{.name = "e", .mountPath = "/m", .subPath = path}};
    EXPECT_FALSE(volume_mounts(container, sources)) << path;
  }
}

TEST_F(VolumeStoreTest, HostPathTypesAreChecked) {
  auto check = [&](const std::string& path, const std::string& type) {
    VolumePlan plan{.name = "h", .kind = VolumePlan::Kind::host_path};
    plan.host_path = path;
    plan.host_path_type = type;
    return lay_out_volumes(dir_, {plan}).has_value();
  };
  EXPECT_TRUE(check(dir_, "Directory"));
  EXPECT_FALSE(check(dir_, "File"));
  EXPECT_FALSE(check(dir_ + "/no", "Directory"));
  EXPECT_TRUE(check(dir_ + "/made", "DirectoryOrCreate"));
  EXPECT_TRUE(check(dir_ + "/file", "FileOrCreate"));
  EXPECT_TRUE(check(dir_ + "/file", "File"));
}

}  // namespace
}  // namespace hekla::agent
