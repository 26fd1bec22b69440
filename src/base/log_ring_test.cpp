#include "base/log_ring.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace hekla {
namespace {

TEST(LogRing, KeepsTheLastLinesOfEachComponentInOrder) {
  LogRing ring(2);
  for (const char* text : {"1", "2", "3"}) ring.add("a", WallTime(), text);
  ring.add("b", WallTime(), "4");
  ring.add("c", WallTime(), "5");
  std::vector<LogLine> lines = ring.read({"b", "a", "missing"}, 0);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text + lines[1].text + lines[2].text, "234");
  EXPECT_EQ(ring.read({"a", "b"}, lines[1].number).size(), 1u);
}

TEST(LogCapture, GetsWhatTheLevelHidesButNoDebugging) {
  std::string seen;
  set_log_level(LogLevel::error);
  set_log_capture([&](std::string_view component, std::string_view line) {
    seen += std::string(component) + "|" + std::string(line) + "\n";
  });
  log_debug("x", "hidden");
  log_info("x", "said", {{"key", "a value"}});
  set_log_capture(nullptr);
  set_log_level(LogLevel::info);
  EXPECT_EQ(seen, "x|info x: said key=\"a value\"\n");
}

}  // namespace
}  // namespace hekla
