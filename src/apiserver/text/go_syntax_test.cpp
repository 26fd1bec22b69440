#include "apiserver/text/go_syntax.h"

#include <gtest/gtest.h>

namespace hekla::apiserver {
namespace {

TEST(GoSyntax, SaysWhatTheDecoderWasLookingFor) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"", "unexpected end of JSON input"},
      {"{", "unexpected end of JSON input"},
      {"[1,", "unexpected end of JSON input"},
      {R"({"a":"b)", "unexpected end of JSON input"},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"{not json", "invalid character 'n' looking for beginning of object key string"},
      {R"({"a" 1})", "invalid character '1' after object key"},
      {R"({"a":1 "b":2})", "invalid character '\"' after object key:value pair"},
      {R"({"a":1,})", "invalid character '}' looking for beginning of object key string"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"{} {}", "invalid character '{' after top-level value"},
      {"nul1", "invalid character '1' in literal null (expecting 'l')"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"\"\n\"", R"(invalid character '\n' in string literal)"},
      {R"("\x")", "invalid character 'x' in string escape code"},
      {R"("\u00g0")", R"(invalid character 'g' in \u hexadecimal character escape)"},
      {"'", R"(invalid character '\'' looking for beginning of value)"},
      {R"( {"a":[1,-2.5e+3,{"b":null}],"c":{},"d":[]} )", ""},
  };
  for (const auto& [text, error] : kCases) EXPECT_EQ(go_syntax_error(text), error) << text;
}

TEST(GoSyntax, DeepTextTakesNoStack) {
  EXPECT_EQ(go_syntax_error(std::string(1 << 20, '[')), "unexpected end of JSON input");
}

TEST(GoSyntax, BodiesAreSummarized) {
  EXPECT_EQ(summarize_body(""), "<empty>");
  EXPECT_EQ(summarize_body("x"), "78");
  EXPECT_EQ(summarize_body("{not json"), "{not json");
  EXPECT_EQ(summarize_body(R"({"metadata":{"name":"x"}, "aaaaaaaa":1})"),
            R"({"metadata":{"name":"x"}, "aaa ...)");
}

}  // namespace
}  // namespace hekla::apiserver
