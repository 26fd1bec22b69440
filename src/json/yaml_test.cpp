// The expectations were taken from kubectl 1.32: `kubectl config view -o json|yaml --raw` of a
// kubeconfig that carries the text as an extension.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The first document as JSON, or the error's message.
std::string read(std::string_view text) {
  Result<std::vector<YamlDocument>> documents = parse_yaml(text);
  if (!documents) return documents.error().message;
  return documents->empty() ? "" : serialize(documents->front().value);
}

std::string written(const char* json_text) { return to_yaml(json::parse(json_text).value()); }

TEST(ParseYaml, ResolvesScalarsAsGoYamlDoes) {
  EXPECT_EQ(read("[y, Y, n, yes, On, off, NO, true, False, yES, oN]"),
            R"([true,true,false,true,true,false,false,true,false,"yES","oN"])");
  EXPECT_EQ(read("[~, null, Null, NULL, nULL, '', \"\"]"), R"([null,null,null,null,"nULL","",""])");
  EXPECT_EQ(read("{a: , b: }"), R"({"a":null,"b":null})");
  EXPECT_EQ(read("[0777, 0o17, 0x1F, 1_000, 0b11, -0b11, -0x10, +12, -0, 00, 1__0, 1_]"),
            "[511,15,31,1000,3,-3,-16,12,0,0,10,1]");
  EXPECT_EQ(read("[089, 1e3, 1e+3, 1., .5, 1.5e3, 1.0, 1_0.5, +.5, 0.1e1, 1E5, 1e-400]"),
            "[89,1000,1000,1,0.5,1500,1,10.5,0.5,1,100000,0]");
  EXPECT_EQ(read("[18446744073709551615, -9223372036854775808, 100000000000000000000, 6.02e23]"),
            "[18446744073709551615,-9223372036854775808,100000000000000000000,6.02e+23]");
  EXPECT_EQ(read("[2001-01-01, 2001-12-14t21:59:43.10-05:00, 12:30:45, 0x, 1e400, <<, =, _1, "
                 "1e5.5, '12']"),
            R"(["2001-01-01","2001-12-14t21:59:43.10-05:00","12:30:45","0x","1e400","<<","=","_1",)"
            R"("1e5.5","12"])");
}

TEST(ParseYaml, NoTextAtAllIsNoDocument) {
  EXPECT_TRUE(parse_yaml("").value().empty());
  EXPECT_TRUE(parse_yaml(std::string_view{}).value().empty());
}

TEST(ParseYaml, HonoursTags) {
  EXPECT_EQ(
      read(
          "[!!str 123, !!float 3, !!int \"3\", !foo bar, !!binary aGVsbG8=, !!bool \"yes\", ! 12]"),
      R"(["123",3,3,"bar","hello",true,"12"])");
  EXPECT_THAT(read("a: !!int foo"), HasSubstr("line 1: cannot decode !!str `foo` as a !!int"));
  EXPECT_THAT(read("a: !!bool 1"), HasSubstr("cannot decode !!int `1` as a !!bool"));
  EXPECT_THAT(read("a: !!binary '*'"), HasSubstr("invalid base64"));
  EXPECT_EQ(read("a: !!binary jGk="), "{\"a\":\"\xef\xbf\xbdi\"}");  // not UTF-8
}

TEST(ParseYaml, RefusesNumbersJsonDoesNotHave) {
  EXPECT_THAT(read("a:\n  b: .inf"), HasSubstr("line 2: json: unsupported value: .inf"));
  EXPECT_THAT(read("a: -.Inf"), HasSubstr("unsupported value"));
  EXPECT_THAT(read("a: .nan"), HasSubstr("unsupported value"));
}

TEST(ParseYaml, MakesKeysStrings) {
  EXPECT_EQ(
      read("{1: a, true: b, 1.5: c, 0x10: e, 1e3: g, 2001-01-01: t, .inf: i, 'q': r}"),
      R"({"1":"a","true":"b","1.5":"c","16":"e","1000":"g","2001-01-01":"t",".inf":"i","q":"r"})");
  EXPECT_THAT(read("~: 1"), HasSubstr("unsupported map key"));
  EXPECT_THAT(read("? [1]\n: 2"), HasSubstr("invalid map key"));
}

TEST(ParseYaml, MergesMaps) {
  EXPECT_EQ(read("b: &b {x: 1, z: 2}\nm: {<<: *b, x: 5}"),
            R"({"b":{"x":1,"z":2},"m":{"x":5,"z":2}})");
  // Keys before the merge are overridden: go-yaml v2 is like that.
  EXPECT_EQ(read("{x: 5, <<: {x: 1}}"), R"({"x":1})");
  EXPECT_EQ(read("{<<: [{x: 1}, {x: 2, z: 3}]}"), R"({"x":1,"z":3})");
  EXPECT_EQ(read("{'<<': {x: 1}}"), R"({"<<":{"x":1}})");
  EXPECT_THAT(read("a:\n  <<: 1"), HasSubstr("line 2: map merge requires map or sequence of maps"));
  EXPECT_THAT(read("<<: [1]"), HasSubstr("map merge requires"));
}

TEST(ParseYaml, FollowsAliases) {
  EXPECT_EQ(read("a: &x [1, &y two]\nb: *x\nc: *y\n*y : d"),
            R"({"a":[1,"two"],"b":[1,"two"],"c":"two","two":"d"})");
  EXPECT_EQ(read("a: &x 1\nb: &x 2\nc: *x"), R"({"a":1,"b":2,"c":2})");
  EXPECT_THAT(read("a: *x"), HasSubstr("line 1: unknown anchor 'x' referenced"));
  EXPECT_THAT(read("a: &x\n- *x"), HasSubstr("line 2: anchor 'x' value contains itself"));
  EXPECT_THAT(read("a: &x 1\n---\nb: *x"), HasSubstr("unknown anchor"));
}

TEST(ParseYaml, BoundsAliases) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) laughs += ", " + before;
    laughs += "]\n";
  }
  EXPECT_THAT(read(laughs), HasSubstr("document contains excessive aliasing"));
  std::string bytes = "a: &a " + std::string(100'000, 'x') + "\nb:\n";
  for (int i = 0; i < 200; ++i) bytes += "- *a\n";
  EXPECT_THAT(read(bytes), HasSubstr("document contains excessive aliasing"));
}

TEST(ParseYaml, BoundsTheDepth) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(read(nested(200)), nested(200));
  EXPECT_THAT(read(nested(300)), HasSubstr("nested deeper than 256"));
  std::string block;
  for (std::size_t i = 0; i < 400; ++i) block += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(read(block), HasSubstr("nested deeper than 256"));
}

TEST(ParseYaml, ReadsBlockScalars) {
  EXPECT_EQ(read("a: |\n  one\n   two\n\nb: >-\n  three\n  four\nc: |+\n  five\n\n"),
            R"({"a":"one\n two\n","b":"three four","c":"five\n\n"})");
}

TEST(ParseYaml, SplitsDocumentsAndSaysWhereTheyBegin) {
  const auto documents =
      parse_yaml("# c\n---\n# only a comment\n---\na: 1\n---\n\nb: 2\n---\n...\n").value();
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(serialize(documents[0].value), R"({"a":1})");
  EXPECT_EQ(documents[0].line, 5);
  EXPECT_EQ(serialize(documents[1].value), R"({"b":2})");
  EXPECT_EQ(documents[1].line, 8);
  EXPECT_TRUE(parse_yaml("").value().empty());
  EXPECT_TRUE(parse_yaml("# nothing\n").value().empty());
}

TEST(ParseYaml, ReportsDuplicates) {
  std::vector<std::string> duplicates;
  const auto documents =
      parse_yaml("a: {x: 1, x: 2}\nl:\n- {b: 1}\n- {1: 1, '1': 2}\nm: {<<: {k: 1}, k: 2}\n",
                 &duplicates)
          .value();
  EXPECT_EQ(serialize(documents[0].value), R"({"a":{"x":2},"l":[{"b":1},{"1":2}],"m":{"k":2}})");
  EXPECT_THAT(duplicates, ElementsAre("line 1: key \"x\" already set in map",
                                      "line 4: key \"1\" already set in map"));
}

TEST(ParseYaml, ErrorsNameTheLine) {
  EXPECT_EQ(read("a: 1\n\tb: 2"), "yaml: line 2: found a tab character that violates indentation");
  EXPECT_EQ(read("a: 1\n  b: 2"), "yaml: line 2: mapping values are not allowed in this context");
  EXPECT_EQ(read("a:\n\t- b"), "yaml: line 2: found character that cannot start any token");
  EXPECT_THAT(read("a: 1\nb: [1,\n"),
              HasSubstr("yaml: line 3: did not find expected node content"));
  EXPECT_THAT(read("a: \"x"), HasSubstr("found unexpected end of stream"));
  EXPECT_THAT(read("a: \xff"), HasSubstr("invalid leading UTF-8 octet"));
  EXPECT_THAT(read("a: \x01"), HasSubstr("control characters are not allowed"));
}

TEST(ParseYaml, ReadsJsonAsJson) {
  EXPECT_EQ(read("\n{\n\t\"a\": [1.0, \"\\ud83d\\ude00\"]\n}\n"), R"({"a":[1,"😀"]})");
  EXPECT_EQ(parse_yaml("\n\n{\"a\": 1}").value()[0].line, 3);
  EXPECT_EQ(read("{a: 1}"), R"({"a":1})");
  std::vector<std::string> duplicates;
  EXPECT_TRUE(parse_yaml("{\"a\":1,\n\"a\":2}", &duplicates));
  EXPECT_THAT(duplicates, ElementsAre("line 2: key \"a\" already set in map"));
}

TEST(ToYaml, IsBlockStyleWithSortedKeysAndFlushLists) {
  EXPECT_EQ(
      written(R"({"spec":{"policies":[{"event":"PodEvicted","action":"RestartJob"}],"tasks":[]},
                        "kind":"Job","apiVersion":"batch.volcano.sh/v1alpha1","status":{}})"),
      "apiVersion: batch.volcano.sh/v1alpha1\n"
      "kind: Job\n"
      "spec:\n"
      "  policies:\n"
      "  - action: RestartJob\n"
      "    event: PodEvicted\n"
      "  tasks: []\n"
      "status: {}\n");
  EXPECT_EQ(written(R"([[1,[2]],{"a":[{"b":{}}]}])"), "- - 1\n  - - 2\n- a:\n  - b: {}\n");
}

TEST(ToYaml, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(
      written(
          R"(["a","y","yes","~","null","","12","1e3","0x1f","a: b","a:b","a #b","- a","*a","{a}"])"),
      "- a\n- \"y\"\n- \"yes\"\n- \"~\"\n- \"null\"\n- \"\"\n- \"12\"\n- \"1e3\"\n- \"0x1f\"\n"
      "- 'a: b'\n- a:b\n- 'a #b'\n- '- a'\n- '*a'\n- '{a}'\n");
  EXPECT_EQ(
      written(
          R"(["2001-01-01","2024-03-15T05:59:15Z","2001-13-01","12:30:45","1:99"," a","it's","\t"])"),
      "- \"2001-01-01\"\n- \"2024-03-15T05:59:15Z\"\n- 2001-13-01\n- \"12:30:45\"\n- 1:99\n"
      "- ' a'\n- it's\n- \"\\t\"\n");
  EXPECT_EQ(written(R"(["😀","é"])"), "- \"\\U0001F600\"\n- é\n");
  EXPECT_EQ(written(R"({"<<":false})"), "\"<<\": false\n");
}

TEST(ToYaml, WritesLiteralBlocks) {
  EXPECT_EQ(written(R"({"s":"#!/bin/sh\nset -e\necho hi\n","t":"a\nb","u":"a\n\n"})"),
            "s: |\n  #!/bin/sh\n  set -e\n  echo hi\nt: |-\n  a\n  b\nu: |+\n  a\n\n");
  EXPECT_EQ(written(R"(["a \nb"])"), "- \"a \\nb\"\n");
}

TEST(ToYaml, FoldsLongLines) {
  const std::string words =
      "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
      "0123456789 0123456789";
  EXPECT_EQ(
      to_yaml(Value(Object{{"message", words}})),
      "message: 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\n"
      "  0123456789 0123456789\n");
}

TEST(ToYaml, WritesNumbersAsGoDoes) {
  EXPECT_EQ(
      written("[1,-1,18446744073709551615,1.5,0.0001234,1e-5,123456.5,1234567.5,1e20,6.02e23,2.0]"),
      "- 1\n- -1\n- 18446744073709551615\n- 1.5\n- 0.0001234\n- 1e-05\n- 123456.5\n- "
      "1.2345675e+06\n"
      "- 1e+20\n- 6.02e+23\n- 2\n");
}

TEST(ToYaml, SortsNumbersInKeysByValue) {
  EXPECT_EQ(
      written(
          R"({"a10":1,"a2":1,"a1":1,"b":1,"B":1,"a-2":1,"a-10":1,"_x":1,"a01":1,"a1b":1,"10":1,"9":1})"),
      "_x: 1\n\"9\": 1\n\"10\": 1\nB: 1\na-2: 1\na-10: 1\na1: 1\na1b: 1\na01: 1\na2: 1\na10: 1\nb: "
      "1\n");
}

TEST(ToYaml, SurvivesBytesThatAreNotUtf8) {
  EXPECT_EQ(to_yaml(Value(Object{{"k\xff", "a\xc3(\xed\xa0\x80"}})),
            "k\ufffd: a\ufffd(\ufffd\ufffd\ufffd\n");
}

TEST(Yaml, ReadsPythonsWordsAsWords) {
  const auto documents =
      parse_yaml("{n: no, y: on, a: true, b: False}", nullptr, YamlBooleans::words);
  EXPECT_TRUE(equal(documents.value().front().value,
                    Object{{"n", "no"}, {"y", "on"}, {"a", true}, {"b", false}}));
}

}  // namespace
}  // namespace hekla::json
