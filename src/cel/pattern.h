// Regular expressions as Go has them, by RE2, whose syntax Go's is: a match costs time linear in
// the text, whatever a CRD's author wrote. Answered is whether and where it matches; there are no
// captures. Immutable; may be used by several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace hekla::cel {

class Pattern {
 public:
  // bad_request with Go's words when the text is no expression, or one too large to run.
  static Result<std::shared_ptr<const Pattern>> compile(std::string_view text);
  explicit Pattern(std::unique_ptr<re2::RE2> program);
  ~Pattern();

  // Unanchored, like Go's MatchString.
  bool matches(std::string_view text) const;

  struct Place {
    std::size_t begin = 0, end = 0;
  };
  // The leftmost match that begins at byte `from` or later; of those that begin there, the one a
  // backtracking search would meet first.
  std::optional<Place> find(std::string_view text, std::size_t from = 0) const;
  // All that do not overlap, as Go's FindAllString counts them; no more than `most`.
  std::vector<std::string_view> find_all(std::string_view text, std::size_t most) const;

  // The most that matching a text of this length can cost, in steps of 5 to 10 ns: every
  // instruction at every byte. Nearly all texts cost a small part of it.
  std::uint64_t steps_at_most(std::size_t text_bytes) const;

 private:
  std::unique_ptr<re2::RE2> program_;
};

}  // namespace hekla::cel
