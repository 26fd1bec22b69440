#include "json/jsonpath.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace hekla::json {

using Values = std::vector<const Value*>;
using Steps = std::vector<JsonPath::Step>;

namespace {

enum class Compare { exists, equal, not_equal, less, less_equal, greater, greater_equal };

constexpr std::size_t kLengthMax = 4096;
constexpr int kNestingMax = 16;   // filters within filters
constexpr int kDescentMax = 256;  // the depth of a document
constexpr std::int64_t kIndexMax = INT32_MAX;
constexpr std::size_t kFoundMax = 100'000;

// One side of a comparison: a literal, or a path from the element (@) or the root ($).
struct Operand {
  std::optional<Value> literal;
  bool from_root = false;
  std::shared_ptr<const Steps> path;
};

}  // namespace

struct JsonPath::Step {
  enum class Kind { names, all, slice, descend, filter };
  Kind kind = Kind::names;
  std::vector<std::string> names;          // names: one or a union
  std::optional<std::int64_t> begin, end;  // slice
  std::int64_t stride = 1;
  Operand left, right;  // filter
  Compare compare = Compare::exists;
};

namespace {

using Step = JsonPath::Step;

class PathParser {
 public:
  explicit PathParser(std::string_view text) : text_(text) {}

  Result<Steps> parse_all() {
    if (text_.size() > kLengthMax) return bad("the path is too long");
    if (text_.starts_with('{') && text_.ends_with('}')) text_ = text_.substr(1, text_.size() - 2);
    if (peek() == '$' || peek() == '@') ++at_;
    Steps steps = TRY(parse_steps(0));
    if (at_ != text_.size()) return bad("unexpected character");
    return steps;
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  std::unexpected<Error> bad(std::string_view why) const {
    return fail(Code::bad_request, "cannot parse JSONPath \"" + std::string(text_) +
                                       "\" at offset " + std::to_string(at_) + ": " +
                                       std::string(why));
  }

  Result<Steps> parse_steps(int nesting) {
    Steps steps;
    // The first name may stand without its dot, as in "{metadata.name}".
    if (is_name_character(peek()) || peek() == '\\') steps.push_back(TRY(parse_name()));
    while (true) {
      if (take("..")) {
        steps.push_back(Step{.kind = Step::Kind::descend});
        if (peek() != '[') steps.push_back(TRY(parse_name()));
      } else if (peek() == '.') {
        ++at_;
        if (peek() == '[') continue;
        if (at_ == text_.size()) return steps;  // "." is the value itself
        steps.push_back(TRY(parse_name()));
      } else if (peek() == '[') {
        steps.push_back(TRY(parse_bracket(nesting)));
      } else {
        return steps;
      }
    }
  }

  static bool is_name_character(char c) {
    return c != '\0' &&
           std::string_view(".[]{}() ,'\"\\=!<>?@$:*").find(c) == std::string_view::npos;
  }

  Result<Step> parse_name() {
    if (take("*")) return Step{.kind = Step::Kind::all};
    std::string name;
    while (true) {
      if (peek() == '\\' && peek(1) != '\0') {
        name.push_back(peek(1));
        at_ += 2;
      } else if (is_name_character(peek())) {
        name.push_back(peek());
        ++at_;
      } else {
        break;
      }
    }
    if (name.empty()) return bad("a name is missing");
    return Step{.kind = Step::Kind::names, .names = {std::move(name)}};
  }

  Result<std::string> parse_quoted() {
    const char quote = peek();
    ++at_;
    std::string out;
    while (peek() != quote) {
      if (at_ == text_.size()) return bad("unterminated quoted string");
      if (peek() == '\\' && peek(1) != '\0') ++at_;
      out.push_back(peek());
      ++at_;
    }
    ++at_;
    return out;
  }

  Result<std::optional<std::int64_t>> parse_integer() {
    skip_spaces();
    std::int64_t number = 0;
    const char* start = text_.data() + at_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), number);
    if (error == std::errc::invalid_argument) return std::optional<std::int64_t>{};
    if (error != std::errc{} || std::abs(number) > kIndexMax) return bad("the number is too large");
    at_ += static_cast<std::size_t>(end - start);
    skip_spaces();
    return std::optional(number);
  }

  Result<Step> parse_bracket(int nesting) {
    ++at_;  // [
    skip_spaces();
    Step step;
    if (take("?(")) {
      step = TRY(parse_filter(nesting));
    } else if (take("*")) {
      step.kind = Step::Kind::all;
    } else if (peek() == '\'' || peek() == '"') {
      while (true) {
        step.names.push_back(TRY(parse_quoted()));
        skip_spaces();
        if (!take(",")) break;
        skip_spaces();
        if (peek() != '\'' && peek() != '"') return bad("a quoted name is missing");
      }
    } else {
      step = TRY(parse_slice());
    }
    skip_spaces();
    if (!take("]")) return bad("']' is missing");
    return step;
  }

  // [n], [begin:end:stride]; an index is a slice of one.
  Result<Step> parse_slice() {
    Step step{.kind = Step::Kind::slice};
    step.begin = TRY(parse_integer());
    if (!take(":")) {
      if (!step.begin) return bad("an index is missing");
      if (*step.begin != -1) step.end = *step.begin + 1;
      return step;
    }
    step.end = TRY(parse_integer());
    if (take(":")) {
      const std::optional<std::int64_t> stride = TRY(parse_integer());
      if (stride && *stride <= 0) return bad("the step of a slice must be positive");
      step.stride = stride.value_or(1);
    }
    return step;
  }

  Compare take_comparison() {
    if (take("==")) return Compare::equal;
    if (take("!=")) return Compare::not_equal;
    if (take("<=")) return Compare::less_equal;
    if (take(">=")) return Compare::greater_equal;
    if (take("<")) return Compare::less;
    if (take(">")) return Compare::greater;
    return Compare::exists;
  }

  Result<Step> parse_filter(int nesting) {
    if (nesting >= kNestingMax) return bad("filters are nested too deeply");
    Step step{.kind = Step::Kind::filter};
    step.left = TRY(parse_operand(nesting + 1));
    skip_spaces();
    step.compare = take_comparison();
    if (step.compare != Compare::exists) {
      step.right = TRY(parse_operand(nesting + 1));
      skip_spaces();
    }
    if (!take(")")) return bad("')' is missing");
    return step;
  }

  Result<Operand> parse_operand(int nesting) {
    skip_spaces();
    Operand operand;
    if (peek() == '@' || peek() == '$') {
      operand.from_root = peek() == '$';
      ++at_;
      operand.path = std::make_shared<const Steps>(TRY(parse_steps(nesting)));
      return operand;
    }
    if (peek() == '"' || peek() == '\'') {
      operand.literal = Value(TRY(parse_quoted()));
      return operand;
    }
    if (take("true")) {
      operand.literal = Value(true);
      return operand;
    }
    if (take("false")) {
      operand.literal = Value(false);
      return operand;
    }
    double number = 0;
    const char* start = text_.data() + at_;
    const auto [end, error] = std::from_chars(start, text_.data() + text_.size(), number);
    if (error != std::errc{}) return bad("a path, a quoted string or a number is missing");
    at_ += static_cast<std::size_t>(end - start);
    operand.literal = Value(number);
    return operand;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Walker {
 public:
  explicit Walker(const Value& root) : root_(root) {}

  Values walk(const Value& start, const Steps& steps) {
    Values current{&start};
    for (const Step& step : steps) {
      Values next;
      for (const Value* value : current) apply(step, *value, next);
      current = std::move(next);
    }
    return current;
  }

 private:
  void found(const Value& value, Values& out) {
    if (out.size() < kFoundMax) out.push_back(&value);
  }

  void apply(const Step& step, const Value& value, Values& out) {
    switch (step.kind) {
      case Step::Kind::names:
        for (const std::string& name : step.names)
          if (const Value* member = json::find(value, name)) found(*member, out);
        return;
      case Step::Kind::all:
        each(value, [&](const Value& element) { found(element, out); });
        return;
      case Step::Kind::slice:
        slice(step, value, out);
        return;
      case Step::Kind::descend:
        descend(value, out, 0);
        return;
      case Step::Kind::filter:
        each(value, [&](const Value& element) {
          if (holds(step, element)) found(element, out);
        });
        return;
    }
  }

  template <class Function>
  static void each(const Value& value, Function&& function) {
    if (const Array* array = value.if_array())
      for (const Value& element : *array) function(element);
    if (const Object* object = value.if_object())
      for (const auto& member : *object) function(member.value());
  }

  void slice(const Step& step, const Value& value, Values& out) {
    const Array* array = value.if_array();
    if (array == nullptr) return;
    const auto size = static_cast<std::int64_t>(array->size());
    const auto from_end = [&](std::int64_t index) { return index < 0 ? index + size : index; };
    const std::int64_t begin = from_end(step.begin.value_or(0));
    const std::int64_t end = std::min(from_end(step.end.value_or(size)), size);
    if (begin < 0) return;
    for (std::int64_t i = begin; i < end; i += std::min(step.stride, size))
      found((*array)[static_cast<std::size_t>(i)], out);
  }

  void descend(const Value& value, Values& out, int depth) {
    if (depth > kDescentMax) return;
    found(value, out);
    each(value, [&](const Value& element) { descend(element, out, depth + 1); });
  }

  // The one value of an operand; null when there is none or more than one.
  const Value* operand(const Operand& side, const Value& element) {
    if (side.literal) return &*side.literal;
    const Values values = walk(side.from_root ? root_ : element, *side.path);
    return values.size() == 1 ? values[0] : nullptr;
  }

  bool holds(const Step& step, const Value& element) {
    if (step.compare == Compare::exists && step.left.path)
      return !walk(step.left.from_root ? root_ : element, *step.left.path).empty();
    const Value* left = operand(step.left, element);
    if (step.compare == Compare::exists) return left != nullptr;
    const Value* right = operand(step.right, element);
    if (left == nullptr || right == nullptr) return false;
    if (step.compare == Compare::equal) return equal(*left, *right);
    if (step.compare == Compare::not_equal) return !equal(*left, *right);
    int order = 0;
    if (left->is_string() && right->is_string()) {
      order = sv(left->get_string()).compare(sv(right->get_string()));
    } else if (left->is_number() && right->is_number()) {
      const auto a = left->to_number<double>(), b = right->to_number<double>();
      order = a < b ? -1 : a > b ? 1 : 0;
    } else {
      return false;
    }
    switch (step.compare) {
      case Compare::less:
        return order < 0;
      case Compare::less_equal:
        return order <= 0;
      case Compare::greater:
        return order > 0;
      default:
        return order >= 0;
    }
  }

  const Value& root_;
};

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  path.steps_ = std::make_shared<const Steps>(TRY(PathParser(text).parse_all()));
  return path;
}

std::vector<const Value*> JsonPath::find(const Value& root) const {
  return steps_ ? Walker(root).walk(root, *steps_) : Values{&root};
}

const Value* JsonPath::find_first(const Value& root) const {
  const Values values = find(root);
  return values.empty() ? nullptr : values[0];
}

}  // namespace hekla::json
