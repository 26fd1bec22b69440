#include "dashboard/files/file_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/temp_dir_test.h"
#include "dashboard/files/files_route.h"
#include "json/parse.h"

namespace hekla::dashboard {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  FilesTest() : volume(fs::path(dir.path()) / "volume") {
    fs::create_directories(volume / "logs");
    std::ofstream(volume / "a.txt") << "hello";
    std::ofstream(fs::path(dir.path()) / "secret") << "not yours";
    tree = std::make_unique<FileTree>(std::move(*FileTree::open(volume.string())));
  }
  Code code_of(const std::string& path) {
    Result<FileTree::Found> found = tree->find(path);
    return found ? Code::internal : found.error().code;
  }

  TempDir dir;
  fs::path volume;
  std::unique_ptr<FileTree> tree;
};

TEST_F(FilesTest, ListsAndOpens) {
  Result<FileTree::Found> root = tree->find("");
  ASSERT_TRUE(root && root->directory);
  Result<json::Object> listed = FileTree::list(root->file);
  ASSERT_TRUE(listed);
  const json::Array& entries = listed->at("entries").get_array();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(json::text_at(entries[0], {"name"}), "a.txt");
  EXPECT_EQ(json::int_at(entries[0], {"size"}), 5);
  EXPECT_EQ(json::text_at(entries[1], {"type"}), "dir");
  Result<FileTree::Found> file = tree->find("a.txt");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->directory);
  EXPECT_EQ(file->size, 5U);
  EXPECT_EQ(code_of("none"), Code::not_found);
  EXPECT_EQ(code_of("a.txt/x"), Code::not_found);
}

TEST_F(FilesTest, NothingLeadsOut) {
  fs::create_symlink("/etc/passwd", volume / "absolute");
  fs::create_symlink("../secret", volume / "up");
  fs::create_directory_symlink("..", volume / "above");
  fs::create_symlink("/proc/self/root", volume / "magic");
  for (const char* path : {"absolute", "up", "above", "above/secret", "magic", "../secret",
                           "logs/../../secret", "/etc/passwd"})
    EXPECT_EQ(code_of(path), Code::forbidden) << path;
  EXPECT_FALSE(tree->write("above/new", "x"));
  EXPECT_FALSE(tree->remove("above/secret"));
  EXPECT_TRUE(fs::exists(fs::path(dir.path()) / "secret"));
  fs::create_symlink("a.txt", volume / "inside");
  EXPECT_TRUE(tree->find("inside"));
}

TEST_F(FilesTest, OpensNeitherPipesNorDevices) {
  ASSERT_EQ(::mkfifo((volume / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(code_of("pipe"), Code::invalid);
  EXPECT_FALSE(tree->write("pipe", "x"));
  EXPECT_FALSE(tree->write("logs", "x"));
}

TEST_F(FilesTest, WritesWholeFilesInPlaceOfOthers) {
  fs::create_symlink("../secret", volume / "trap");
  EXPECT_FALSE(tree->write("trap", "x"));  // not through a link, wherever it leads
  ASSERT_TRUE(tree->write("logs/b", "one"));
  ASSERT_TRUE(tree->write("logs/b", "two"));
  std::string text;
  std::ifstream(volume / "logs/b") >> text;
  EXPECT_EQ(text, "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(volume / "logs"), {}), 1);
  for (const char* path : {"", "logs/", "logs/..", "none/x"}) EXPECT_FALSE(tree->write(path, "x"));
}

TEST_F(FilesTest, RemovesFilesAndEmptyDirectories) {
  ASSERT_TRUE(tree->write("logs/b", "one"));
  Result<void> full = tree->remove("logs");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::conflict);
  EXPECT_TRUE(tree->remove("logs/b"));
  EXPECT_TRUE(tree->remove("logs"));
  EXPECT_FALSE(tree->remove(""));
}

TEST(ClaimDirectory, OnlyTheVolumeSaysWhoseItIs) {
  const json::Value claim = *json::parse(R"({"metadata":{"uid":"u1"},"spec":{"volumeName":"v"}})");
  const auto volume = [](std::string_view uid, std::string_view source, std::string_view by = "x") {
    return *json::parse(R"({"metadata":{"annotations":{"pv.kubernetes.io/provisioned-by":")" +
                        std::string(by) + R"("}},"spec":{"claimRef":{"uid":")" + std::string(uid) +
                        R"("},)" + std::string(source) + "}}");
  };
  const char* path = R"("hostPath":{"path":"/data"})";
  EXPECT_FALSE(directory_of(claim, volume("u2", path)));
  EXPECT_FALSE(directory_of(*json::parse("{}"), volume("", path)));
  EXPECT_FALSE(directory_of(claim, volume("u1", R"("nfs":{"server":"s"})")));
  EXPECT_FALSE(directory_of(claim, volume("u1", R"("local":{"path":"/mnt"})")));
  Result<ClaimDirectory> by_hand = directory_of(claim, volume("u1", path));
  ASSERT_TRUE(by_hand);
  EXPECT_TRUE(by_hand->read_only);
  Result<ClaimDirectory> ours = directory_of(claim, volume("u1", path, "rancher.io/local-path"));
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->path, "/data");
  EXPECT_FALSE(ours->read_only);
}

}  // namespace
}  // namespace hekla::dashboard
