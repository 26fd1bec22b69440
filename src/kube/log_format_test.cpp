#include "kube/log_format.h"

#include <gtest/gtest.h>

#include "model/time.h"

namespace hekla::kube {
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

TEST(LogFormat, OneStreamAlone) {
  LogFormat format;
  format.stream = "stderr";
  LogFormatter formatter(format);
  EXPECT_EQ(formatter.feed("2026-01-01T00:00:00Z stdout F a\n2026-01-01T00:00:00Z stderr F b\n"),
            "b\n");
}

}  // namespace
}  // namespace hekla::kube
