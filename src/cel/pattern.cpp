#include "cel/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>

namespace hekla::cel {
namespace {

constexpr int kMaxDepth = 1000;  // of parentheses, as in Go
constexpr int kMaxMemory =
    2 << 20;  // bytes for a program and its automaton: some 90,000 instructions

// Go's words; the fragment that it shows behind them is RE2's too.
std::string_view go_error(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
      return "invalid character class";
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

std::unexpected<Error> parse_error(std::string_view why, std::string_view fragment) {
  return fail(Code::bad_request,
              "error parsing regexp: " + std::string(why) + ": `" + std::string(fragment) + "`");
}

bool is_capture_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return c == '_' || (c < 0x80 && std::isalnum(c));
  });
}

// Go's spelling as this RE2 reads it: (?<name>...) is (?P<name>...), names are of ASCII letters, \C
// (a single byte) is refused.
Result<std::string> translate(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  int depth = 0;
  bool in_class = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t taken = 1;
    if (text[at] == '\\' && at + 1 < text.size()) {
      taken = 2;
      if (text[at + 1] == 'C') return parse_error("invalid escape sequence", "\\C");
      if (text[at + 1] == 'Q' && !in_class)
        taken = std::min(text.find("\\E", at), text.size()) - at;
    } else if (in_class) {
      const std::size_t posix_end = text.substr(at, 2) == "[:" ? text.find(":]", at) : text.npos;
      if (posix_end != text.npos) taken = posix_end + 2 - at;
      in_class = taken > 1 || text[at] != ']';
    } else if (text[at] == '[') {
      in_class = true;
      if (text.substr(at + taken, 1) == "^") ++taken;
      if (text.substr(at + taken, 1) == "]") ++taken;  // the first member of the class
    } else if (text[at] == '(') {
      if (++depth > kMaxDepth) return parse_error("expression nests too deeply", text);
      const std::size_t prefix = text.substr(at, 3) == "(?<"    ? 3
                                 : text.substr(at, 4) == "(?P<" ? 4
                                                                : 0;
      if (prefix != 0) {
        const std::size_t end = text.find('>', at);
        const std::string_view capture = text.substr(at, end == text.npos ? end : end + 1 - at);
        if (end == text.npos || !is_capture_name(capture.substr(prefix, end - at - prefix)))
          return parse_error("invalid named capture", capture);
        out += "(?P";
        at += prefix - 1;
        continue;
      }
    } else if (text[at] == ')') {
      --depth;
    }
    out += text.substr(at, taken);
    at += taken;
  }
  return out;
}

// The bytes of the code point at `at`.
std::size_t rune_bytes(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (text[end] & 0xc0) == 0x80) ++end;
  return end - at;
}

}  // namespace

Pattern::Pattern(std::unique_ptr<re2::RE2> program) : program_(std::move(program)) {}
Pattern::~Pattern() = default;

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view text) {
  const std::string translated = TRY(translate(text));
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  auto program = std::make_unique<RE2>(translated, options);
  if (program->error_code() == RE2::ErrorPatternTooLarge)  // names no fragment
    return parse_error(go_error(program->error_code()), text);
  if (!program->ok()) return parse_error(go_error(program->error_code()), program->error_arg());
  return std::make_shared<const Pattern>(std::move(program));
}

bool Pattern::matches(std::string_view text) const {
  return program_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(),
                         RE2::UNANCHORED, nullptr, 0);
}

std::optional<Pattern::Place> Pattern::find(std::string_view text, std::size_t from) const {
  re2::StringPiece found;
  if (!program_->Match(re2::StringPiece(text.data(), text.size()), from, text.size(),
                       RE2::UNANCHORED, &found, 1))
    return std::nullopt;
  const auto begin = static_cast<std::size_t>(found.data() - text.data());
  return Place{begin, begin + found.size()};
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
    at = place->end > at ? place->end : at + rune_bytes(text, at);
  }
  return out;
}

std::uint64_t Pattern::steps_at_most(std::size_t text_bytes) const {
  return static_cast<std::uint64_t>(program_->ProgramSize()) * (text_bytes + 1);
}

}  // namespace hekla::cel
