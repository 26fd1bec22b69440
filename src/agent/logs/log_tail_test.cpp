#include "agent/logs/log_tail.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/os/file_descriptor.h"
#include "kube/log_format.h"

namespace hekla::agent {
namespace {

constexpr const char* kLog =
    "2024-01-01T00:00:01.000000001+00:00 stdout F one\n"
    "2024-01-01T00:00:02.500000000+00:00 stdout P two-\n"
    "2024-01-01T00:00:03.000000000+00:00 stdout F end\n"
    "2024-01-01T00:00:04.000000000+00:00 stderr F \n"
    "2024-01-01T00:00:05.000000000+00:00 stdout F five\n";

std::string formatted(std::string_view text) { return kube::LogFormatter({}).feed(text); }

std::string tail(const std::vector<std::string>& texts, std::int64_t lines) {
  std::vector<FileDescriptor> open;
  std::vector<int> files;
  for (const std::string& text : texts) {
    open.emplace_back(::memfd_create("log", 0));
    files.push_back(open.back().get());
    EXPECT_EQ(::write(files.back(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  const std::vector<std::uint64_t> offsets = tail_offsets(files, lines).value();
  std::string wanted;
  for (std::size_t i = 0; i < texts.size(); ++i) wanted += texts[i].substr(offsets[i]);
  return formatted(wanted);
}
std::string tail(const std::string& text, std::int64_t lines) {
  return tail(std::vector{text}, lines);
}

TEST(LogTail, CountsFullLines) {
  EXPECT_EQ(tail(kLog, 0), "");
  EXPECT_EQ(tail(kLog, 1), "five\n");
  EXPECT_EQ(tail(kLog, 3), "two-end\n\nfive\n");
  EXPECT_EQ(tail(kLog, 4), "one\ntwo-end\n\nfive\n");
  EXPECT_EQ(tail(kLog, 100), formatted(kLog));
  EXPECT_EQ(tail("", 5), "");
}

TEST(LogTail, ALineBeingWrittenCounts) {
  std::string text = std::string(kLog) + "2024-01-01T00:00:06Z stdout P six\n";
  EXPECT_EQ(tail(text, 1), "six");
  EXPECT_EQ(tail(text, 2), "five\nsix");
}

TEST(LogTail, ALineCutBetweenTwoFilesIsOne) {
  std::string record = "2024-01-01T00:00:01Z stdout ";
  std::vector<std::string> files = {record + "F one\n" + record + "F two\n" + record + "P three-",
                                    record + "F end\n" + record + "F four\n", ""};
  files[0] += "\n";
  EXPECT_EQ(tail(files, 0), "");
  EXPECT_EQ(tail(files, 1), "four\n");
  EXPECT_EQ(tail(files, 2), "three-end\nfour\n");
  EXPECT_EQ(tail(files, 3), "two\nthree-end\nfour\n");
  EXPECT_EQ(tail(files, 9), "one\ntwo\nthree-end\nfour\n");
  EXPECT_EQ(tail({files[0], ""}, 2), "two\nthree-");
}

TEST(LogTail, ReachesBeyondTheFirstBlock) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += "2024-01-01T00:00:01.000000001+00:00 stdout F line " + std::to_string(i) + "\n";
  EXPECT_EQ(tail(text, 1), "line 4999\n");
  std::string many = tail(text, 4000);
  EXPECT_TRUE(many.starts_with("line 1000\n")) << many.substr(0, 20);
}

}  // namespace
}  // namespace hekla::agent
