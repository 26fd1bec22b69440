// Reading a pattern: recursive descent over RE2's grammar, straight into the program. Repetitions
// are written out, as RE2 does; the program's size is bounded instead of the repetitions' nesting.
#include <algorithm>
#include <cctype>

#include "cel/pattern.h"
#include "cel/pattern_set.h"

namespace hekla::cel {

namespace {
constexpr std::size_t kMaxProgram = 50'000;
constexpr int kMaxRepeat = 1000;
constexpr int kMaxDepth = 200;
}  // namespace

class PatternCompiler {
 public:
  PatternCompiler(std::string_view text, Pattern& out) : text_(text), out_(out) {}

  Result<void> run() {
    TRY(alternatives(0));
    if (at_ < text_.size()) return error("unexpected )");
    TRY(emit({Op::match}));
    return {};
  }

 private:
  using Op = Pattern::Instruction::Op;
  using Instruction = Pattern::Instruction;
  struct Flags {
    bool ignore_case = false, dot_all = false, multi_line = false, reluctant = false;
  };

  std::unexpected<Error> error(std::string_view why) const {
    return fail(Code::bad_request,
                "error parsing regexp: " + std::string(why) + ": `" + std::string(text_) + "`");
  }
  bool more() const { return at_ < text_.size(); }
  char peek() const { return text_[at_]; }
  bool eat(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::uint32_t here() const { return static_cast<std::uint32_t>(out_.program_.size()); }
  Result<void> emit(Instruction step) {
    if (out_.program_.size() >= kMaxProgram) return error("expression too large");
    out_.program_.push_back(step);
    return {};
  }
  Result<void> emit_set(Ranges set) {
    if (flags_.ignore_case) fold_case(set);
    out_.sets_.push_back(std::move(set));
    return emit({Op::set, static_cast<std::uint32_t>(out_.sets_.size() - 1)});
  }
  // Makes room for one instruction at `where`; targets behind it move along.
  Result<void> insert(std::uint32_t where, Instruction step) {
    TRY(emit({Op::jump}));
    auto& program = out_.program_;
    std::rotate(program.begin() + where, program.end() - 1, program.end());
    for (std::uint32_t i = where + 1; i < program.size(); ++i) {
      if (program[i].op != Op::jump && program[i].op != Op::split) continue;
      if (program[i].a >= where) ++program[i].a;
      if (program[i].b >= where) ++program[i].b;
    }
    program[where] = step;
    return {};
  }

  Result<void> alternatives(int depth) {
    if (depth > kMaxDepth) return error("expression nests too deeply");
    std::uint32_t start = here();
    TRY(sequence(depth));
    std::vector<std::uint32_t> exits;
    while (eat("|")) {
      TRY(insert(start, {Op::split, start + 1, here() + 2}));
      exits.push_back(here());
      TRY(emit({Op::jump}));
      start = here();
      TRY(sequence(depth));
    }
    for (std::uint32_t exit : exits) out_.program_[exit].a = here();
    return {};
  }

  Result<void> sequence(int depth) {
    while (more() && peek() != '|' && peek() != ')') {
      std::uint32_t start = here();
      bool repeatable = true;
      TRY(atom(depth, repeatable));
      if (more() && repeatable) TRY(repetitions(start));
    }
    return {};
  }

  Result<void> repetitions(std::uint32_t start) {
    bool repeated = false;
    while (more()) {
      int low = 0, high = -1;
      if (eat("*")) {
      } else if (eat("+")) {
        low = 1;
      } else if (eat("?")) {
        high = 1;
      } else if (!TRY(counted(low, high))) {
        return {};
      }
      if (repeated) return error("invalid nested repetition operator");
      repeated = true;
      const bool reluctant = eat("?") != flags_.reluctant;
      TRY(repeat(start, low, high, reluctant));
    }
    return {};
  }

  // {2}, {2,}, {2,5}; anything else in braces is literal, as in RE2.
  Result<bool> counted(int& low, int& high) {
    if (peek() != '{') return false;
    std::size_t mark = at_++;
    const auto number = [&](int& out) {
      std::size_t from = at_;
      out = 0;
      while (more() && peek() >= '0' && peek() <= '9' && out <= kMaxRepeat)
        out = out * 10 + (text_[at_++] - '0');
      return at_ > from;
    };
    bool ok = number(low);
    high = low;
    if (ok && eat(",") && !number(high)) high = -1;
    if (!ok || !eat("}")) {
      at_ = mark;
      return false;
    }
    if (low > kMaxRepeat || high > kMaxRepeat || (high >= 0 && high < low))
      return error("invalid repeat count");
    return true;
  }

  // A split prefers its first way: once more, unless the repetition is reluctant.
  Result<void> repeat(std::uint32_t start, int low, int high, bool reluctant) {
    std::vector<Instruction> body(out_.program_.begin() + start, out_.program_.end());
    out_.program_.resize(start);
    const auto copy = [&]() -> Result<void> {
      std::uint32_t shift = here() - start;
      for (Instruction step : body) {
        if (step.op == Op::jump || step.op == Op::split) step.a += shift, step.b += shift;
        TRY(emit(step));
      }
      return {};
    };
    for (int i = 0; i < low; ++i) TRY(copy());
    if (high < 0) {
      std::uint32_t loop = here();
      TRY(emit({Op::split, loop + 1, 0}));
      TRY(copy());
      TRY(emit({Op::jump, loop}));
      out_.program_[loop].b = here();
      if (reluctant) std::swap(out_.program_[loop].a, out_.program_[loop].b);
      return {};
    }
    std::vector<std::uint32_t> exits;
    for (int i = low; i < high; ++i) {
      exits.push_back(here());
      TRY(emit({Op::split, here() + 1, 0}));
      TRY(copy());
    }
    for (std::uint32_t exit : exits) {
      out_.program_[exit].b = here();
      if (reluctant) std::swap(out_.program_[exit].a, out_.program_[exit].b);
    }
    return {};
  }

  Result<void> atom(int depth, bool& repeatable) {
    char c = text_[at_++];
    switch (c) {
      case '(':
        return group(depth, repeatable);
      case '[':
        return emit_set(TRY(bracket()));
      case '.':
        return emit_set(flags_.dot_all ? Ranges{{0, kMaxRune}} : negated({{'\n', '\n'}}));
      case '^':
        return emit({flags_.multi_line ? Op::line_begin : Op::text_begin});
      case '$':
        return emit({flags_.multi_line ? Op::line_end : Op::text_end});
      case '*':
      case '+':
      case '?':
        return error("missing argument to repetition operator");
      case '\\':
        return escape();
      default:
        --at_;
        return emit_set(one(TRY(rune())));
    }
  }

  static Ranges one(std::uint32_t rune) { return {{rune, rune}}; }

  Result<std::uint32_t> rune() {
    auto byte = static_cast<unsigned char>(text_[at_]);
    int extra = byte < 0x80 ? 0 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : -1;
    if (extra < 0 || at_ + extra >= text_.size()) return error("invalid UTF-8");
    std::uint32_t value = extra == 0 ? byte : byte & (0x3f >> extra);
    for (int i = 1; i <= extra; ++i)
      value = value << 6 | (static_cast<unsigned char>(text_[at_ + i]) & 0x3f);
    at_ += extra + 1;
    return value;
  }

  Result<void> group(int depth, bool& repeatable) {
    Flags outer = flags_;
    if (eat("?")) {
      if (eat("P<") || (text_.substr(at_, 1) == "<" && text_.substr(at_, 2) != "<=" &&
                        text_.substr(at_, 2) != "<!" && eat("<"))) {
        std::size_t end = text_.find('>', at_);
        if (end == std::string_view::npos) return error("invalid named capture");
        at_ = end + 1;
      } else if (!eat(":")) {
        TRY(flag_letters());
        if (eat(")")) {  // (?i): for the rest of the enclosing group
          repeatable = false;
          return {};
        }
        if (!eat(":")) return error("invalid or unsupported Perl syntax");
      }
    }
    TRY(alternatives(depth + 1));
    if (!eat(")")) return error("missing closing )");
    flags_ = outer;
    return {};
  }

  Result<void> flag_letters() {
    bool on = true;
    for (; more() && peek() != ')' && peek() != ':'; ++at_) {
      switch (peek()) {
        case 'i':
          flags_.ignore_case = on;
          break;
        case 's':
          flags_.dot_all = on;
          break;
        case 'm':
          flags_.multi_line = on;
          break;
        case 'U':
          flags_.reluctant = on;
          break;
        case '-':
          on = false;
          break;
        default:
          return error("invalid or unsupported Perl syntax");
      }
    }
    return {};
  }

  Result<void> escape() {
    if (!more()) return error("trailing backslash at end of expression");
    switch (peek()) {
      case 'A':
        ++at_;
        return emit({Op::text_begin});
      case 'z':
        ++at_;
        return emit({Op::text_end});
      case 'b':
        ++at_;
        return emit({Op::word});
      case 'B':
        ++at_;
        return emit({Op::not_word});
      case 'Q': {
        ++at_;
        std::size_t end = std::min(text_.find("\\E", at_), text_.size());
        while (at_ < end) TRY(emit_set(one(TRY(rune()))));
        eat("\\E");
        return {};
      }
      default:
        return emit_set(TRY(escaped_set()));
    }
  }

  // After the backslash, inside or outside brackets.
  Result<Ranges> escaped_set() {
    char c = text_[at_++];
    switch (c) {
      case 'd':
        return kDigitRunes;
      case 'D':
        return negated(kDigitRunes);
      case 'w':
        return kWordRunes;
      case 'W':
        return negated(kWordRunes);
      case 's':
        return kSpaceRunes;
      case 'S':
        return negated(kSpaceRunes);
      case 'a':
        return one('\a');
      case 'f':
        return one('\f');
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'v':
        return one('\v');
      case 'x':
        return hexadecimal();
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        break;
    }
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && !std::isalnum(byte)) return one(byte);
    return error("invalid escape sequence");
  }

  Result<Ranges> hexadecimal() {
    std::size_t end = at_ + 2;
    bool braces = eat("{");
    if (braces) end = text_.find('}', at_);
    if (end > text_.size()) return error("invalid escape sequence");
    std::uint32_t value = 0;
    for (; at_ < end; ++at_) {
      auto byte = static_cast<unsigned char>(peek());
      if (!std::isxdigit(byte) || value > kMaxRune) return error("invalid escape sequence");
      value = value * 16 + (std::isdigit(byte) ? byte - '0' : (byte | 32) - 'a' + 10);
    }
    if (braces) ++at_;
    return one(value);
  }

  Result<Ranges> property(bool negative) {
    std::string_view name = text_.substr(at_, 1);
    if (name == "{") {
      std::size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) return error("invalid character class range");
      name = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    } else {
      at_ += name.size();
    }
    if (name.starts_with('^')) negative = !negative, name.remove_prefix(1);
    const Ranges* found = unicode_class(name);
    if (found == nullptr) return error("invalid character class range");
    return negative ? negated(*found) : *found;
  }

  Result<Ranges> bracket() {
    Ranges set;
    bool negative = eat("^");
    for (bool first = true; first || !more() || peek() != ']'; first = false) {
      if (!more()) return error("missing closing ]");
      if (text_.substr(at_, 2) == "[:") {
        std::size_t end = text_.find(":]", at_);
        if (end != std::string_view::npos) {
          std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
          bool inverse = name.starts_with('^');
          const Ranges* found = posix_class(inverse ? name.substr(1) : name);
          if (found == nullptr) return error("invalid character class range");
          append(set, inverse ? negated(*found) : *found);
          at_ = end + 2;
          continue;
        }
      }
      Ranges low = TRY(bracket_item());
      if (low.size() == 1 && low[0].low == low[0].high && text_.substr(at_, 1) == "-" &&
          at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        Ranges high = TRY(bracket_item());
        if (high.size() != 1 || high[0].low < low[0].low)
          return error("invalid character class range");
        low[0].high = high[0].low;
      }
      append(set, low);
    }
    ++at_;
    if (!negative) return set;
    if (flags_.ignore_case) fold_case(set);
    return negated(set);
  }

  Result<Ranges> bracket_item() {
    if (eat("\\")) {
      if (!more()) return error("missing closing ]");
      return escaped_set();
    }
    return one(TRY(rune()));
  }

  std::string_view text_;
  Pattern& out_;
  std::size_t at_ = 0;
  Flags flags_;
};

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view text) {
  auto pattern = std::make_shared<Pattern>();
  TRY(PatternCompiler(text, *pattern).run());
  return pattern;
}

}  // namespace hekla::cel
