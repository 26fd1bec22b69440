#include "json/codec.h"

#include <gtest/gtest.h>

namespace hekla::json {
namespace {

// A type with a codec of its own: a colour as "#rrggbb".
struct Colour {
  int rgb = -1;
  static Result<Colour> from_json(const Value& value) {
    if (!value.is_string() || !sv(value.get_string()).starts_with("#"))
      return fail(Code::invalid, "a colour begins with #");
    return Colour{static_cast<int>(value.get_string().size())};
  }
  Value to_json() const { return rgb < 0 ? Value(nullptr) : Value("#"); }
};

struct Part {
  std::string name;
  std::int32_t count = 0;
};
BOOST_DESCRIBE_STRUCT(Part, (), (name, count))

struct Whole {
  std::string text;
  bool flag = false;
  std::int32_t small = 0;
  std::uint64_t large = 0;
  double ratio = 0;
  std::optional<std::int32_t> pointer;
  std::optional<Part> maybe;
  std::vector<Part> parts;
  std::map<std::string, std::vector<std::int64_t>> table;
  Value opaque;
  Part always;
  Colour colour;
};
BOOST_DESCRIBE_STRUCT(Whole, (),
                      (text, flag, small, large, ratio, pointer, maybe, parts, table, opaque,
                       always, colour))

std::string error_of(std::string_view text) {
  const Result<Whole> decoded = decode_text<Whole>(text);
  EXPECT_FALSE(decoded);
  return decoded ? "" : decoded.error().message;
}

TEST(Decode, ReadsEveryKindOfMember) {
  const Whole whole =
      decode_text<Whole>(R"({"text":"t","flag":true,"small":-3,"large":18446744073709551615,
      "ratio":1,"pointer":0,"maybe":{"name":"m"},"parts":[{"name":"a","count":2},{}],
      "table":{"x":[1,2]},"opaque":{"any":[null]},"always":{"count":9.0},"colour":"#12",
      "unknown":{"is":"ignored"}})")
          .value();
  EXPECT_EQ(whole.text, "t");
  EXPECT_TRUE(whole.flag);
  EXPECT_EQ(whole.small, -3);
  EXPECT_EQ(whole.large, UINT64_MAX);
  EXPECT_EQ(whole.ratio, 1.0);
  EXPECT_EQ(whole.pointer, 0);
  EXPECT_EQ(whole.maybe->name, "m");
  ASSERT_EQ(whole.parts.size(), 2u);
  EXPECT_EQ(whole.parts[0].count, 2);
  EXPECT_EQ(whole.table.at("x"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(serialize(whole.opaque), R"({"any":[null]})");
  EXPECT_EQ(whole.always.count, 9);
  EXPECT_EQ(whole.colour.rgb, 3);
}

TEST(Decode, NullAndMissingLeaveTheDefault) {
  const Whole whole =
      decode_text<Whole>(R"({"text":null,"maybe":null,"parts":null,"table":null})").value();
  EXPECT_TRUE(whole.text.empty());
  EXPECT_FALSE(whole.maybe);
  EXPECT_TRUE(whole.parts.empty());
}

TEST(Decode, OpaqueMembersOutliveTheText) {
  Whole whole;
  {
    std::string text = R"({"opaque":["a string too long to be stored inside the value itself"]})";
    whole = decode_text<Whole>(text).value();
  }
  EXPECT_EQ(serialize(whole.opaque),
            R"(["a string too long to be stored inside the value itself"])");
}

TEST(Decode, TextAndValueGiveTheSame) {
  const char* text =
      R"({"text":"t","parts":[{"name":"a","count":2}],"table":{"x":[1]},"opaque":{"y":[1,"z"]},
                         "ratio":0.25,"small":3.0,"colour":"#123","flag":true,"large":18446744073709551615})";
  EXPECT_EQ(serialize(encode(decode_text<Whole>(text).value())),
            serialize(encode(decode<Whole>(json::parse(text).value()).value())));
}

TEST(Decode, RepeatedMembersAreDecodedInTurn) {
  const Whole whole =
      decode_text<Whole>(R"({"text":"a","parts":[{},{}],"text":"b","parts":[{"name":"x"}]})")
          .value();
  EXPECT_EQ(whole.text, "b");
  ASSERT_EQ(whole.parts.size(), 1u);
  EXPECT_EQ(whole.parts[0].name, "x");
}

// A codec that parses while the text it comes from is being decoded.
struct Nested {
  int inner = 0;
  static Result<Nested> from_node(const Node& node) {
    const Part part = TRY(decode_text<Part>(node.get_string()));
    return Nested{part.count};
  }
  Value to_json() const { return nullptr; }
};
struct Holder {
  std::vector<Nested> list;
  std::string after;
};
BOOST_DESCRIBE_STRUCT(Holder, (), (list, after))

TEST(Decode, MayParseWithin) {
  const Holder holder =
      decode_text<Holder>(R"({"list":["{\"count\":1}","{\"count\":2}"],"after":"x"})").value();
  ASSERT_EQ(holder.list.size(), 2u);
  EXPECT_EQ(holder.list[1].inner, 2);
  EXPECT_EQ(holder.after, "x");
  EXPECT_EQ(decode_text<Holder>(R"({"list":["{\"count\":[]}"]})").error().message,
            "list[0]: count: expected integer, got array");
}

TEST(Decode, ErrorsNameThePath) {
  EXPECT_EQ(error_of("[]"), "expected object, got array");
  EXPECT_EQ(error_of(R"({"text":1})"), "text: expected string, got number 1");
  EXPECT_EQ(error_of(R"({"small":2147483648})"), "small: expected integer, got number 2147483648");
  EXPECT_EQ(error_of(R"({"small":1.5})"), "small: expected integer, got number 1.5");
  EXPECT_EQ(error_of(R"({"flag":"true"})"), "flag: expected boolean, got string");
  EXPECT_EQ(error_of(R"({"parts":[{},{"count":"x"}]})"),
            "parts[1].count: expected integer, got string");
  EXPECT_EQ(error_of(R"({"table":{"a":[1,true]}})"), "table.a[1]: expected integer, got boolean");
  EXPECT_EQ(error_of(R"({"maybe":{"name":{}}})"), "maybe.name: expected string, got object");
  EXPECT_EQ(error_of(R"({"colour":7})"), "colour: a colour begins with #");
  EXPECT_EQ(error_of(R"({"text":)"),
            "cannot parse JSON: unexpected end of JSON input at line 1, column 9");
}

TEST(Encode, LeavesOutWhatGoWouldOmit) {
  EXPECT_EQ(serialize(encode(Whole{})), R"({"always":{}})");
  Whole whole;
  whole.pointer = 0;
  whole.maybe.emplace();
  whole.parts.emplace_back();
  whole.table["x"];
  whole.colour.rgb = 1;
  whole.large = UINT64_MAX;
  EXPECT_EQ(serialize(encode(whole)),
            R"({"large":18446744073709551615,"pointer":0,"maybe":{},"parts":[{}],"table":{"x":[]},)"
            R"("always":{},"colour":"#"})");
}

TEST(Members, FollowTheSameRules) {
  Object object;
  encode_member(object, "zero", 0);
  encode_member(object, "one", 1);
  encode_member(object, "empty", std::string());
  EXPECT_EQ(serialize(object), R"({"one":1})");
  const Value value = object;
  int number = 5;
  EXPECT_TRUE(decode_member(value, "missing", number));
  EXPECT_EQ(number, 5);
  EXPECT_TRUE(decode_member(value, "one", number));
  EXPECT_EQ(number, 1);
  std::string text;
  EXPECT_EQ(decode_member(value, "one", text).error().message,
            ".one: expected string, got number 1");
}

}  // namespace
}  // namespace hekla::json
