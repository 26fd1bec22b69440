#include "model/selector.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "model/names.h"

namespace hekla::model {
namespace {

const Labels kLabels{{"app", "web"}, {"tier", "front"}, {"n", "7"}, {"empty", ""}, {"a.b/c", "x"}};

bool matches(std::string_view text) {
  const Result<Selector> selector = Selector::parse(text);
  EXPECT_TRUE(selector) << text << ": " << selector.error().message;
  return selector && selector->matches(kLabels);
}

std::string text_of(std::string_view text) {
  const Result<Selector> selector = Selector::parse(text);
  return selector ? selector->text() : selector.error().message;
}

std::string object_text(const char* selector) {
  const Result<Selector> parsed = Selector::from_label_selector(json::parse(selector).value());
  return parsed ? parsed->text() : parsed.error().message;
}

TEST(Selector, MatchesEveryOperator) {
  for (const char* yes : {"",
                          " ",
                          "app=web",
                          "app==web",
                          "app = web",
                          "app!=db",
                          "missing!=x",
                          "app in (db,web)",
                          "app notin (db)",
                          "missing notin (db)",
                          "app",
                          "!missing",
                          "! missing",
                          "n>6",
                          "n<8",
                          "empty=",
                          "empty in ()",
                          "empty in (x,)",
                          "app=web,tier=front,!z",
                          "a.b/c=x",
                          "empty==,app",
                          "app notin ()",
                          "in notin (a)",
                          "app in(web)",
                          "n > 6"})
    EXPECT_TRUE(matches(yes)) << yes;
  for (const char* no :
       {"app=db", "app!=web", "app in (db)", "app notin (web,db)", "missing", "!app", "n>7", "n<7",
        "app>1", "missing>1", "app=web,tier=back", "missing=", "app="})
    EXPECT_FALSE(matches(no)) << no;
}

TEST(Selector, TreatsInAndNotinAsNamesWhereNoOperatorCanStand) {
  EXPECT_EQ(text_of("in in (in,notin)"), "in in (in,notin)");
  EXPECT_EQ(text_of("notin=in"), "notin=in");
}

TEST(Selector, PrintsSortedAndReadsItsText) {
  EXPECT_EQ(text_of("z, b in (y,x), !c ,a==1,d!=2,e notin (q,p),f>3,g<4"),
            "a=1,b in (x,y),!c,d!=2,e notin (p,q),f>3,g<4,z");
  EXPECT_EQ(text_of("x in (a,a)"), "x=a");
  const std::string text = text_of("z,b in (,x),!c,a=,f>3");
  EXPECT_EQ(text_of(text), text);
}

TEST(Selector, RefusesWithKubernetesMessages) {
  EXPECT_EQ(text_of(","), "found ',', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(text_of("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(text_of("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(text_of("a in x"), "unable to parse requirement: found 'x' expected: '('");
  EXPECT_EQ(text_of("a in (x"), "unable to parse requirement: found '', expected: ',' or ')'");
  EXPECT_EQ(text_of("a in (x y)"), "unable to parse requirement: found 'y', expected: ',' or ')'");
  EXPECT_EQ(text_of("a=b=c"), "found '=', expected: ',' or 'end of string'");
  EXPECT_EQ(text_of("=a"), "found '=', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(text_of("!"), "unable to parse requirement: found '', expected: identifier");
  EXPECT_EQ(text_of("!a=b"), "found '=', expected: ',' or 'end of string'");
  EXPECT_EQ(text_of("a>x"),
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
            "operators, the value must be an integer");
  EXPECT_EQ(
      text_of("a/b/c"),
      "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a qualified name must consist "
      "of "
      "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
      "character "
      "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
      "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' "
      "(e.g. 'example.com/MyName')");
  EXPECT_EQ(text_of("a=-"),
            "unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label "
            "must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
            "'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

TEST(Selector, ReadsTheObjectForm) {
  EXPECT_EQ(object_text("{}"), "");
  EXPECT_EQ(object_text("null"), "");
  EXPECT_EQ(object_text(R"({"matchLabels":{"b":"2","a":"1"},"matchExpressions":[
      {"key":"c","operator":"In","values":["y","x"]},{"key":"d","operator":"NotIn","values":["z"]},
      {"key":"e","operator":"Exists"},{"key":"f","operator":"DoesNotExist"}]})"),
            "a=1,b=2,c in (x,y),d!=z,e,!f");
  EXPECT_EQ(object_text(R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]})"),
            "\"Gt\" is not a valid label selector operator");
  EXPECT_EQ(object_text(R"({"matchExpressions":[{"key":"a","operator":"In"}]})"),
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  EXPECT_EQ(
      object_text(R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})"),
      "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist");
  EXPECT_NE(object_text(R"({"matchLabels":[]})"), "");
  EXPECT_NE(object_text("[]"), "");
}

TEST(Selector, OfLabelsAndThroughAFunction) {
  const Selector selector = Selector::of({{"app", "web"}, {"n", "7"}});
  EXPECT_TRUE(selector.matches(kLabels));
  EXPECT_FALSE(selector.matches(Labels{{"app", "web"}}));
  EXPECT_TRUE(Selector::of({}).empty());
  const auto get = [](std::string_view key) -> const std::string* {
    const auto found = kLabels.find(std::string(key));
    return found == kLabels.end() ? nullptr : &found->second;
  };
  EXPECT_TRUE(selector.matches(get));
  Selector affinity;
  affinity.add({"n", Selector::Op::greater, {"6"}});
  EXPECT_TRUE(affinity.matches(get));
  affinity.add({"zone", Selector::Op::exists, {}});
  EXPECT_FALSE(affinity.matches(get));
}

TEST(FieldSelector, Parses) {
  const FieldSelector selector =
      FieldSelector::parse(
          "status.phase=Running,metadata.name!=x,spec.nodeName==n,,a=b\\,c\\=d\\\\")
          .value();
  ASSERT_EQ(selector.terms.size(), 4u);
  EXPECT_EQ(selector.terms[0].field, "status.phase");
  EXPECT_EQ(selector.terms[0].value, "Running");
  EXPECT_TRUE(selector.terms[0].equal);
  EXPECT_EQ(selector.terms[1].field, "metadata.name");
  EXPECT_EQ(selector.terms[1].value, "x");
  EXPECT_FALSE(selector.terms[1].equal);
  EXPECT_EQ(selector.terms[2].value, "n");
  EXPECT_EQ(selector.terms[3].value, "b,c=d\\");
  EXPECT_TRUE(FieldSelector::parse("").value().terms.empty());
  EXPECT_EQ(FieldSelector::parse("a=").value().terms[0].value, "");
}

TEST(FieldSelector, Refuses) {
  EXPECT_EQ(FieldSelector::parse("a").error().message,
            "invalid selector: 'a'; can't understand 'a'");
  EXPECT_EQ(FieldSelector::parse("a=b=c").error().message,
            "invalid field selector: unescaped character in value: 61");
  EXPECT_EQ(FieldSelector::parse("a=\\x").error().message,
            "invalid field selector: invalid escape sequence: \\x");
  EXPECT_FALSE(FieldSelector::parse("a=\\"));
}

TEST(Names, AcceptAndRefuse) {
  EXPECT_TRUE(dns1123_label_errors("a-1").empty());
  EXPECT_EQ(dns1123_label_errors("a.b"), std::vector<std::string>{"must not contain dots"});
  EXPECT_EQ(dns1123_label_errors(std::string(64, 'a')),
            std::vector<std::string>{"must be no more than 63 characters"});
  EXPECT_EQ(dns1123_label_errors("A").size(), 1u);
  EXPECT_EQ(dns1123_label_errors("").size(), 1u);
  EXPECT_TRUE(dns1123_subdomain_errors("a.b-c.1").empty());
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a.-b", "A.b"})
    EXPECT_EQ(dns1123_subdomain_errors(bad).size(), 1u) << bad;
  EXPECT_EQ(dns1123_subdomain_errors(std::string(254, 'a')).size(), 1u);
  EXPECT_EQ(
      dns1123_subdomain_errors("A"),
      std::vector<std::string>{
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
          "or "
          "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
          "used "
          "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"});
  EXPECT_TRUE(dns1035_label_errors("a1").empty());
  EXPECT_EQ(dns1035_label_errors("1a").size(), 1u);
  EXPECT_TRUE(qualified_name_errors("example.com/My_name.1").empty());
  EXPECT_EQ(qualified_name_errors("/a"), std::vector<std::string>{"prefix part must be non-empty"});
  EXPECT_EQ(qualified_name_errors("").size(), 2u);
  EXPECT_EQ(qualified_name_errors("A/b").size(), 1u);
  EXPECT_TRUE(label_value_errors("").empty());
  EXPECT_TRUE(label_value_errors("A.b_c-9").empty());
  EXPECT_EQ(label_value_errors("a b").size(), 1u);
  EXPECT_EQ(label_value_errors(std::string(64, 'a')),
            std::vector<std::string>{"must be no more than 63 characters"});
}

}  // namespace
}  // namespace hekla::model
