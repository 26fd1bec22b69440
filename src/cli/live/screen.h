// A block of lines at the bottom of what a terminal shows, drawn anew as it changes; what is said
// meanwhile scrolls by above it. Without a terminal there is only what is said.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace hekla::cli {

class Screen {
 public:
  Screen(std::FILE* out, bool live) : out_(out), live_(live) {}
  // Leaves the block as it stands.
  ~Screen() { finish(); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool live() const { return live_; }
  // Lines that are too long are cut, and so is a block higher than the terminal.
  void draw(std::string_view block);
  void say(std::string_view line);
  void finish();
  // The block goes away.
  void clear();

 private:
  std::string erasure();
  std::string shown(std::string_view block);

  std::FILE* const out_;
  const bool live_;
  std::string block_;
  std::size_t drawn_ = 0;  // lines of it on the screen
};

}  // namespace hekla::cli
