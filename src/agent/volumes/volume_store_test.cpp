#include "agent/volumes/volume_store.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "agent/volumes/sub_path.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"
#include "json/codec.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

class VolumeStoreTest : public ::testing::Test {
 protected:
  // Mounts that the call makes go with its thread.
  static void in_own_namespace(const std::function<void()>& call) {
    std::thread([&] {
      ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << "mounts need root";
      ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
      call();
    }).join();
  }

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
  in_own_namespace([&] {
    Result<std::vector<OciMount>> made =
        volume_mounts(pod.spec.containers[0], sources, dir_ + "/pins");
    ASSERT_TRUE(made) << made.error().message;
    const std::vector<OciMount>& mounts = *made;
    ASSERT_EQ(mounts.size(), 3u);
    EXPECT_EQ(mounts[0], (OciMount{"/c", "none", dir_ + "/c", {"rbind", "rprivate", "ro"}}));
    EXPECT_EQ(mounts[1], (OciMount{"/e", "none", dir_ + "/pins/1", {"rbind", "rprivate", "rw"}}));
    EXPECT_EQ(mounts[2], (OciMount{"/h2", "none", "/h", {"rbind", "rprivate", "ro"}}));
    // A change of the path by the pod later has no effect.
    fs::rename(dir_ + "/e/x/y", dir_ + "/e/old");
    fs::create_symlink("/etc", dir_ + "/e/x/y");
    ASSERT_TRUE(write_file_atomically(dir_ + "/pins/1/file", "1", 0600));
    EXPECT_TRUE(fs::exists(dir_ + "/e/old/file"));
  });
}

TEST_F(VolumeStoreTest, LinksOfTheHostAreFollowed) {
  fs::create_directories(dir_ + "/usr/bin");
  fs::create_symlink("usr/bin", dir_ + "/bin");
  fs::create_symlink("nowhere", dir_ + "/broken");
  model::Container container;
  container.volumeMounts = {{.name = "h", .mountPath = "/m"}};
  EXPECT_EQ(volume_mounts(container, {{"h", {dir_ + "/bin", false}}}, "").value().at(0).source,
            fs::canonical(dir_).string() + "/usr/bin");
  EXPECT_FALSE(volume_mounts(container, {{"h", {dir_ + "/broken", false}}}, ""));
}

TEST_F(VolumeStoreTest, SubPathsCannotEscape) {
  fs::create_directories(dir_ + "/e");
  fs::create_directories(dir_ + "/outside");
  fs::create_symlink(dir_ + "/outside", dir_ + "/e/link");
  fs::create_symlink("../outside", dir_ + "/e/up");
  fs::create_symlink("nowhere", dir_ + "/e/broken");
  fs::create_symlink("inner/deep", dir_ + "/e/side");
  fs::create_directories(dir_ + "/e/inner/deep");
  for (const char* path :
       {"../x", "link", "link/new", "up", "up/new", "/etc", "a/../../x", "broken"})
    EXPECT_FALSE(open_sub_path(dir_ + "/e", path)) << path;
  EXPECT_TRUE(fs::is_empty(dir_ + "/outside"));
  EXPECT_FALSE(fs::exists(dir_ + "/x"));
  // Dots inside names and links inside the volume are fine.
  for (const char* path : {"side/new", "a../b", ".hidden/", "."})
    EXPECT_TRUE(open_sub_path(dir_ + "/e", path)) << path;
  EXPECT_TRUE(fs::is_directory(dir_ + "/e/inner/deep/new"));
  EXPECT_TRUE(fs::is_directory(dir_ + "/e/a../b"));
}

TEST_F(VolumeStoreTest, SubPathsAreAsOpenAsTheirVolume) {
  constexpr gid_t kGroup = 1001;
  const std::string volume = dir_ + "/e";
  fs::create_directories(volume);
  ASSERT_EQ(::chown(volume.c_str(), -1U, kGroup), 0);
  ASSERT_EQ(::chmod(volume.c_str(), 02777), 0);
  fs::create_directories(volume + "/there");
  ASSERT_EQ(::chmod((volume + "/there").c_str(), 0755), 0);  // somebody's, and left as it is
  ASSERT_TRUE(open_sub_path(volume, "a/b/c"));
  ASSERT_TRUE(open_sub_path(volume, "there/new"));
  auto state = [&](const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat((volume + path).c_str(), &info), 0) << path;
    return std::pair(info.st_mode & 07777, info.st_gid);
  };
  for (const char* path : {"/a", "/a/b", "/a/b/c", "/there/new"})
    EXPECT_EQ(state(path), std::pair(02777u, kGroup)) << path;
  EXPECT_EQ(state("/there").first, 0755u);
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

TEST_F(VolumeStoreTest, ALocalVolumeMustExist) {
  VolumePlan plan{.name = "l",
                  .kind = VolumePlan::Kind::claim,
                  .host_path = dir_ + "/disk",
                  .must_exist = true};
  Result<void> missing = lay_out_volumes(dir_ + "/volumes", {plan});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "MountVolume.NewMounter initialization failed for volume \"l\" : path \"" +
                plan.host_path + "\" does not exist");
  EXPECT_FALSE(fs::exists(plan.host_path));
  fs::create_directories(plan.host_path);
  EXPECT_TRUE(lay_out_volumes(dir_ + "/volumes", {plan}));
}

TEST_F(VolumeStoreTest, AClaimForReadersIsReadOnlyWhateverThePodSays) {
  model::Pod pod = json::decode_text<model::Pod>(R"({"spec":{"volumes":[
      {"name":"r","persistentVolumeClaim":{"claimName":"r"}},
      {"name":"w","persistentVolumeClaim":{"claimName":"w"}}]}})")
                       .value();
  VolumePlan reads{
      .name = "r", .kind = VolumePlan::Kind::claim, .host_path = dir_ + "/disk", .read_only = true};
  VolumePlan writes{.name = "w", .kind = VolumePlan::Kind::claim, .host_path = dir_ + "/disk"};
  ASSERT_TRUE(lay_out_volumes(dir_ + "/volumes", {reads, writes}));
  const VolumeSources sources = volume_sources_of(pod, dir_ + "/volumes");
  EXPECT_TRUE(sources.at("r").read_only);
  EXPECT_FALSE(sources.at("w").read_only);
}

}  // namespace
}  // namespace hekla::agent
