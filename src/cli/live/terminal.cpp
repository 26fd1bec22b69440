#include "cli/live/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/environment.h"

namespace hekla::cli {
namespace {

constexpr const char* kEnd = "\x1b[0m";

const char* code_of(Style style) {
  switch (style) {
    case Style::plain:
      return "";
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::red:
      return "\x1b[31m";
    case Style::green:
      return "\x1b[32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::blue:
      return "\x1b[34m";
    case Style::magenta:
      return "\x1b[35m";
    case Style::cyan:
      return "\x1b[36m";
  }
  return "";
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// The length of the escape sequence that begins here; 0: none does.
std::size_t escape_at(std::string_view text, std::size_t at) {
  if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
  std::size_t end = at + 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size()) - at;
}

}  // namespace

bool is_live(std::FILE* out) {
  const std::string ci = environment_variable("CI");
  return ::isatty(::fileno(out)) != 0 && environment_variable("TERM") != "dumb" &&
         (ci.empty() || ci == "false");
}

TerminalSize terminal_size(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return {size.ws_col, size.ws_row == 0 ? std::size_t{24} : size.ws_row};
}

Paint Paint::of(std::FILE* out) {
  return Paint(is_live(out) && environment_variable("NO_COLOR").empty());
}

std::string Paint::operator()(Style style, std::string_view text) const {
  if (!on_ || style == Style::plain || text.empty()) return std::string(text);
  return code_of(style) + std::string(text) + kEnd;
}

std::string Paint::by_name(std::string_view name, std::string_view text) const {
  static constexpr std::array kColours{Style::cyan, Style::green, Style::yellow, Style::magenta,
                                       Style::blue};
  std::size_t sum = 0;
  for (char c : name) sum = sum * 31 + static_cast<unsigned char>(c);
  return (*this)(kColours[sum % kColours.size()], text);
}

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (std::size_t escape = escape_at(text, at); escape > 0) {
      at += escape;
      continue;
    }
    if (begins_character(text[at])) ++width;
    ++at;
  }
  return width;
}

std::string fitted(std::string_view text, std::size_t width) {
  std::size_t characters = 0, at = 0;
  bool coloured = false;
  while (at < text.size()) {
    if (std::size_t escape = escape_at(text, at); escape > 0) {
      coloured = text.substr(at, escape) != kEnd;
      at += escape;
      continue;
    }
    if (begins_character(text[at]) && ++characters > width) break;
    ++at;
  }
  return std::string(text.substr(0, at)) + (coloured && at < text.size() ? kEnd : "");
}

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t shown = shown_width(text);
  return std::string(text) + std::string(width > shown ? width - shown : 0, ' ');
}

std::string bar(double fraction, std::size_t width) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double full = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width);
  auto eighths = static_cast<std::size_t>(std::lround(full * 8));
  if (fraction > 0 && eighths == 0) eighths = 1;  // a little is not nothing
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kParts[eighths % 8];
  for (std::size_t used = (eighths + 7) / 8; used < width; ++used) text += "░";
  return text;
}

std::string curve(std::span<const double> values) {
  static constexpr std::array<std::string_view, 8> kSteps{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty()) return {};
  const auto [low, high] = std::ranges::minmax(values);
  const bool by_logarithm = low > 0 && high / low > 20;
  auto place = [&](double value) { return by_logarithm ? std::log(value) : value; };
  const double span = place(high) - place(low);
  std::string text;
  for (double value : values) {
    const double share = span > 0 ? (place(value) - place(low)) / span : 0;
    text += kSteps[static_cast<std::size_t>(std::clamp(std::lround(share * 7), 0L, 7L))];
  }
  return text;
}

std::string_view wheel(std::uint64_t tick) {
  static constexpr std::array<std::string_view, 10> kFrames{"⠋", "⠙", "⠹", "⠸", "⠼",
                                                            "⠴", "⠦", "⠧", "⠇", "⠏"};
  return kFrames[tick % kFrames.size()];
}

}  // namespace hekla::cli
