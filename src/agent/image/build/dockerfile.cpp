#include "agent/image/build/dockerfile.h"

#include <algorithm>
#include <filesystem>

#include "json/parse.h"

namespace hekla::agent {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr const char* kInstructions[] = {
    "ADD",   "ARG",        "CMD", "COPY",  "ENTRYPOINT", "ENV",  "EXPOSE", "FROM",   "HEALTHCHECK",
    "LABEL", "MAINTAINER", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"};
constexpr const char* kListed[] = {"ADD", "CMD", "COPY", "ENTRYPOINT", "RUN", "SHELL", "VOLUME"};
// Flags of an instruction, and those it has elsewhere: these are refused by name,
// for an image that silently lacks what was asked for is worse than none.
struct KnownFlags {
  const char* instruction;
  std::vector<std::string_view> served, refused;
};
const KnownFlags* flags_of(const std::string& instruction) {
  static const std::vector<KnownFlags> kKnown = {
      {"ADD", {"chown", "chmod", "checksum", "link"}, {"exclude", "keep-git-dir", "unpack"}},
      {"COPY", {"from", "chown", "chmod", "link"}, {"exclude", "parents"}},
      {"FROM", {"platform"}, {}},
      {"HEALTHCHECK", {"interval", "timeout", "start-period", "start-interval", "retries"}, {}},
      {"RUN", {"mount", "network"}, {"security", "device"}}};
  auto found = std::ranges::find_if(
      kKnown, [&](const KnownFlags& one) { return instruction == one.instruction; });
  return found == kKnown.end() ? nullptr : &*found;
}

std::string_view trim(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string upper_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

template <std::size_t N>
bool is_one_of(const std::string& word, const char* const (&list)[N]) {
  return std::ranges::find(list, word) != std::end(list);
}

class DockerfileReader {
 public:
  DockerfileReader(std::string_view text, std::string name) : rest_(text), name_(std::move(name)) {}
  Result<Dockerfile> read();

 private:
  std::optional<std::string_view> next_line();
  void read_directives();
  std::string logical_line(std::string_view first);
  Result<void> add_step(int line, std::string_view text);
  Result<std::string_view> read_flags(DockerStep& step, std::string_view rest) const;
  Result<void> read_documents(DockerStep& step);
  void drop_trailing_comment(DockerStep& step);
  std::unexpected<Error> bad(int line, const std::string& why) const {
    return fail(Code::invalid, name_ + ":" + std::to_string(line) + ": " + why);
  }

  std::string_view rest_;
  int line_ = 0;
  bool over_ = false;
  std::string name_;
  Dockerfile out_;
};

std::optional<std::string_view> DockerfileReader::next_line() {
  if (over_) return std::nullopt;
  std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  over_ = end == std::string_view::npos || end + 1 == rest_.size();
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "# escape=`" and "# syntax=..." count only before anything else.
void DockerfileReader::read_directives() {
  std::string_view ahead = rest_;
  while (ahead.starts_with('#')) {
    std::string_view line = trim(ahead.substr(1, ahead.find('\n') - 1));
    std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return;
    if (upper_case(trim(line.substr(0, equals))) == "ESCAPE" &&
        trim(line.substr(equals + 1)) == "`")
      out_.escape = '`';
    std::size_t end = ahead.find('\n');
    if (end == std::string_view::npos) return;
    ahead.remove_prefix(end + 1);
  }
}

std::string DockerfileReader::logical_line(std::string_view first) {
  std::string out;
  std::string_view line = first;
  while (true) {
    std::string_view end = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!end.ends_with(out_.escape)) {
      out += line;
      return out;
    }
    out += end.substr(0, end.size() - 1);
    // Comments and empty lines in between do not end it.
    while (true) {
      std::optional<std::string_view> next = next_line();
      if (!next) return out;
      std::string_view bare = trim(*next);
      if (bare.empty() || bare.starts_with('#')) continue;
      line = *next;
      break;
    }
  }
}

// Docker itself refuses these; they stand in many a tutorial.
void DockerfileReader::drop_trailing_comment(DockerStep& step) {
  std::size_t hash = step.text.find(" #");
  if (step.instruction != "FROM" || hash == std::string::npos) return;
  out_.warnings.push_back(name_ + ":" + std::to_string(step.line) +
                          ": comments stand on lines of their own: ignoring \"" +
                          std::string(trim(std::string_view(step.text).substr(hash))) +
                          "\" after FROM");
  step.text = trim(std::string_view(step.text).substr(0, hash));
}

Result<void> DockerfileReader::read_documents(DockerStep& step) {
  std::string_view text = step.text;
  for (std::size_t at = text.find("<<"); at != std::string_view::npos;
       at = text.find("<<", at + 2)) {
    if (at > 0 && text[at - 1] == '<') continue;
    std::size_t begin = at + 2;
    bool strip = begin < text.size() && text[begin] == '-';
    if (strip) ++begin;
    char quote =
        begin < text.size() && (text[begin] == '"' || text[begin] == '\'') ? text[begin] : '\0';
    if (quote != '\0') ++begin;
    std::size_t end = begin;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end == begin || (text[begin] >= '0' && text[begin] <= '9')) continue;
    HereDocument document{std::string(text.substr(begin, end - begin)), "", quote == '\0'};
    while (true) {
      std::optional<std::string_view> line = next_line();
      if (!line) return bad(step.line, "unterminated heredoc " + document.name);
      std::string_view content = *line;
      if (strip) content.remove_prefix(std::min(content.find_first_not_of('\t'), content.size()));
      if (content == document.name) break;
      document.text += std::string(content) + "\n";
    }
    step.documents.push_back(std::move(document));
  }
  return {};
}

// Returns what follows them.
Result<std::string_view> DockerfileReader::read_flags(DockerStep& step,
                                                      std::string_view rest) const {
  const KnownFlags* known = flags_of(step.instruction);
  while (known && rest.starts_with("--")) {
    const std::size_t end = std::min(rest.find_first_of(kBlanks), rest.size());
    const std::string_view flag = rest.substr(2, end - 2);
    rest = trim(rest.substr(end));
    const std::size_t equals = flag.find('=');
    const std::string name(flag.substr(0, equals));
    const std::string value(equals == std::string_view::npos ? "true" : flag.substr(equals + 1));
    if (std::ranges::find(known->refused, name) != known->refused.end())
      return bad(step.line, step.instruction + " --" + name + " is not supported");
    if (std::ranges::find(known->served, name) == known->served.end())
      return bad(step.line, "unknown flag: --" + name + " of " + step.instruction);
    if (name == "mount")
      step.mounts.push_back(value);
    else
      step.flags[name] = value;
  }
  return rest;
}

Result<void> DockerfileReader::add_step(int line, std::string_view text) {
  DockerStep step;
  step.line = line;
  std::size_t blank = std::min(text.find_first_of(kBlanks), text.size());
  step.instruction = upper_case(text.substr(0, blank));
  if (step.instruction == "ONBUILD")
    return bad(line, "ONBUILD is not supported: write its instruction where it is used");
  if (!is_one_of(step.instruction, kInstructions))
    return bad(line, "unknown instruction: " + std::string(text.substr(0, blank)));
  std::string_view rest = TRY(read_flags(step, trim(text.substr(blank))));
  step.text = rest;
  if (step.text.empty() && step.instruction != "CMD" && step.instruction != "ENTRYPOINT")
    return bad(line, step.instruction + " requires at least one argument");
  if (is_one_of(step.instruction, kListed) && rest.starts_with('[')) {
    Result<json::Value> list = json::parse(rest);
    bool good = list && list->is_array() &&
                std::ranges::all_of(list->get_array(), [](const auto& v) { return v.is_string(); });
    if (good) {
      step.list.emplace();
      for (const json::Value& word : list->get_array())
        step.list->emplace_back(json::sv(word.get_string()));
    }
  }
  if (step.instruction == "RUN" || step.instruction == "COPY" || step.instruction == "ADD")
    TRY(read_documents(step));
  drop_trailing_comment(step);
  bool begun = std::ranges::any_of(out_.steps,
                                   [](const auto& other) { return other.instruction == "FROM"; });
  if (!begun && step.instruction != "FROM" && step.instruction != "ARG")
    return bad(line, "no build stage in current context: the first instruction is FROM");
  if (step.instruction == "HEALTHCHECK")
    out_.warnings.push_back(name_ + ":" + std::to_string(line) +
                            ": HEALTHCHECK has no effect: use the probes of the pod");
  out_.steps.push_back(std::move(step));
  return {};
}

Result<Dockerfile> DockerfileReader::read() {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  over_ = rest_.empty();
  read_directives();
  while (std::optional<std::string_view> line = next_line()) {
    std::string_view bare = trim(*line);
    if (bare.empty() || bare.starts_with('#')) continue;
    const int number = line_;
    const std::string whole = logical_line(*line);
    TRY(add_step(number, trim(whole)));
  }
  if (std::ranges::none_of(out_.steps, [](const auto& s) { return s.instruction == "FROM"; }))
    return fail(Code::invalid, name_ + ": the file has no FROM");
  return std::move(out_);
}

// Words with quotes, as a shell reads them.
class WordReader {
 public:
  WordReader(std::string_view text, const VariableLookup& lookup, char escape)
      : text_(text), lookup_(lookup), escape_(escape) {}

  // Up to a blank, or to the end of the text if `whole`.
  Result<std::string> word(bool whole);
  bool skip_blanks() {
    at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
    return at_ < text_.size();
  }

 private:
  Result<void> variable(std::string& out);
  Result<void> braced(std::string& out);

  std::string_view text_;
  const VariableLookup& lookup_;
  char escape_;
  std::size_t at_ = 0;
};

Result<std::string> WordReader::word(bool whole) {
  std::string out;
  char quote = '\0';
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (quote == '\0' && !whole && kBlanks.find(c) != std::string_view::npos) break;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
      ++at_;
    } else if (quote != '\0' && c == quote) {
      quote = '\0';
      ++at_;
    } else if (c == escape_ && quote != '\'' && at_ + 1 < text_.size()) {
      char next = text_[at_ + 1];
      if (quote == '"' && next != '"' && next != '$' && next != escape_) out += c;
      out += next;
      at_ += 2;
    } else if (c == '$' && quote != '\'') {
      TRY(variable(out));
    } else {
      out += c;
      ++at_;
    }
  }
  if (quote != '\0')
    return fail(Code::invalid,
                std::string("unexpected end of statement while looking for matching ") +
                    (quote == '"' ? "double" : "single") + "-quote");
  return out;
}

Result<void> WordReader::variable(std::string& out) {
  ++at_;
  if (at_ < text_.size() && text_[at_] == '{') return braced(out);
  std::size_t begin = at_;
  while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
  if (begin == at_) {
    out += '$';
    return {};
  }
  out += lookup_(std::string(text_.substr(begin, at_ - begin))).value_or("");
  return {};
}

Result<void> WordReader::braced(std::string& out) {
  std::size_t begin = ++at_;
  while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
  const std::string name(text_.substr(begin, at_ - begin));
  int depth = 1;
  std::size_t end = at_;
  for (; end < text_.size(); ++end) {
    if (text_[end] == '{') ++depth;
    if (text_[end] == '}' && --depth == 0) break;
  }
  if (end >= text_.size() || name.empty())
    return fail(Code::invalid, "syntax error: missing '}' or bad name in ${" + name);
  std::string_view modifier = text_.substr(at_, end - at_);
  at_ = end + 1;
  std::optional<std::string> value = lookup_(name);
  if (modifier.empty()) {
    out += value.value_or("");
    return {};
  }
  const bool colon = modifier.starts_with(':');
  if (colon) modifier.remove_prefix(1);
  const char kind = modifier.empty() ? '\0' : modifier.front();
  const bool set = value && (!colon || !value->empty());
  if (kind != '-' && kind != '+' && kind != '?')
    return fail(Code::invalid,
                "unsupported modifier (" + std::string(modifier) + ") in substitution");
  WordReader inner(modifier.substr(1), lookup_, escape_);
  const std::string word = TRY(inner.word(true));
  if (kind == '?' && !set)
    return fail(Code::invalid, name + ": " + (word.empty() ? "not allowed to be unset" : word));
  if (kind == '+')
    out += set ? word : "";
  else
    out += set ? *value : word;
  return {};
}

bool matches_part(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t i = 0; i <= text.size(); ++i)
      if (matches_part(pattern.substr(1), text.substr(i))) return true;
    return false;
  }
  if (text.empty()) return false;
  if (pattern[0] == '?') return matches_part(pattern.substr(1), text.substr(1));
  if (pattern[0] == '[') {
    std::size_t end = pattern.find(']', 2);
    if (end == std::string_view::npos) return false;
    std::string_view set = pattern.substr(1, end - 1);
    const bool negated = set.starts_with('^');
    if (negated) set.remove_prefix(1);
    bool inside = false;
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (i + 2 < set.size() && set[i + 1] == '-') {
        inside = inside || (text[0] >= set[i] && text[0] <= set[i + 2]);
        i += 2;
      } else {
        inside = inside || text[0] == set[i];
      }
    }
    return inside != negated && matches_part(pattern.substr(end + 1), text.substr(1));
  }
  if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
  return pattern[0] == text[0] && matches_part(pattern.substr(1), text.substr(1));
}

}  // namespace

Result<RunMount> parse_run_mount(std::string_view text) {
  RunMount mount;
  const std::map<std::string_view, std::string*> members = {
      {"type", &mount.type},          {"target", &mount.target}, {"dst", &mount.target},
      {"destination", &mount.target}, {"source", &mount.source}, {"src", &mount.source},
      {"from", &mount.from},          {"id", &mount.id},         {"size", &mount.size},
      {"mode", &mount.mode},          {"uid", &mount.uid},       {"gid", &mount.gid}};
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t equals = one.find('=');
    const std::string_view name = one.substr(0, equals);
    const std::string_view value =
        equals == std::string_view::npos ? "true" : one.substr(equals + 1);
    const bool yes = value == "true" || value == "1";
    if (auto member = members.find(name); member != members.end())
      *member->second = value;
    else if (name == "required")
      mount.required = yes;
    else if ((name == "rw" || name == "readwrite") && yes)
      return fail(Code::invalid, "--mount with " + std::string(name) +
                                     " is not supported: copy what is to be changed");
    else if (name != "ro" && name != "readonly" && name != "rw" && name != "readwrite" &&
             name != "sharing")
      return fail(Code::invalid,
                  "unexpected key '" + std::string(name) + "' in '" + std::string(one) + "'");
  }
  if (mount.type != "cache" && mount.type != "bind" && mount.type != "tmpfs" &&
      mount.type != "secret")
    return fail(Code::invalid, "--mount=type=" + mount.type + " is not supported");
  if (mount.type == "secret") {
    const std::string last = mount.target.substr(mount.target.rfind('/') + 1);
    if (mount.id.empty()) mount.id = mount.source.empty() ? last : mount.source;
    if (mount.id.empty()) return fail(Code::invalid, "a secret mount needs an id");
    if (mount.target.empty()) mount.target = "/run/secrets/" + mount.id;
  }
  if (mount.target.empty())
    return fail(Code::invalid, "--mount=type=" + mount.type + " needs a target");
  return mount;
}

Result<Dockerfile> parse_dockerfile(std::string_view text, std::string name) {
  return DockerfileReader(text, std::move(name)).read();
}

Result<std::string> expand_word(std::string_view text, const VariableLookup& lookup, char escape) {
  return WordReader(text, lookup, escape).word(true);
}

Result<std::vector<std::string>> expand_words(std::string_view text, const VariableLookup& lookup,
                                              char escape) {
  std::vector<std::string> out;
  WordReader reader(text, lookup, escape);
  while (reader.skip_blanks()) out.push_back(TRY(reader.word(false)));
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> expand_pairs(std::string_view text,
                                                                      const VariableLookup& lookup,
                                                                      char escape) {
  std::vector<std::pair<std::string, std::string>> out;
  std::string_view first = text.substr(0, text.find_first_of(kBlanks));
  if (first.find('=') == std::string_view::npos) {
    if (first.size() == text.size())
      return fail(Code::invalid, std::string(first) + " must have two arguments");
    out.emplace_back(first, TRY(expand_word(trim(text.substr(first.size())), lookup, escape)));
    return out;
  }
  for (const std::string& word : TRY(expand_words(text, lookup, escape))) {
    std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::invalid, "syntax error - can't find = in \"" + word +
                                     "\": must be of the form: name=value");
    out.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return out;
}

bool matches_path(std::string_view pattern, std::string_view path) {
  std::size_t slash = pattern.find('/');
  std::string_view part = pattern.substr(0, slash);
  std::string_view rest = slash == std::string_view::npos ? "" : pattern.substr(slash + 1);
  const bool last = slash == std::string_view::npos;
  if (part == "**") {
    if (last) return true;
    while (true) {
      if (matches_path(rest, path)) return true;
      std::size_t next = path.find('/');
      if (next == std::string_view::npos) return false;
      path.remove_prefix(next + 1);
    }
  }
  std::size_t end = path.find('/');
  if (!matches_part(part, path.substr(0, end))) return false;
  if (last || end == std::string_view::npos) return last && end == std::string_view::npos;
  return matches_path(rest, path.substr(end + 1));
}

DockerIgnore DockerIgnore::parse(std::string_view text) {
  DockerIgnore out;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    Rule rule;
    rule.keep = line.starts_with('!');
    if (rule.keep) line = trim(line.substr(1));
    rule.pattern = std::filesystem::path(line).lexically_normal().string();
    while (rule.pattern.starts_with('/')) rule.pattern.erase(0, 1);
    while (rule.pattern.ends_with('/')) rule.pattern.pop_back();
    if (!rule.pattern.empty() && rule.pattern != ".") out.rules_.push_back(std::move(rule));
  }
  return out;
}

bool DockerIgnore::ignores(const std::string& path) const {
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.keep != ignored) continue;
    bool matched = matches_path(rule.pattern, path);
    for (std::size_t end = path.find('/'); !matched && end != std::string::npos;
         end = path.find('/', end + 1))
      matched = matches_path(rule.pattern, path.substr(0, end));
    if (matched) ignored = !rule.keep;
  }
  return ignored;
}

bool DockerIgnore::has_exceptions() const { return std::ranges::any_of(rules_, &Rule::keep); }

}  // namespace hekla::agent
