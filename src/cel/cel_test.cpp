#include <gtest/gtest.h>

#include "cel/program.h"
#include "json/parse.h"

namespace hekla::cel {
namespace {

std::string evaluated(const std::string& text, std::uint64_t units = 100'000) {
  static const json::Value self =
      json::parse(R"({"name":"x","n":3,"f":2.5,"list":[3,1,2],"tags":{"a":"1","b":"2"},
      "items":[{"name":"p","v":1},{"name":"q"}],"when":"2024-03-15T05:59:15Z"})")
          .value();
  auto program = Program::compile(text, {{"self", {}}});
  if (!program) return program.error().message;
  Budget budget(units);
  Result<Value> value = (*program)->run({{"self", Value::of(self, nullptr)}}, budget);
  if (!value) return "error: " + value.error().message;
  return json::serialize(to_json(*value));
}

// A table: expression, tab-free, and what it yields as JSON.
struct Row {
  const char* text;
  const char* expected;
};

TEST(Cel, evaluates) {
  const Row rows[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3 == 9 && !false", "true"},
      {"-7 / 2", "-3"},
      {"-9223372036854775808 < 0", "true"},
      {"7 % 0", "error: modulus by zero"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"1 == 1.0", "found no matching overload"},
      {"dyn(1) == 1.0", "true"},
      {"1 < 1.5 && 2u > 1", "true"},
      {"'a' + \"b\" + r'\\n'", "\"ab\\\\n\""},
      {"'\\u00e9\\x41'", "\"\u00e9A\""},
      {"self.n > 2 ? 'big' : 'small'", "\"big\""},
      {"has(self.name) && !has(self.missing)", "true"},
      {"self.missing", "error: no such key: missing"},
      {"self.missing == 1 || true", "true"},
      {"self.list.all(x, x > 0)", "true"},
      {"self.list.exists(x, x == 2)", "true"},
      {"self.list.exists_one(x, x > 2)", "true"},
      {"self.list.map(x, x * 2)", "[6,2,4]"},
      {"self.list.map(x, x > 1, x * 2)", "[6,4]"},
      {"self.list.filter(x, x > 1)", "[3,2]"},
      {"self.list.all(i, v, i < 3 && v < 4)", "true"},
      {"self.list.transformList(i, v, i + v)", "[3,2,4]"},
      {"self.tags.transformMap(k, v, v + k)", R"({"a":"1a","b":"2b"})"},
      {"self.tags.map(k, k)", R"(["a","b"])"},
      {"self.tags.all(k, self.tags[k] != '')", "true"},
      {"'a' in self.tags && 3 in self.list", "true"},
      {"self.items[0].name + self.items[1].name", "\"pq\""},
      {"self.items[5]", "error: index out of bounds: 5"},
      {"self.items[1].?v.orValue(9)", "9"},
      {"self.?missing.?deep.hasValue()", "false"},
      {"self.?n.optMap(n, n + 1).value()", "4"},
      {"[self.n, ?self.?missing, self.f]", "[3,2.5]"},
      {"{'a': self.n, ?'b': self.?missing}", R"({"a":3})"},
      {"self.tags[?'z'].orValue('none')", "\"none\""},
      {"cel.bind(x, self.n + 1, x * x)", "16"},
      {"size(self.list) + self.name.size() + size(self.tags)", "6"},
      {"'h\u00e9llo'.substring(1, 3)", "\"h\u00e9llo\""},
  };
  for (const Row& row : rows) {
    const std::string got = evaluated(row.text);
    if (std::string_view(row.text).find("substring") != std::string_view::npos)
      EXPECT_EQ(got, "\"\u00e9l\"");
    else if (std::string_view(row.expected).starts_with("found"))
      EXPECT_NE(got.find(row.expected), std::string::npos) << got;
    else
      EXPECT_EQ(got, row.expected) << row.text;
  }
}

TEST(Cel, libraries) {
  const Row rows[] = {
      {"[1,2,3].isSorted() && ![2,1].isSorted()", "true"},
      {"[1,2,3].sum() + [4,2].min() + [4,2].max() + ['a','b'].indexOf('b')", "13"},
      {"'a,b,c'.split(',')", R"(["a","b","c"])"},
      {"'abc'.split('')", R"(["a","b","c"])"},
      {"['a','b'].join('-')", "\"a-b\""},
      {"'aXbX'.replace('X', '.', 1)", "\"a.bX\""},
      {"' x '.trim().upperAscii()", "\"X\""},
      {"'hello'.charAt(1) + 'hello'.indexOf('l').format([])", "found no matching overload"},
      {"'%s has %d of %.2f'.format(['x', 3, 2.5])", "\"x has 3 of 2.50\""},
      {"'abc-1'.matches('^[a-z]+-[0-9]$')", "true"},
      {"sets.contains([1,2,3], [2]) && sets.equivalent([1,1], [1]) && !sets.intersects([1],[2])",
       "true"},
      {"quantity('1Gi').isGreaterThan(quantity('1000Mi')) && quantity('2').add(1).asInteger() == 3",
       "true"},
      {"isQuantity('5x')", "false"},
      {"url('https://h:80/p?a=1&a=2').getQuery()['a']", R"(["1","2"])"},
      {"url('https://h:80/p').getPort() + url('https://[::1]:8/').getHostname()", "\"80::1\""},
      {"isURL('nope')", "false"},
      {"cidr('10.0.0.0/8').containsIP('10.1.2.3') && "
       "!cidr('10.0.0.0/8').containsCIDR('11.0.0.0/9')",
       "true"},
      {"string(cidr('10.1.2.3/8').masked())", "\"10.0.0.0/8\""},
      {"ip('::1').isLoopback() && ip('::1').family() == 6 && isIP('1.2.3.4')", "true"},
      {"ip.isCanonical('0:0::1')", "false"},
      {"timestamp('2024-03-15T05:59:15Z').getDayOfWeek()", "5"},
      {"timestamp('2024-03-15T05:59:15Z').getHours('+02:00')", "7"},
      {"duration('90m').getHours()", "1"},
      {"timestamp('2024-03-15T00:00:00Z') + duration('1h') > timestamp('2024-03-15T00:30:00Z')",
       "true"},
      {"type(1) == int && type('a') == string", "true"},
      {"int('12') + int(2.9) + int(3u)", "17"},
      {"string(1) + string(true) + string(2.5)", "\"1true2.5\""},
      {"bytes('ab') == b'ab'", "true"},
      {"format.dns1123Label().validate('A').hasValue() && "
       "!format.dns1123Label().validate('a').hasValue()",
       "true"},
      {"optional.none().orValue(3) + optional.of(4).value()", "7"},
      {"isSemver('1.2.3-a.1+b') && !isSemver('1.2') && !isSemver('01.2.3') && !isSemver('v1.2.3')",
       "true"},
      {"isSemver('v01.2', true) && semver('v01.2', true) == semver('1.2.0')", "true"},
      {"semver('1.10.0').isGreaterThan(semver('1.9.0')) && "
       "semver('1.0.0-rc.2').isLessThan(semver('1.0.0'))",
       "true"},
      {"semver('1.0.0-rc.10').compareTo(semver('1.0.0-rc.9')) + "
       "semver('1.0.0-1').compareTo(semver('1.0.0-a'))",
       "0"},
      {"semver('4.5.6').major() * 100 + semver('4.5.6').minor() * 10 + semver('4.5.6').patch()",
       "456"},
      {"semver('1')", "error: No Major.Minor.Patch elements found"},
      {"format.datetime().validate('2024-03-15T05:59:15Z').hasValue()", "false"},
  };
  for (const Row& row : rows) {
    const std::string got = evaluated(row.text);
    if (std::string_view(row.expected).starts_with("found"))
      EXPECT_NE(got.find(row.expected), std::string::npos) << got;
    else
      EXPECT_EQ(got, row.expected) << row.text;
  }
}

TEST(Cel, maps_can_know_every_key) {
  const Value map = Value::map_or({{Value::text("a"), Value::map({})}}, Value::map({}));
  auto run = [&](const char* text) -> std::string {
    auto program = Program::compile(text, {{"m", parse_type("map<string,map<string,dyn>>")}});
    if (!program) return program.error().message;
    Budget budget(1000);
    Result<Value> value = (*program)->run({{"m", map}}, budget);
    return value ? json::serialize(to_json(*value)) : value.error().message;
  };
  EXPECT_EQ(run("has(m['b'].x) || m['b'].?x.hasValue() || 'b' in m || size(m) != 1"), "false");
  EXPECT_EQ(run("m['b'].x"), "no such key: x");
}

TEST(Cel, compile_errors_name_the_place) {
  EXPECT_EQ(evaluated("1 +"),
            "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', "
            "'.', '-', '!', "
            "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | "
            "1 +\n | ...^");
  // Every mistake, in the order of their places.
  EXPECT_EQ(evaluated("1 + 'a' + foo"),
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
            " | 1 + 'a' + foo\n | ..^\n"
            "ERROR: <input>:1:11: undeclared reference to 'foo' (in container '')\n"
            " | 1 + 'a' + foo\n | ..........^");
  EXPECT_EQ(
      evaluated("other"),
      "ERROR: <input>:1:1: undeclared reference to 'other' (in container '')\n | other\n | ^");
  EXPECT_EQ(evaluated("true &&\n 1"),
            "ERROR: <input>:2:2: expected type 'bool' but found 'int'\n |  1\n | .^");
  EXPECT_EQ(evaluated("'a' + 1"),
            "ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n"
            " | 'a' + 1\n | ....^");
}

// Allows what is asked in words of its own, which it repeats as the reason.
class Echo final : public AccessAuthority {
 public:
  AccessDecision decide(const AccessQuestion& q) const override {
    if (q.verb == "fail") return {false, "", "out of order"};
    const std::string who =
        q.account_name.empty() ? "user" : q.account_namespace + ":" + q.account_name;
    if (!q.path.empty()) return {true, who + " " + q.verb + " " + q.path, ""};
    return {q.verb == "get",
            who + " " + q.verb + " " + q.group + "/" + q.resource + "/" + q.subresource + " " +
                q.ns + "/" + q.name,
            ""};
  }
};

std::string authorized(const std::string& text) {
  auto program =
      Program::compile(text, {{"authorizer", parse_type("authorizer")},
                              {"authorizer.requestResource", parse_type("resource_check")}});
  if (!program) return program.error().message.substr(0, program.error().message.find('\n'));
  const Echo echo;
  Authorizer authorizer;
  ResourceCheck resource;
  authorizer.authority = resource.authority = &echo;
  authorizer.question = std::make_shared<AccessQuestion>();
  resource.question = std::make_shared<AccessQuestion>(
      AccessQuestion{.resource = "pods", .ns = "here", .name = "p"});
  Budget budget(1'000'000);
  Result<Value> value = (*program)->run(
      {{"authorizer", Value(authorizer)}, {"authorizer.requestResource", Value(resource)}}, budget);
  return value ? json::serialize(to_json(*value)) : "error: " + value.error().message;
}

TEST(Cel, the_authorizer_is_asked) {
  EXPECT_EQ(authorized("authorizer.path('/healthz').check('get').reason()"),
            "\"user get /healthz\"");
  EXPECT_EQ(authorized("authorizer.group('apps').resource('deployments').subresource('scale')."
                       "namespace('n').name('d')"
                       ".fieldSelector('a=b').labelSelector('c').check('get').reason()"),
            "\"user get apps/deployments/scale n/d\"");
  EXPECT_EQ(authorized("authorizer.serviceAccount('n', "
                       "'robot').group('').resource('pods').check('put').reason()"),
            "\"n:robot put /pods/ /\"");
  EXPECT_EQ(authorized("authorizer.requestResource.check('get').reason()"),
            "\"user get /pods/ here/p\"");
  EXPECT_EQ(authorized("authorizer.requestResource.check('get').allowed()"), "true");
  EXPECT_EQ(authorized("authorizer.requestResource.check('put').allowed()"), "false");
  EXPECT_EQ(authorized("authorizer.requestResource.check('fail').errored()"), "true");
  EXPECT_EQ(authorized("authorizer.requestResource.check('fail').error()"), "\"out of order\"");
  EXPECT_EQ(authorized("authorizer.requestResource.check('get').errored()"), "false");
  EXPECT_EQ(authorized("authorizer.path(' ').check('get').allowed()"),
            "error: path must not be empty");
  EXPECT_EQ(authorized("authorizer.group('').resource('').check('get').allowed()"),
            "error: resource must not be empty");
  EXPECT_EQ(authorized("authorizer.serviceAccount('n', 'A!').path('/').check('get').allowed()"),
            "error: Invalid service account name");
  EXPECT_EQ(authorized("authorizer.serviceAccount('N', 'a').path('/').check('get').allowed()"),
            "error: Invalid service account namespace");
  EXPECT_EQ(authorized("authorizer.group('').check('get')"),
            "ERROR: <input>:1:27: found no matching overload for 'check' applied to "
            "'kubernetes.authorization.GroupCheck.(string)'");
  EXPECT_EQ(authorized("['a', 'b', 'c'].all(v, authorizer.requestResource.check('get').allowed())"),
            "error: operation cancelled: actual cost limit exceeded")
      << "three checks are more than one expression may spend";
}

TEST(Cel, hostile_expressions_end) {
  EXPECT_EQ(
      evaluated("self.list.all(a, self.list.all(b, self.list.all(c, self.list.all(d, true))))", 50),
      "error: operation cancelled: actual cost limit exceeded");
  std::string deep(5000, '(');
  EXPECT_NE(evaluated(deep).find("recursion limit"), std::string::npos);
  std::string chain = "1";
  for (int i = 0; i < 5000; ++i) chain += "+1";
  EXPECT_NE(evaluated(chain).find("recursion limit"), std::string::npos);
  std::string dots = "self";
  for (int i = 0; i < 5000; ++i) dots += ".a";
  EXPECT_NE(evaluated(dots).find("recursion limit"), std::string::npos);
  EXPECT_EQ(
      evaluated("'aaaaaaaaaaaaaaaaaaaaaaaaa'.replace('a', 'aaaaaaaaaaaaaaaaaaaa').replace('a', "
                "'aaaaaaaaaaaaaaaaaaaa').replace('a','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').size()",
                1000),
      "error: operation cancelled: actual cost limit exceeded");
}

}  // namespace
}  // namespace hekla::cel
