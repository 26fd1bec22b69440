#include "agent/image/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "agent/image/image_store.h"
#include "agent/image/registry/manifest.h"
#include "agent/os/files.h"
#include "base/disk.h"
#include "base/temp_dir_test.h"

namespace hekla::agent {
namespace {

namespace fs = std::filesystem;

struct TarEntry {
  std::string path;
  mode_t type = AE_IFREG;
  std::string text;  // content, or the target of a link
  unsigned mode = 0644;
  int uid = 0;
  bool hard_link = false;
  std::string xattr;
};

class LayerTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::geteuid(), 0u) << "whiteouts are device nodes: run as root"; }

  std::string tar(const std::vector<TarEntry>& entries, bool zip = true) {
    const std::string path = dir_ + "/layer.tar";
    archive* out = archive_write_new();
    if (zip) archive_write_add_filter_gzip(out);
    archive_write_set_format_pax(out);
    archive_write_open_filename(out, path.c_str());
    for (const TarEntry& item : entries) {
      archive_entry* entry = archive_entry_new();
      archive_entry_set_pathname(entry, item.path.c_str());
      archive_entry_set_filetype(entry, item.type);
      archive_entry_set_perm(entry, item.mode);
      archive_entry_set_uid(entry, item.uid);
      if (item.type == AE_IFLNK) archive_entry_set_symlink(entry, item.text.c_str());
      if (item.type == AE_IFBLK) archive_entry_set_rdev(entry, makedev(7, 0));
      if (item.hard_link) archive_entry_set_hardlink(entry, item.text.c_str());
      bool content = item.type == AE_IFREG && !item.hard_link;
      if (content) archive_entry_set_size(entry, static_cast<la_int64_t>(item.text.size()));
      if (!item.xattr.empty()) archive_entry_xattr_add_entry(entry, item.xattr.c_str(), "y", 1);
      archive_write_header(out, entry);
      if (content) archive_write_data(out, item.text.data(), item.text.size());
      archive_entry_free(entry);
    }
    archive_write_close(out);
    archive_write_free(out);
    return path;
  }
  std::string unpack(const std::string& name, const std::vector<TarEntry>& entries,
                     const std::vector<std::string>& lowers = {}, bool zip = true) {
    fs::create_directory(at(name));
    Result<std::string> done = unpack_layer(tar(entries, zip), at(name), lowers);
    return done ? "" : done.error().message;
  }
  std::string at(const std::string& path) const { return dir_ + "/" + path; }
  std::string text(const std::string& path) { return read_file(at(path)).value_or("missing"); }
  struct stat look(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(at(path).c_str(), &info), 0) << path;
    return info;
  }
  bool is_whiteout(const std::string& path) {
    struct stat info = look(path);
    return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
  }
  bool is_opaque(const std::string& path) {
    char value[2];
    return ::lgetxattr(at(path).c_str(), "trusted.overlay.opaque", value, sizeof value) == 1;
  }

  TempDir temp_;
  const std::string& dir_ = temp_.path();
};

TEST_F(LayerTest, FilesKeepModeOwnerAndLinks) {
  for (bool zip : {true, false}) {
    const std::string name = zip ? "zipped" : "plain";
    ASSERT_EQ(unpack(name,
                     {{"./bin/", AE_IFDIR, "", 0711, 5},
                      {"./bin/su", AE_IFREG, "program", 04755, 7},
                      {"bin/sh", AE_IFLNK, "/bin/su"},
                      {"bin/hard", AE_IFREG, "./bin/su", 04755, 7, true}},
                     {}, zip),
              "");
    EXPECT_EQ(text(name + "/bin/su"), "program");
    EXPECT_EQ(look(name + "/bin/su").st_mode & 07777u, 04755u);
    EXPECT_EQ(look(name + "/bin/su").st_uid, 7u);
    EXPECT_EQ(look(name + "/bin").st_mode & 07777u, 0711u);
    EXPECT_EQ(fs::read_symlink(at(name + "/bin/sh")), "/bin/su");
    EXPECT_EQ(look(name + "/bin/hard").st_ino, look(name + "/bin/su").st_ino);
  }
}

TEST_F(LayerTest, WhiteoutsHideWhatIsBelowAndParentsLookAsBelow) {
  ASSERT_EQ(unpack("low", {{"etc/", AE_IFDIR, "", 0750, 3}, {"etc/a", AE_IFREG, "a"}}), "");
  ASSERT_EQ(
      unpack("top", {{"etc/.wh.a", AE_IFREG, ""}, {"var/.wh..wh..opq", AE_IFREG, ""}}, {at("low")}),
      "");
  EXPECT_TRUE(is_whiteout("top/etc/a"));
  EXPECT_EQ(look("top/etc").st_mode & 07777u, 0750u);
  EXPECT_EQ(look("top/etc").st_uid, 3u);
  EXPECT_TRUE(is_opaque("top/var"));
  EXPECT_FALSE(is_opaque("top/etc"));
}

TEST_F(LayerTest, AWhiteoutBesideANewDirectoryMakesItOpaque) {
  ASSERT_EQ(unpack("a", {{".wh.d", AE_IFREG, ""}, {"d/", AE_IFDIR, "", 0755}}), "");
  EXPECT_TRUE(is_opaque("a/d"));
  ASSERT_EQ(unpack("b", {{"d/", AE_IFDIR, "", 0755}, {".wh.d", AE_IFREG, ""}}), "");
  EXPECT_TRUE(is_opaque("b/d"));
  ASSERT_EQ(unpack("c", {{".wh.f", AE_IFREG, ""}, {"f", AE_IFREG, "new"}}), "");
  EXPECT_EQ(text("c/f"), "new");
}

TEST_F(LayerTest, NothingLeavesTheTarget) {
  fs::create_directory(at("outside"));
  ASSERT_TRUE(replace_file(at("outside/secret"), "secret", 0600));
  EXPECT_EQ(unpack("dots", {{"../outside/x", AE_IFREG, "x"}}),
            "layer entry \"../outside/x\": leaves the image's root");
  EXPECT_EQ(unpack("inner", {{"a/../../outside/x", AE_IFREG, "x"}}),
            "layer entry \"a/../../outside/x\": leaves the image's root");
  EXPECT_EQ(unpack("absolute", {{at("outside/x"), AE_IFREG, "x"}}), "");
  EXPECT_EQ(text("absolute" + at("outside/x")), "x");
  // A link is followed as the container would: its target is inside, or nowhere.
  EXPECT_NE(unpack("link", {{"l", AE_IFLNK, at("outside")}, {"l/x", AE_IFREG, "x"}}), "");
  EXPECT_NE(unpack("wh", {{"l", AE_IFLNK, at("outside")}, {"l/.wh.secret", AE_IFREG, ""}}), "");
  EXPECT_NE(unpack("opq", {{"l", AE_IFLNK, "../outside"}, {"l/.wh..wh..opq", AE_IFREG, ""}}), "");
  EXPECT_NE(unpack("hard", {{"h", AE_IFREG, at("outside/secret"), 0644, 0, true}}), "");
  EXPECT_NE(
      unpack("hard2", {{"l", AE_IFLNK, at("outside")}, {"h", AE_IFREG, "l/secret", 0644, 0, true}}),
      "");
  // Written through a link to a file: the link is replaced.
  EXPECT_EQ(unpack("file", {{"f", AE_IFLNK, at("outside/secret")}, {"f", AE_IFREG, "mine"}}), "");
  EXPECT_EQ(text("file/f"), "mine");
  EXPECT_EQ(text("outside/secret"), "secret");
  EXPECT_FALSE(is_opaque("outside"));
  EXPECT_EQ(std::distance(fs::directory_iterator(at("outside")), fs::directory_iterator()), 1);
}

TEST_F(LayerTest, AnInnerLinkIsFollowed) {
  ASSERT_EQ(unpack("l", {{"usr/lib/", AE_IFDIR, "", 0755},
                         {"lib", AE_IFLNK, "/usr/lib"},
                         {"lib/x", AE_IFREG, "x"}}),
            "");
  EXPECT_EQ(text("l/usr/lib/x"), "x");
}

TEST_F(LayerTest, OverlaysOwnAttributesDoNotPass) {
  ASSERT_EQ(unpack("x", {{"d/", AE_IFDIR, "", 0755, 0, false, "trusted.overlay.opaque"}}), "");
  EXPECT_FALSE(is_opaque("x/d"));
}

TEST_F(LayerTest, DamagedArchivesAreRefused) {
  const std::string path = tar({{"a", AE_IFREG, std::string(100'000, 'a')}});
  std::string whole = *read_file(path);
  ASSERT_TRUE(replace_file(path, whole.substr(0, whole.size() / 2), 0600));
  fs::create_directory(at("t"));
  EXPECT_FALSE(unpack_layer(path, at("t"), {}));
}

TEST_F(LayerTest, TheDigestIsThatOfTheTarFileWithin) {
  const std::vector<TarEntry> entries = {{"a", AE_IFREG, std::string(300'000, 'a')},
                                         {"b", AE_IFREG, "b"}};
  std::string plain, zipped;
  for (bool zip : {false, true}) {
    const std::string path = tar(entries, zip);
    fs::create_directory(at(zip ? "z" : "p"));
    Result<std::string> digest = unpack_layer(path, at(zip ? "z" : "p"), {});
    ASSERT_TRUE(digest) << digest.error().message;
    (zip ? zipped : plain) = *digest;
    EXPECT_EQ(*digest == describe_file(path)->digest, !zip)
        << "of what is in the archive, not of its compression";
  }
  EXPECT_EQ(zipped, plain);
  // Bytes behind the end of the archive are no entry, but part of the file.
  const std::string path = tar(entries, false);
  ASSERT_TRUE(replace_file(path, *read_file(path) + "more", 0600));
  fs::create_directory(at("m"));
  EXPECT_EQ(*unpack_layer(path, at("m"), {}), describe_file(path)->digest);
}

TEST_F(LayerTest, UnpackingEndsWhenItIsCancelled) {
  const std::atomic<bool> cancelled = true;
  fs::create_directory(at("t"));
  Result<std::string> done = unpack_layer(tar({{"a", AE_IFREG, "a"}}), at("t"), {}, &cancelled);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "read the layer: cancelled");
}

TEST_F(LayerTest, UsersAreLookedUpInTheImage) {
  ASSERT_EQ(unpack("r", {{"etc/passwd", AE_IFREG, "root:x:0:0::/:\napp:x:100:200::/:\n"},
                         {"etc/group", AE_IFREG, "staff:x:50:\nextra:x:60:other,app\n"}}),
            "");
  auto applied = [&](const std::string& user) {
    Security security;
    Result<void> done = apply_image_user(user, at("r"), security);
    if (!done) return done.error().message;
    std::string out = std::to_string(security.uid) + ":" + std::to_string(security.gid);
    for (std::uint32_t group : security.groups) out += "+" + std::to_string(group);
    return out;
  };
  EXPECT_EQ(applied(""), "0:0");
  EXPECT_EQ(applied("app"), "100:200+60");
  EXPECT_EQ(applied("100"), "100:200+60");
  EXPECT_EQ(applied("app:staff"), "100:50+60");
  EXPECT_EQ(applied("1234"), "1234:0");
  EXPECT_EQ(applied("1234:77"), "1234:77");
  EXPECT_EQ(applied("nobody"), "unable to find user nobody: no matching entries in passwd file");
  EXPECT_EQ(applied("app:none"), "unable to find group none: no matching entries in group file");
}

}  // namespace
}  // namespace hekla::agent
