#include "cel/pattern.h"

#include <gtest/gtest.h>

namespace hekla::cel {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  auto compiled = Pattern::compile(pattern);
  EXPECT_TRUE(compiled.has_value())
      << pattern << ": " << (compiled ? "" : compiled.error().message);
  return compiled && (*compiled)->matches(text);
}

struct MatchCase {
  const char *pattern, *text;
  bool expected;
};

TEST(SchemaPattern, MatchesLikeRe2) {
  const MatchCase cases[] = {
      {"abc", "xxabcxx", true},
      {"^abc$", "xxabcxx", false},
      {"^(a|b|cd)$", "cd", true},
      {"^(a|b|cd)$", "c", false},
      {"^a|b$", "ax", true},
      {"^a*b+c?$", "aabb", true},
      {"^a*b+c?$", "aac", false},
      {"^(ab){2,3}$", "abab", true},
      {"^(ab){2,3}$", "abababab", false},
      {"^(ab){2,}$", "abababab", true},
      {"^x{0}$", "", true},
      {"^a{,2}$", "a{,2}", true},
      {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-1", true},
      {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-", false},
      {"^[^a-c]+$", "xyz", true},
      {"^[^a-c]+$", "xbz", false},
      {"^[]a]+$", "]a", true},
      {"^[a\\]-]+$", "a]-", true},
      {"^[[:alpha:]_]+$", "Ab_", true},
      {"^[[:^digit:]]$", "5", false},
      {"^\\d+\\.\\d+$", "10.25", true},
      {"^\\d+\\.\\d+$", "10x25", false},
      {"^\\w+@\\S+\\s$", "me@host ", true},
      {"\\bfoo\\b", "a foo b", true},
      {"\\bfoo\\b", "afoo", false},
      {"(?i)^hello$", "HeLLo", true},
      {"^(?i:a)b$", "Ab", true},
      {"^(?i:a)b$", "AB", false},
      {"^.$", "é", true},
      {"^.$", "\n", false},
      {"(?s)^.$", "\n", true},
      {"(?m)^b$", "a\nb\nc", true},
      {"^(?P<year>\\d{4})$", "2024", true},
      {"^\\x41\\x{42}$", "AB", true},
      {"^\\Qa.b\\E$", "a.b", true},
      {"^\\Qa.b\\E$", "axb", false},
      {"^(a*)*$", "aaaa", true},
      {"^(a|aa)+$", "aaaaa", true},
      {"^(|a)+$", "", true},
      {"^(([a-z]+)|([0-9]+))(,(([a-z]+)|([0-9]+)))*$", "ab,12,cd", true},
      {"^\\p{L}+$", "Ünï", true},
      {"^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$", "1h30m", true},
  };
  for (const MatchCase& one : cases)
    EXPECT_EQ(matches(one.pattern, one.text), one.expected) << one.pattern << " on " << one.text;
}

TEST(SchemaPattern, FindsTheLeftmostMatchThatIsPreferred) {
  auto found = [](const char* pattern, std::string_view text, std::size_t from = 0) -> std::string {
    auto place = Pattern::compile(pattern).value()->find(text, from);
    return place ? std::string(text.substr(place->begin, place->end - place->begin)) : "none";
  };
  EXPECT_EQ(found("a|ab", "xab"), "a");
  EXPECT_EQ(found("ab|a", "xab"), "ab");
  EXPECT_EQ(found("a+?", "aaa"), "a");
  EXPECT_EQ(found("(?U)a+", "aaa"), "a");
  EXPECT_EQ(found("(?U)a+?", "aaa"), "aaa");
  EXPECT_EQ(found("a{2,3}?", "aaaa"), "aa");
  EXPECT_EQ(found("\\bb", "ab b", 1), "b") << "what stands before counts";
  EXPECT_EQ(found("^a", "aa", 1), "none");
  EXPECT_EQ(found("x*", "yx"), "");
  const auto all = Pattern::compile("x*").value()->find_all("yxxy", 9);
  EXPECT_EQ(all, (std::vector<std::string_view>{"", "xx", ""}));
  EXPECT_EQ(Pattern::compile("x").value()->find_all("xxx", 2).size(), 2u);
}

TEST(SchemaPattern, RejectsWhatRe2Rejects) {
  for (const char* bad : {"(", ")", "[a", "a**", "*a", "a{2,1}", "a{1001}", "(?=a)", "(?<!a)", "\\",
                          "[z-a]", "\\8", "(?P<x", "[[:foo:]]", "\\p{Nope}"})
    EXPECT_FALSE(Pattern::compile(bad).has_value()) << bad;
}

TEST(SchemaPattern, ATowerOfRepetitionsIsRefusedNotRun) {
  EXPECT_FALSE(Pattern::compile("((a{1000}){1000}){1000}").has_value());
}

TEST(SchemaPattern, TimeIsLinearWhereBacktrackingWouldNotEnd) {
  EXPECT_FALSE(matches("^(a+)+$", std::string(2000, 'a') + "b"));
}

}  // namespace
}  // namespace hekla::cel
