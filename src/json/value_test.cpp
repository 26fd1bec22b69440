#include "json/value.h"

#include <gtest/gtest.h>

#include "json/go_text.h"
#include "json/parse.h"

namespace hekla::json {
namespace {

Value read(std::string_view text) {
  Result<Value> value = json::parse(text);
  EXPECT_TRUE(value) << value.error().message;
  return value ? std::move(*value) : Value();
}

std::string number(double value) {
  std::string text;
  append_double(value, text);
  return text;
}

TEST(Serialize, KeepsTheOrderAndTheNumbers) {
  const std::string text =
      R"({"z":1,"a":[true,false,null,-9223372036854775808,18446744073709551615,0.5],"s":"x"})";
  EXPECT_EQ(serialize(read(text)), text);
}

TEST(Serialize, GoWritesMapsByNameAndEscapesHtml) {
  EXPECT_EQ(go_text(read(R"({"b":[{"y":1,"x":"a<b>&c"}],"a":{}})")),
            R"({"a":{},"b":[{"x":"a\u003cb\u003e\u0026c","y":1}]})");
  EXPECT_EQ(go_print(read(R"({"b":[1,"x",null],"a":{"c":true}})")),
            "map[a:map[c:true] b:[1 x <nil>]]");
  EXPECT_EQ(go_text(read("[\"a\u2028b\u2029\"]")), R"(["a\u2028b\u2029"])");
}

TEST(Serialize, WritesDoublesAsGoDoes) {
  EXPECT_EQ(number(1.0), "1");
  EXPECT_EQ(number(-0.5), "-0.5");
  EXPECT_EQ(number(-0.0), "0");
  EXPECT_EQ(number(1e20), "100000000000000000000");
  EXPECT_EQ(number(1e21), "1e+21");
  EXPECT_EQ(number(0.000001), "0.000001");
  EXPECT_EQ(number(1.5e-7), "1.5e-7");
  EXPECT_EQ(number(1e-10), "1e-10");
  EXPECT_EQ(number(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "null");
}

TEST(Serialize, EscapesWhatJsonDemandsAndNothingElse) {
  EXPECT_EQ(serialize(Value("a\"b\\c/\n\r\t\b\f\x01\x1f<é\x7f")),
            "\"a\\\"b\\\\c/\\n\\r\\t\\b\\f\\u0001\\u001f<é\x7f\"");
}

TEST(Serialize, FindsWhatToEscapeAtEveryPlace) {
  for (std::size_t size : {1, 7, 8, 9, 16, 23})
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, '\xf0');
      text[at] = '\n';
      std::string expected = text.substr(0, at) + "\\n" + text.substr(at + 1);
      EXPECT_EQ(serialize(Value(text)), "\"" + expected + "\"") << size << " " << at;
    }
}

TEST(SerializePretty, IndentsAndKeepsEmptyContainersShort) {
  EXPECT_EQ(serialize_pretty(read(R"({"a":[1,{}],"b":{"c":[]}})")),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": []\n  }\n}");
  EXPECT_EQ(serialize_pretty(read("[1]"), 4), "[\n    1\n]");
}

TEST(Find, NeverThrowsAndNeverCreates) {
  const Value value = read(R"({"a":{"s":"x","i":7,"u":18446744073709551615,"d":2.0,"h":2.5,"t":true,
                               "l":[1],"n":null}})");
  EXPECT_EQ(string_at(value, {"a", "s"}), "x");
  EXPECT_EQ(string_at(value, {"a", "i"}), "");
  EXPECT_EQ(string_at(value, {"a", "s", "deeper"}), "");
  EXPECT_EQ(int_at(value, {"a", "i"}), 7);
  EXPECT_EQ(int_at(value, {"a", "d"}), 2);
  EXPECT_EQ(int_at(value, {"a", "h"}, -1), -1);
  EXPECT_EQ(int_at(value, {"a", "u"}, -1), -1);
  EXPECT_EQ(int_at(value, {"a", "s"}, 9), 9);
  EXPECT_EQ(int_at(value, {"b", "s"}, 9), 9);
  EXPECT_TRUE(bool_at(value, {"a", "t"}));
  EXPECT_TRUE(bool_at(value, {"a", "missing"}, true));
  EXPECT_FALSE(bool_at(value, {"a", "i"}));
  ASSERT_NE(array_at(value, {"a", "l"}), nullptr);
  EXPECT_EQ(array_at(value, {"a"}), nullptr);
  ASSERT_NE(object_at(value, {"a"}), nullptr);
  EXPECT_EQ(object_at(value, {"a", "l"}), nullptr);
  EXPECT_EQ(find_path(value, {}), &value);
  ASSERT_NE(find_path(value, {"a", "n"}), nullptr);
  EXPECT_EQ(find(Value(3), "a"), nullptr);
}

TEST(AtPath, MakesObjectsAndReplacesWhatIsInTheWay) {
  Value value = read(R"({"a":5,"b":{"c":1}})");
  at_path(value, {"a", "x", "y"}) = "z";
  at_path(value, {"b", "d"}) = 2;
  EXPECT_EQ(serialize(value), R"({"a":{"x":{"y":"z"}},"b":{"c":1,"d":2}})");
  Value root;
  at_path(root, {}) = 3;
  EXPECT_EQ(serialize(root), "3");
}

TEST(Equal, IgnoresTheOrderOfMembersButNotOfElements) {
  EXPECT_TRUE(equal(read(R"({"a":1,"b":[1,2]})"), read(R"({"b":[1,2],"a":1})")));
  EXPECT_FALSE(equal(read("[1,2]"), read("[2,1]")));
  EXPECT_FALSE(equal(read(R"({"a":null})"), read("{}")));
  EXPECT_FALSE(equal(read(R"({"a":1,"b":2})"), read(R"({"a":1,"c":2})")));
  EXPECT_FALSE(equal(read("\"1\""), read("1")));
  EXPECT_TRUE(equal(read("null"), read("null")));
}

TEST(Equal, ComparesNumbersByTheirValue) {
  EXPECT_TRUE(equal(Value(1), Value(1.0)));
  EXPECT_TRUE(equal(Value(1.0), Value(std::uint64_t{1})));
  EXPECT_TRUE(equal(Value(1), Value(std::uint64_t{1})));
  EXPECT_FALSE(equal(Value(-1), Value(UINT64_MAX)));
  EXPECT_FALSE(equal(Value(1), Value(1.5)));
  // 2^53 + 1 is no double: a comparison through double would call these equal.
  EXPECT_FALSE(equal(Value(std::int64_t{9007199254740993}), Value(9007199254740992.0)));
  EXPECT_FALSE(equal(Value(INT64_MAX), Value(9223372036854775808.0)));
}

}  // namespace
}  // namespace hekla::json
