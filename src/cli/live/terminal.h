// Text for terminals: whether there is one, what fits its lines, colours, bars and curves.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace hekla::cli {

// A terminal that can be drawn on: none in CI and none that is dumb.
bool is_live(std::FILE* out);

struct TerminalSize {
  std::size_t columns = 80, rows = 24;
};
TerminalSize terminal_size(std::FILE* out);

enum class Style : std::uint8_t { plain, bold, dim, red, green, yellow, blue, magenta, cyan };

// Colours where they are wanted, and the text alone elsewhere.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  // On a terminal, unless NO_COLOR is set.
  static Paint of(std::FILE* out);
  std::string operator()(Style style, std::string_view text) const;
  // Always the same colour for the same name: those of a job's pods.
  std::string by_name(std::string_view name, std::string_view text) const;
  bool on() const { return on_; }

 private:
  bool on_;
};

// Characters that take a place on the screen: colours take none, and UTF-8 counts by character.
std::size_t shown_width(std::string_view text);
// At most `width` of them; a colour that was begun is ended.
std::string fitted(std::string_view text, std::size_t width);
std::string padded(std::string_view text, std::size_t width);

// A bar of `width` characters, filled from the left; more than all of it is all of it.
std::string bar(double fraction, std::size_t width);
// A curve, a character for each value: high and low by logarithm where the values are all positive
// and far apart, as losses are.
std::string curve(std::span<const double> values);
// The frame of a small turning wheel at this moment.
std::string_view wheel(std::uint64_t tick);

}  // namespace hekla::cli
