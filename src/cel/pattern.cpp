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

// The positions reached so far, each once.
struct Threads {
  std::vector<std::uint32_t> list;
  std::vector<bool> present;
};

}  // namespace

bool Pattern::matches(std::string_view text) const {
  Threads now, next;
  now.present.resize(program_.size());
  next.present.resize(program_.size());
  std::vector<std::uint32_t> stack;
  bool matched = false;

  const auto add = [&](Threads& to, std::uint32_t start, std::uint32_t before,
                       std::uint32_t after) {
    stack.assign(1, start);
    while (!stack.empty()) {
      std::uint32_t at = stack.back();
      stack.pop_back();
      if (to.present[at]) continue;
      to.present[at] = true;
      const Instruction& step = program_[at];
      bool pass = false;
      switch (step.op) {
        case Instruction::Op::set:
          to.list.push_back(at);
          break;
        case Instruction::Op::match:
          matched = true;
          return;
        case Instruction::Op::jump:
          stack.push_back(step.a);
          break;
        case Instruction::Op::split:
          stack.push_back(step.b);
          stack.push_back(step.a);
          break;
        case Instruction::Op::text_begin:
          pass = before == kNone;
          break;
        case Instruction::Op::text_end:
          pass = after == kNone;
          break;
        case Instruction::Op::line_begin:
          pass = before == kNone || before == '\n';
          break;
        case Instruction::Op::line_end:
          pass = after == kNone || after == '\n';
          break;
        case Instruction::Op::word:
          pass = is_word(before) != is_word(after);
          break;
        case Instruction::Op::not_word:
          pass = is_word(before) == is_word(after);
          break;
      }
      if (pass) stack.push_back(at + 1);
    }
  };

  std::size_t at = 0;
  std::uint32_t before = kNone;
  std::uint32_t rune = text.empty() ? kNone : next_rune(text, at);
  for (;;) {
    add(now, 0, before, rune);
    if (matched) return true;
    if (rune == kNone) return false;
    std::uint32_t after = at < text.size() ? next_rune(text, at) : kNone;
    for (std::uint32_t thread : now.list) {
      const std::vector<Range>& set = sets_[program_[thread].a];
      bool in = std::any_of(set.begin(), set.end(), [&](const Range& range) {
        return rune >= range.low && rune <= range.high;
      });
      if (in) add(next, thread + 1, rune, after);
      if (matched) return true;
    }
    std::swap(now, next);
    next.list.clear();
    next.present.assign(program_.size(), false);
    before = rune;
    rune = after;
  }
}

}  // namespace hekla::cel
