#include "cli/live/screen.h"

#include <algorithm>

#include "cli/live/terminal.h"

namespace hekla::cli {
namespace {

constexpr const char *kHideCursor = "\x1b[?25l", *kShowCursor = "\x1b[?25h";

void write(std::FILE* out, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

}  // namespace

std::string Screen::erasure() {
  if (drawn_ == 0) return {};
  const std::string text = "\x1b[" + std::to_string(drawn_) + "F\x1b[J";
  drawn_ = 0;
  return text;
}

std::string Screen::shown(std::string_view block) {
  const TerminalSize size = terminal_size(out_);
  const std::size_t rows = std::max<std::size_t>(size.rows, 3) - 1;
  std::string text;
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\n', at), block.size());
    if (drawn_ + 1 >= rows && end + 1 < block.size()) {
      text += "  ...\n";
      ++drawn_;
      break;
    }
    text += fitted(block.substr(at, end - at), size.columns - 1) + "\n";
    ++drawn_;
    at = end + 1;
  }
  return text;
}

// One write for all of it: the screen does not flicker.
void Screen::draw(std::string_view block) {
  if (!live_) return;
  block_ = block;
  const std::string begin = (drawn_ == 0 ? kHideCursor : "") + erasure();
  write(out_, begin + shown(block_));
}

void Screen::say(std::string_view line) {
  const std::string begin = erasure() + std::string(line) + "\n";
  write(out_, block_.empty() ? begin : begin + shown(block_));
}

void Screen::finish() {
  if (drawn_ > 0) write(out_, kShowCursor);
  drawn_ = 0;
  block_.clear();
}

void Screen::clear() {
  if (drawn_ > 0) write(out_, erasure() + kShowCursor);
  block_.clear();
}

}  // namespace hekla::cli
