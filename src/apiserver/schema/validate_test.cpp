// Every keyword's message, word for word, and the structural rules.
#include <gtest/gtest.h>

#include "apiserver/schema/schema.h"
#include "json/parse.h"

namespace hekla::apiserver {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? std::move(*value) : json::Value();
}

// "field: message" of each cause, joined by newlines.
std::string text_of(const std::vector<Cause>& causes) {
  std::string out;
  for (const Cause& cause : causes)
    out += (out.empty() ? "" : "\n") + cause.field + ": " + cause.message;
  return out;
}

std::string violations(std::string_view field_schema, std::string_view value) {
  std::string text = R"({"type":"object","properties":{"f":)" + std::string(field_schema) + "}}";
  auto schema = schema_from_openapi(parsed(text));
  EXPECT_TRUE(schema.has_value()) << (schema ? "" : schema.error().message);
  if (!schema) return "no schema";
  return text_of(validate_value(**schema, parsed(R"({"f":)" + std::string(value) + "}")));
}

struct Case {
  const char *schema, *value, *expected;
};

TEST(SchemaValidate, PatternsThatCouldHoldOthersUpAreNotRun) {
  const char* schema = R"({"type":"string","pattern":"^(.*a){1,900}$"})";
  EXPECT_EQ(violations(schema, '"' + std::string(1000, 'a') + '"'), "");
  const std::string refused = violations(schema, '"' + std::string(300'000, 'a') + '"');
  EXPECT_TRUE(refused.starts_with("f: Too long: may not be more than ")) << refused;
}

TEST(SchemaValidate, MessagesAreUpstreams) {
  const Case cases[] = {
      {R"({"type":"integer"})", R"("x")",
       R"(f: Invalid value: "string": f in body must be of type integer: "string")"},
      {R"({"type":"integer"})", "1.5",
       R"(f: Invalid value: "number": f in body must be of type integer: "number")"},
      {R"({"type":"integer"})", "2.0", ""},
      {R"({"type":"number"})", "3", ""},
      {R"({"type":"string"})", "null",
       R"(f: Invalid value: "null": f in body must be of type string: "null")"},
      {R"({"type":"string","nullable":true})", "null", ""},
      {R"({"type":"integer","format":"int32"})", "2147483647", ""},
      {R"({"type":"integer","format":"int32"})", "-2147483648", ""},
      {R"({"type":"integer","format":"int32"})", "2147483648",
       R"(f: Invalid value: "int64": f in body must be of type int32: "int64")"},
      {R"({"type":"integer","format":"int32"})", "-2147483649",
       R"(f: Invalid value: "int64": f in body must be of type int32: "int64")"},
      {R"({"type":"integer","format":"int32"})", "3000000000",
       R"(f: Invalid value: "int64": f in body must be of type int32: "int64")"},
      {R"({"x-kubernetes-int-or-string":true})", "true",
       R"(f: Invalid value: "boolean": f in body must be of type integer,string: "boolean")"},
      {R"({"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]})",
       R"("50%")", ""},
      {R"({"type":"string","enum":["a","b"]})", R"("q")",
       R"(f: Unsupported value: "q": supported values: "a", "b")"},
      {R"({"type":"integer","enum":[1,2]})", "3",
       R"(f: Unsupported value: 3: supported values: "1", "2")"},
      {R"({"type":"string","pattern":"^a+$"})", R"("b")",
       R"(f: Invalid value: "b": f in body should match '^a+$')"},
      {R"({"type":"string","minLength":2})", R"("b")",
       R"(f: Invalid value: "b": f in body should be at least 2 chars long)"},
      {R"({"type":"string","maxLength":2})", R"("bbb")",
       "f: Too long: may not be more than 2 bytes"},
      {R"({"type":"string","maxLength":2})", R"("éé")", ""},
      {R"({"type":"integer","minimum":1})", "0",
       "f: Invalid value: 0: f in body should be greater than or equal to 1"},
      {R"({"type":"integer","minimum":1,"exclusiveMinimum":true})", "1",
       "f: Invalid value: 1: f in body should be greater than 1"},
      {R"({"type":"integer","maximum":5})", "6",
       "f: Invalid value: 6: f in body should be less than or equal to 5"},
      {R"({"type":"number","maximum":0.5,"exclusiveMaximum":true})", "0.5",
       "f: Invalid value: 0.5: f in body should be less than 0.5"},
      {R"({"type":"integer","multipleOf":5})", "7",
       "f: Invalid value: 7: f in body should be a multiple of 5"},
      {R"({"type":"array","items":{"type":"string"},"minItems":1})", "[]",
       "f: Invalid value: 0: f in body should have at least 1 items"},
      {R"({"type":"array","items":{"type":"string"},"maxItems":1})", R"(["a","b"])",
       "f: Too many: 2: must have at most 1 item"},
      {R"({"type":"array","items":{"type":"string"}})", R"(["a",1])",
       R"(f[1]: Invalid value: "integer": f[1] in body must be of type string: "integer")"},
      {R"({"type":"object","required":["a"],"properties":{"a":{"type":"string"}}})", "{}",
       "f.a: Required value"},
      {R"({"type":"object","minProperties":1})", "{}",
       "f: Invalid value: 0: f in body should have at least 1 properties"},
      {R"({"type":"object","additionalProperties":{"type":"string"}})", R"({"k":1})",
       R"(f.k: Invalid value: "integer": f.k in body must be of type string: "integer")"},
      {R"({"type":"string","format":"date-time"})", R"("nope")",
       R"(f: Invalid value: "nope": f in body must be of type date-time: "nope")"},
      {R"({"type":"string","format":"ipv4"})", R"("10.0.0.1")", ""},
      {R"({"type":"string","format":"made-up"})", R"("x")", ""},
      {R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},)"
       R"("oneOf":[{"required":["a"]},{"required":["b"]}]})",
       "{}",
       "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found "
       "none valid\nf.a: Required value"},
      {R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},)"
       R"("oneOf":[{"required":["a"]},{"required":["b"]}]})",
       R"({"a":"1","b":"2"})",
       "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 "
       "valid alternatives"},
      {R"({"type":"integer","anyOf":[{"minimum":5},{"maximum":1}]})", "3",
       "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)\n"
       "f: Invalid value: 3: f in body should be greater than or equal to 5"},
      {R"({"type":"integer","not":{"enum":[3]}})", "3",
       "<nil>: Invalid value: \"\": \"f\" must not validate the schema (not)"},
      {R"({"type":"integer","allOf":[{"minimum":5}]})", "3",
       "f: Invalid value: 3: f in body should be greater than or equal to 5\n"
       "<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf). None validated"},
      {R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})",
       R"(["a","b","a","a"])", R"(f[2]: Duplicate value: "a")"},
      {R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],)"
       R"("items":{"type":"object","required":["n"],"properties":{"n":{"type":"string"}}}})",
       R"([{"n":"a"},{"n":"a"}])", R"(f[1]: Duplicate value: {"n":"a"})"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(violations(one.schema, one.value), one.expected) << one.schema << one.value;
}

std::string rejection(std::string_view schema) {
  auto made = schema_from_openapi(parsed(schema));
  return made ? "accepted" : text_of(made.error().details.causes);
}

TEST(SchemaStructural, RulesAreUpstreams) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"properties":{}})", "type: Required value: must not be empty at the root"},
      {R"({"type":"string"})", R"(type: Invalid value: "string": must be object at the root)"},
      {R"({"type":"object","properties":{"a":{}}})",
       "properties[a].type: Required value: must not be empty for specified object fields"},
      {R"({"type":"object","properties":{"a":{"type":"array"}}})",
       "properties[a].items: Required value: must be specified"},
      {R"({"type":"object","properties":{"a":{"type":"array","items":{}}}})",
       "properties[a].items.type: Required value: must not be empty for specified array items"},
      {R"({"type":"object","additionalProperties":{"type":"string"}})",
       "additionalProperties: Forbidden: must not be used at the root"},
      {R"({"type":"object","properties":{"a":{"type":"object",)"
       R"("properties":{"b":{"type":"string"}},"additionalProperties":{"type":"string"}}}})",
       "properties[a].additionalProperties: Forbidden: additionalProperties and properties are "
       "mutual exclusive"},
      {R"({"type":"object","properties":{"a":{"type":"string","$ref":"#/x"}}})",
       "properties[a].$ref: Forbidden: $ref is not supported"},
      {R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true,)"
       R"("items":{"type":"string"}}}})",
       "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
       "complexity becomes quadratic"},
      {R"({"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"}]}}})",
       "properties[a].anyOf[0].type: Forbidden: must be empty to be structural"},
      {R"({"type":"object","properties":{"a":{"type":"object",)"
       R"("oneOf":[{"properties":{"z":{"minimum":1}}}]}}})",
       "properties[a].properties[z]: Required value: because it is defined in "
       "properties[a].oneOf[0].properties[z]"},
      {R"({"type":"object","properties":{"metadata":{"type":"object",)"
       R"("properties":{"labels":{"type":"object"}}}}})",
       "properties[metadata]: Forbidden: must not specify anything other than name and "
       "generateName, but metadata is implicitly specified"},
      {R"({"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"map",)"
       R"("items":{"type":"object"}}}})",
       "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
       "x-kubernetes-list-type is map"},
      {R"({"type":"object","properties":{"a":{"type":"string","pattern":"("}}})",
       "properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but "
       "isn't: error parsing regexp: missing closing ): `(`"},
      {R"({"type":"object","properties":{"a":{"type":"integer","default":"x"}}})",
       "properties[a].default: Invalid value: \"string\": properties[a].default in body must be of "
       "type integer: \"string\""},
      {R"({"type":"object","properties":{"a":{"type":"object","default":{"z":1}}}})",
       R"(properties[a].default: Invalid value: {"z":1}: must not have unknown fields)"},
      {R"({"type":"object","properties":{"metadata":{"type":"object",)"
       R"("properties":{"name":{"type":"string","maxLength":3}}}}})",
       "accepted"},
      {R"({"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,)"
       R"("allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},{"pattern":"^a"}]}}})",
       "accepted"},
      {R"({"type":"object","properties":{"a":{"x-kubernetes-preserve-unknown-fields":true}}})",
       "accepted"},
  };
  for (const auto& [schema, expected] : cases) EXPECT_EQ(rejection(schema), expected) << schema;
}

TEST(SchemaStructural, MetadataNameRestrictionsAreEnforced) {
  auto schema =
      schema_from_openapi(parsed(R"({"type":"object","properties":{"metadata":{"type":"object",)"
                                 R"("properties":{"name":{"type":"string","maxLength":3}}}}})"));
  ASSERT_TRUE(schema.has_value());
  auto causes =
      validate_value(**schema, parsed(R"({"metadata":{"name":"long","creationTimestamp":null}})"));
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].field + ": " + causes[0].message,
            "metadata.name: Too long: may not be more than 3 bytes");
}

}  // namespace
}  // namespace hekla::apiserver
