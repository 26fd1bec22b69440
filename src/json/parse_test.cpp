#include "json/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/monotonic_resource.hpp>

namespace hekla::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(std::string_view text) {
  const Result<Value> value = json::parse(text);
  EXPECT_FALSE(value) << text;
  if (value) return "";
  EXPECT_EQ(value.error().code, Code::bad_request);
  return value.error().message;
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(ParseJson, KeepsIntegersExact) {
  const Value value =
      json::parse("[9223372036854775807,-9223372036854775808,18446744073709551615,0]").value();
  EXPECT_EQ(value.at(0).get_int64(), INT64_MAX);
  EXPECT_EQ(value.at(1).get_int64(), INT64_MIN);
  EXPECT_EQ(value.at(2).get_uint64(), UINT64_MAX);
  EXPECT_EQ(value.at(3).get_int64(), 0);
}

TEST(ParseJson, ReadsIntegersBeyond64BitsAsDoubles) {
  const Value value =
      json::parse(R"({"18446744073709551616":18446744073709551616,"s":"\"99999999999999999999",
                      "n":-99999999999999999999,"max":18446744073709551615})")
          .value();
  EXPECT_EQ(value.at("18446744073709551616").get_double(), 18446744073709551616.0);
  EXPECT_EQ(value.at("s").get_string(), "\"99999999999999999999");
  EXPECT_EQ(value.at("n").get_double(), -1e20);
  EXPECT_EQ(value.at("max").get_uint64(), UINT64_MAX);
}

TEST(ParseJson, ReadsScalarsAndEscapes) {
  EXPECT_EQ(json::parse(" true ").value(), Value(true));
  EXPECT_EQ(json::parse("null").value(), Value(nullptr));
  EXPECT_EQ(json::parse(R"("\u00e9\ud83d\ude00\n")").value(), Value("é😀\n"));
  EXPECT_EQ(json::parse("1.5e3").value(), Value(1500.0));
}

TEST(ParseJson, TheLastDuplicateWinsAndEachIsReported) {
  std::vector<std::string> duplicates;
  const Value value =
      json::parse(
          R"({"a":1,"spec":{"containers":[{"name":"x"},{"name":"y","name":"z"}]},"a":{"b":2}})",
          &duplicates)
          .value();
  EXPECT_EQ(serialize(value), R"({"a":{"b":2},"spec":{"containers":[{"name":"x"},{"name":"z"}]}})");
  EXPECT_THAT(duplicates, ElementsAre("spec.containers[1].name", "a"));
}

TEST(ParseJson, RefusesNoTextAtAll) {
  EXPECT_FALSE(parse(""));
  EXPECT_FALSE(parse(std::string_view{}));
}

TEST(ParseJson, BuildsInTheGivenMemory) {
  unsigned char buffer[4096];
  boost::json::monotonic_resource memory(buffer, sizeof buffer);
  const Value value =
      json::parse(R"({"a":["a string that is longer than fits inline"]})", &memory).value();
  EXPECT_EQ(value.storage().get(), &memory);
  const auto* text =
      reinterpret_cast<const unsigned char*>(value.at("a").at(0).get_string().data());
  EXPECT_TRUE(text >= buffer && text < buffer + sizeof buffer);
}

TEST(ParseJson, LimitsTheDepth) {
  EXPECT_TRUE(json::parse(nested(256)));
  EXPECT_THAT(error_of(nested(257)), HasSubstr("nested deeper than 256"));
  EXPECT_THAT(error_of(nested(100'000)), HasSubstr("nested deeper than 256"));
}

TEST(ParseJson, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""), "cannot parse JSON: unexpected end of JSON input");
  EXPECT_EQ(error_of(" \n"), "cannot parse JSON: unexpected end of JSON input");
  EXPECT_THAT(error_of("{\n  \"a\": 1,\n  \"b\": x\n}"), HasSubstr("invalid character 'x'"));
  EXPECT_THAT(error_of("{\n  \"a\": 1,\n  \"b\": x\n}"), HasSubstr("line 3, column 8"));
  EXPECT_THAT(error_of("{\"a\": [1, 2"), HasSubstr("unexpected end of JSON input"));
  EXPECT_THAT(error_of("{} {}"), HasSubstr("after the end of the document at line 1, column 4"));
  EXPECT_THAT(error_of("[1,]"), HasSubstr("column 4"));
  EXPECT_THAT(error_of("[01]"), HasSubstr("cannot parse JSON"));
  EXPECT_THAT(error_of("\"\xff\""), HasSubstr("cannot parse JSON"));
  EXPECT_THAT(error_of("\"\\ud800\""), HasSubstr("cannot parse JSON"));
  EXPECT_THAT(error_of("\"a\nb\""), HasSubstr("cannot parse JSON"));
  EXPECT_THAT(error_of("[1e999]"), HasSubstr("cannot parse JSON"));
}

TEST(ParseJson, ParsesAgainAfterAVeryLargeDocument) {
  const std::string large = "[\"" + std::string(std::size_t{5} << 20, 'x') + "\"]";
  EXPECT_EQ(json::parse(large).value().at(0).get_string().size(), std::size_t{5} << 20);
  EXPECT_EQ(json::parse("[1]").value().at(0).get_int64(), 1);
}

}  // namespace
}  // namespace hekla::json
