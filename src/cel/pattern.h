// Regular expressions with RE2's syntax and its promise: a match costs time linear in the text,
// whatever a CRD's author wrote. Only "does it match somewhere" is answered; there are no captures.
#pragma once

#include <cstdint>
#include <memory>
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
  bool matches(std::string_view text) const;

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
  std::vector<Instruction> program_;
  std::vector<std::vector<Range>> sets_;
};

}  // namespace hekla::cel
