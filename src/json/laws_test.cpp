// Laws over arbitrary values: what is written reads back as the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/parse.h"
#include "json/patch.h"
#include "json/pointer.h"

namespace hekla::json {
namespace {

// Strings rich in what escapes, quotes and YAML's indicators are made of.
rc::Gen<std::string> any_string() {
  static const std::vector<std::string> pieces{
      "a",    "b",   "Z",    "0",     "1",          "9",      "_",      ".",      "-",     "+",
      " ",    "  ",  "\n",   "\n\n",  "\t",         "\r",     ":",      ": ",     "#",     " #",
      "'",    "\"",  "\\",   "[",     "]",          "{",      "}",      ",",      "&",     "*",
      "!",    "|",   ">",    "%",     "@",          "`",      "?",      "~",      "=",     "yes",
      "null", "0x1", "1e3",  "12:30", "2001-01-01", "---",    "...",    "<<",     "é",     "ß",
      "日本", "😀",  "\x01", "\x7f",  "\u0085",     "\u2028", "\u2029", "\ufeff", "\u00a0"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)),
                      [](const std::vector<std::string>& parts) {
                        std::string text;
                        for (const std::string& part : parts) text += part;
                        return text;
                      });
}

Value any_scalar() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      return Value(*rc::gen::arbitrary<bool>());
    case 1:
      return Value(*rc::gen::arbitrary<std::int64_t>());
    case 2:
      return Value(*rc::gen::arbitrary<std::uint64_t>());
    case 3:
      return Value(*rc::gen::arbitrary<double>());
    case 4:
      return Value(nullptr);
    default:
      return Value(*any_string());
  }
}

// `nulls`: whether members of objects may be null.
Value any_value(int depth, bool nulls = true) {
  const int kind = depth == 0 ? 0 : *rc::gen::inRange(0, 4);
  if (kind < 2) {
    Value value = any_scalar();
    return value.is_null() && !nulls ? Value("") : value;
  }
  const int size = *rc::gen::inRange(0, 5);
  if (kind == 2) {
    Array array;
    for (int i = 0; i < size; ++i) array.push_back(any_value(depth - 1, nulls));
    return array;
  }
  static const std::vector<std::string> names{"a", "b", "c", "a1", "a10", "yes", "x.y/z"};
  Object object;
  for (int i = 0; i < size; ++i) {
    const bool known = *rc::gen::arbitrary<bool>();
    object.insert_or_assign(known ? *rc::gen::elementOf(names) : *any_string(),
                            any_value(depth - 1, nulls));
  }
  return object;
}

RC_GTEST_PROP(JsonLaws, TextRoundTrips, ()) {
  const Value value = any_value(3);
  const std::string text = serialize(value);
  const Value again = json::parse(text).value();
  RC_ASSERT(equal(again, value));
  RC_ASSERT(serialize(again) == text);
  RC_ASSERT(equal(json::parse(serialize_pretty(value)).value(), value));
}

RC_GTEST_PROP(JsonLaws, YamlRoundTrips, ()) {
  const Value value = any_value(3);
  const std::string text = to_yaml(value);
  const auto documents = parse_yaml(text);
  RC_LOG() << text;
  RC_ASSERT(documents.has_value());
  if (value.is_null()) {
    RC_ASSERT(documents->empty());
  } else {
    RC_ASSERT(documents->size() == 1u);
    RC_ASSERT(equal(documents->front().value, value));
    RC_ASSERT(to_yaml(documents->front().value) == text);
  }
}

RC_GTEST_PROP(JsonLaws, JsonIsYaml, ()) {
  // In brackets, so that the text is not taken for JSON.
  const Value value = Array{any_value(3)};
  std::string text = serialize(value);
  // JSON allows these raw in strings, YAML does not, or folds them as line breaks.
  for (const std::string_view odd : {"\x7f", "\u0085", "\u2028", "\u2029", "\ufeff"})
    RC_PRE(text.find(odd) == std::string::npos);
  RC_ASSERT(equal(parse_yaml(text).value().front().value, value));
}

RC_GTEST_PROP(JsonLaws, EqualIsAnEquivalence, ()) {
  const Value a = any_value(2), b = any_value(2);
  RC_ASSERT(equal(a, a));
  RC_ASSERT(equal(a, b) == equal(b, a));
}

RC_GTEST_PROP(PatchLaws, TheDiffLeadsFromOldToNew, ()) {
  const Value from = any_value(3), to = any_value(3, false);
  Value patched = from;
  apply_merge_patch(patched, diff_merge(from, to));
  RC_ASSERT(equal(patched, to));
}

RC_GTEST_PROP(PatchLaws, TheDiffOfEqualObjectsIsEmpty, ()) {
  const Value value = any_value(3, false);
  if (value.is_object()) RC_ASSERT(diff_merge(value, value).get_object().empty());
  Value patched = value;
  apply_merge_patch(patched, diff_merge(value, value));
  RC_ASSERT(equal(patched, value));
}

RC_GTEST_PROP(PatchLaws, RemoveUndoesAdd, ()) {
  const Value before = Object{{"list", Array{1, 2, 3}}, {"object", Object{{"x", 1}}}};
  const std::string key = "k" + *any_string();
  const bool in_array = *rc::gen::arbitrary<bool>();
  const std::string index = std::to_string(*rc::gen::inRange(0, 4));
  const std::string path = in_array ? "/list/" + index : pointer_text({"object", key});
  const Value added = any_value(2);
  Value value = before;
  RC_ASSERT(apply_json_patch(value, Array{Object{{"op", "add"}, {"path", path}, {"value", added}},
                                          Object{{"op", "test"}, {"path", path}, {"value", added}},
                                          Object{{"op", "remove"}, {"path", path}}})
                .has_value());
  RC_ASSERT(equal(value, before));
}

RC_GTEST_PROP(PointerLaws, TextRoundTrips, ()) {
  const auto tokens = *rc::gen::container<std::vector<std::string>>(any_string());
  RC_ASSERT(parse_pointer(pointer_text(tokens)).value() == tokens);
}

}  // namespace
}  // namespace hekla::json
