// Running a pattern: a set of program positions advances over the text one code point at a time
// (Thompson's simulation), so there is no backtracking and no recursion on the text.
#include "cel/pattern.h"

#include <algorithm>

namespace hekla::cel {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;  // before the first and after the last code point

// Invalid bytes decode as U+FFFD, one at a time, as in Go.
std::uint32_t next_rune(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(at);
  if (first < 0x80) return ++at, first;
  int more = first >= 0xf0 && first < 0xf8   ? 3
             : first >= 0xe0 && first < 0xf0 ? 2
             : first >= 0xc2 && first < 0xe0 ? 1
                                             : 0;
  if (more == 0 || text.size() - at <= static_cast<std::size_t>(more)) return ++at, 0xfffd;
  std::uint32_t rune = first & (0x3f >> more);
  for (int i = 1; i <= more; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return ++at, 0xfffd;
    rune = rune << 6 | (byte(at + i) & 0x3f);
  }
  at += static_cast<std::size_t>(more) + 1;
  return rune;
}

bool is_word(std::uint32_t rune) {
  return (rune >= '0' && rune <= '9') || (rune >= 'a' && rune <= 'z') ||
         (rune >= 'A' && rune <= 'Z') || rune == '_';
}

// The code point that ends at byte `at`.
std::uint32_t rune_before(std::string_view text, std::size_t at) {
  if (at == 0) return kNone;
  std::size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (text[begin] & 0xc0) == 0x80) --begin;
  std::size_t end = begin;
  const std::uint32_t rune = next_rune(text, end);
  return end == at ? rune : 0xfffd;
}

// The positions reached so far, each once, in the order of preference.
struct Threads {
  struct Thread {
    std::uint32_t at;
    std::size_t begin;  // of the match it is about
  };
  std::vector<Thread> list;
  std::vector<bool> present;

  void clear() {
    list.clear();
    present.assign(present.size(), false);
  }
};

bool holds(Pattern::Instruction::Op op, std::uint32_t before, std::uint32_t after) {
  using Op = Pattern::Instruction::Op;
  switch (op) {
    case Op::text_begin:
      return before == kNone;
    case Op::text_end:
      return after == kNone;
    case Op::line_begin:
      return before == kNone || before == '\n';
    case Op::line_end:
      return after == kNone || after == '\n';
    case Op::word:
      return is_word(before) != is_word(after);
    case Op::not_word:
      return is_word(before) == is_word(after);
    default:
      return false;
  }
}

}  // namespace

std::optional<Pattern::Place> Pattern::run(std::string_view text, std::size_t from,
                                           bool any) const {
  using Op = Instruction::Op;
  Threads now, next;
  now.present.resize(program_.size());
  next.present.resize(program_.size());
  std::vector<std::uint32_t> stack;

  // Follows what costs no code point; what waits for one, and the end of a match, is listed.
  const auto add = [&](Threads& to, std::uint32_t start, std::size_t begin, std::uint32_t before,
                       std::uint32_t after) {
    stack.assign(1, start);
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      if (to.present[at]) continue;
      to.present[at] = true;
      const Instruction& step = program_[at];
      if (step.op == Op::set || step.op == Op::match) {
        to.list.push_back({at, begin});
      } else if (step.op == Op::jump) {
        stack.push_back(step.a);
      } else if (step.op == Op::split) {
        stack.push_back(step.b);
        stack.push_back(step.a);
      } else if (holds(step.op, before, after)) {
        stack.push_back(at + 1);
      }
    }
  };

  std::optional<Place> found;
  std::size_t here = from,
              ahead = from;  // the bytes at which the present code point begins and ends
  std::uint32_t before = rune_before(text, from);
  std::uint32_t rune = ahead < text.size() ? next_rune(text, ahead) : kNone;
  for (;;) {
    if (!found) add(now, 0, here, before, rune);
    const std::size_t behind = ahead;
    const std::uint32_t after = ahead < text.size() ? next_rune(text, ahead) : kNone;
    for (const Threads::Thread& thread : now.list) {
      const Instruction& step = program_[thread.at];
      if (step.op == Op::match) {
        found = Place{thread.begin, here};
        if (any) return found;
        break;  // what is less preferred does not matter any more
      }
      const std::vector<Range>& set = sets_[step.a];
      const bool in = rune != kNone && std::any_of(set.begin(), set.end(), [&](const Range& range) {
                        return rune >= range.low && rune <= range.high;
                      });
      if (in) add(next, thread.at + 1, thread.begin, rune, after);
    }
    if (rune == kNone || (found && next.list.empty())) return found;
    std::swap(now, next);
    next.clear();
    before = rune;
    rune = after;
    here = behind;
  }
}

std::vector<std::string_view> Pattern::find_all(std::string_view text, std::size_t most) const {
  std::vector<std::string_view> out;
  std::optional<std::size_t> last_end;
  for (std::size_t at = 0; out.size() < most && at <= text.size();) {
    const std::optional<Place> place = find(text, at);
    if (!place) break;
    // An empty match right behind another one does not count.
    if (place->end > place->begin || place->begin != last_end)
      out.push_back(text.substr(place->begin, place->end - place->begin));
    last_end = place->end;
    if (place->end > at) {
      at = place->end;
    } else if (at < text.size()) {
      next_rune(text, at);
    } else {
      break;
    }
  }
  return out;
}

}  // namespace hekla::cel
