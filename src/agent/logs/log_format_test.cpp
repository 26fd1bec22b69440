#include "agent/logs/log_format.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/logs/log_choice.h"
#include "agent/os/file_descriptor.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

constexpr const char* kLog =
    "2024-01-01T00:00:01.000000001+00:00 stdout F one\n"
    "2024-01-01T00:00:02.500000000+00:00 stdout P two-\n"
    "2024-01-01T00:00:03.000000000+00:00 stdout F end\n"
    "2024-01-01T00:00:04.000000000+00:00 stderr F \n"
    "2024-01-01T00:00:05.000000000+00:00 stdout F five\n";

std::string formatted(LogFormat format, std::string_view text = kLog, std::size_t piece = 1 << 20) {
  LogFormatter formatter(format);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += piece)
    out += formatter.feed(text.substr(at, piece));
  return out;
}

TEST(LogFormat, JoinsPartsOfLines) {
  EXPECT_EQ(formatted({}), "one\ntwo-end\n\nfive\n");
  for (std::size_t piece : {1u, 2u, 7u, 50u}) EXPECT_EQ(formatted({}, kLog, piece), formatted({}));
}

TEST(LogFormat, StampsEachLineOnce) {
  EXPECT_EQ(formatted({.timestamps = true}),
            "2024-01-01T00:00:01.000000001Z one\n2024-01-01T00:00:02.5Z two-end\n"
            "2024-01-01T00:00:04Z \n2024-01-01T00:00:05Z five\n");
}

TEST(LogFormat, SinceAndLimit) {
  WallTime four = model::parse_rfc3339("2024-01-01T00:00:04Z").value();
  EXPECT_EQ(formatted({.since = four}), "\nfive\n");
  EXPECT_EQ(formatted({.limit_bytes = 6}), "one\ntw");
  EXPECT_EQ(formatted({.limit_bytes = 0}), "");
}

TEST(LogFormat, SkipsWhatIsNoRecord) {
  EXPECT_EQ(formatted({}, "garbage\n\n2024 stdout X no\n2024-01-01T00:00:01Z stdout F yes\n"),
            "yes\n");
  EXPECT_EQ(formatted({}, "2024-01-01T00:00:01Z stdout F unfinished"), "");
}

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
  return formatted({}, wanted);
}
std::string tail(const std::string& text, std::int64_t lines) {
  return tail(std::vector{text}, lines);
}

TEST(LogTail, CountsFullLines) {
  EXPECT_EQ(tail(kLog, 0), "");
  EXPECT_EQ(tail(kLog, 1), "five\n");
  EXPECT_EQ(tail(kLog, 3), "two-end\n\nfive\n");
  EXPECT_EQ(tail(kLog, 4), "one\ntwo-end\n\nfive\n");
  EXPECT_EQ(tail(kLog, 100), formatted({}));
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

PodRecord two_containers() {
  PodRecord record;
  record.name = "p";
  record.containers = {{.name = "i", .init = true}, {.name = "a"}, {.name = "b"}};
  return record;
}

TEST(LogChoice, AsksForAContainer) {
  PodRecord record = two_containers();
  EXPECT_EQ(choose_log_container(record, "").error().message,
            "a container name must be specified for pod p, choose one of: [a b] or one of the init "
            "containers: [i]");
  EXPECT_EQ(choose_log_container(record, "x").error().message,
            "container x is not valid for pod p");
  EXPECT_EQ(*choose_log_container(record, "i"), 0u);
  record.containers.pop_back();
  EXPECT_EQ(*choose_log_container(record, ""), 1u);
}

TEST(LogChoice, WaitingAndPreviousInTheApisWords) {
  PodRecord record = two_containers();
  ContainerRecord& a = record.containers[1];
  EXPECT_EQ(choose_log_run(record, a, {}, false).error().message,
            "container \"a\" in pod \"p\" is waiting to start: ContainerCreating");
  EXPECT_EQ(choose_log_run(record, a, {}, true).error().message,
            "previous terminated container \"a\" in pod \"p\" not found");
  a.previous = ContainerRun{.attempt = 0, .phase = run_phase::exited};
  a.current = ContainerRun{.attempt = 1, .phase = run_phase::starting};
  EXPECT_EQ((*choose_log_run(record, a, {}, false))->attempt, 0);
  a.current->phase = run_phase::running;
  EXPECT_EQ((*choose_log_run(record, a, {}, false))->attempt, 1);
  EXPECT_EQ((*choose_log_run(record, a, {}, true))->attempt, 0);
}

TEST(LogFormat, OneStreamAlone) {
  LogFormat format;
  format.stream = "stderr";
  LogFormatter formatter(format);
  EXPECT_EQ(formatter.feed("2026-01-01T00:00:00Z stdout F a\n2026-01-01T00:00:00Z stderr F b\n"),
            "b\n");
}

}  // namespace
}  // namespace hekla::agent
