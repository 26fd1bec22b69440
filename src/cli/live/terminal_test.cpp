#include "cli/live/terminal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "cli/live/screen.h"

namespace hekla::cli {
namespace {

TEST(Terminal, ColoursTakeNoPlace) {
  const Paint paint(true);
  const std::string red = paint(Style::red, "häß");
  EXPECT_EQ(shown_width(red), 3u);
  EXPECT_EQ(fitted(red + " and more", 2), "\x1b[31mhä\x1b[0m");
  EXPECT_EQ(fitted("short", 10), "short");
  EXPECT_EQ(padded(red, 5), red + "  ");
  EXPECT_EQ(Paint(false)(Style::red, "plain"), "plain");
  EXPECT_EQ(paint.by_name("worker-1", "x"), paint.by_name("worker-1", "x"));
}

TEST(Terminal, Bars) {
  EXPECT_EQ(bar(0, 4), "░░░░");
  EXPECT_EQ(bar(0.5, 4), "██░░");
  EXPECT_EQ(bar(0.001, 4), "▏░░░");
  EXPECT_EQ(bar(3, 4), "████");
  EXPECT_EQ(shown_width(bar(0.37, 20)), 20u);
}

TEST(Terminal, CurvesFallAsLossesDo) {
  EXPECT_EQ(curve(std::array{4.0, 2.0, 0.0}), "█▅▁");
  // A loss that falls by decades still shows every step.
  EXPECT_EQ(curve(std::array{100.0, 10.0, 1.0, 0.1}), "█▆▃▁");
  EXPECT_EQ(curve(std::array{1.0, 1.0}), "▁▁");
  EXPECT_EQ(curve({}), "");
}

TEST(Screen, SaysAboveTheBlockAndDrawsItAnew) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    Screen screen(out, true);
    screen.draw("one\ntwo\n");
    screen.say("news");
  }
  std::fclose(out);
  EXPECT_EQ(std::string(text, size), "\x1b[?25lone\ntwo\n\x1b[2F\x1b[Jnews\none\ntwo\n\x1b[?25h");
  std::free(text);
}

TEST(Screen, WithoutATerminalOnlyWhatIsSaidRemains) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  {
    Screen screen(out, false);
    screen.draw("one\n");
    screen.say("news");
  }
  std::fclose(out);
  EXPECT_EQ(std::string(text, size), "news\n");
  std::free(text);
}

}  // namespace
}  // namespace hekla::cli
