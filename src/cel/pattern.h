// Regular expressions with RE2's syntax and its promise: a match costs time linear in the text,
// whatever a CRD's author wrote. Answered is whether and where it matches; there are no captures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hekla::cel {

class Pattern {
 public:
  // bad_request with the reason when the text is no expression, or one too large to run.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view text);

  // Unanchored, like Go's MatchString.
  bool matches(std::string_view text) const { return run(text, 0, true).has_value(); }

  struct Place {
    std::size_t begin = 0, end = 0;
  };
  // The leftmost match that begins at byte `from` or later; of those that begin there, the one a
  // backtracking search would meet first.
  std::optional<Place> find(std::string_view text, std::size_t from = 0) const {
    return run(text, from, false);
  }
  // All that do not overlap, as Go's FindAllString counts them; no more than `most`.
  std::vector<std::string_view> find_all(std::string_view text, std::size_t most) const;

  struct Range {
    std::uint32_t low, high;
  };
  struct Instruction {
    enum class Op : std::uint8_t {
      set,
      split,
      jump,
      text_begin,
      text_end,
      line_begin,
      line_end,
      word,
      not_word,
      match
    } op;
    std::uint32_t a = 0, b = 0;  // split and jump: targets; set: index into sets_
  };

 private:
  friend class PatternCompiler;
  // `any`: the first match that turns up will do.
  std::optional<Place> run(std::string_view text, std::size_t from, bool any) const;

  std::vector<Instruction> program_;
  std::vector<std::vector<Range>> sets_;
};

}  // namespace hekla::cel
