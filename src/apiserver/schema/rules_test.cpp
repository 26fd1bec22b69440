#include "apiserver/schema/rules.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace hekla::apiserver {
namespace {

std::string joined(const std::vector<Cause>& causes) {
  std::string out;
  for (const Cause& one : causes) out += one.field + ": " + one.message + "\n";
  return out;
}

SchemaPtr ruled(const std::string& spec) {
  auto schema = schema_from_openapi(
      json::parse(R"j({"type":"object","properties":{"spec":)j" + spec + "}}").value());
  EXPECT_TRUE(schema) << joined(schema.error().details.causes);
  return schema ? *schema : nullptr;
}

std::string refused(const std::string& spec) {
  auto schema = schema_from_openapi(
      json::parse(R"j({"type":"object","properties":{"spec":)j" + spec + "}}").value());
  return schema ? "accepted" : joined(schema.error().details.causes);
}

std::string verdict(const SchemaPtr& schema, const char* now, const char* before = nullptr) {
  json::Value value = json::parse(now).value();
  if (!before) return joined(validate_rules(*schema, value, nullptr));
  json::Value old = json::parse(before).value();
  return joined(validate_rules(*schema, value, &old));
}

TEST(SchemaRules, messages) {
  SchemaPtr schema =
      ruled(R"j({"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"}},
    "x-kubernetes-validations":[
      {"rule":"self.min <= self.max"},
      {"rule":"self.max < 100","message":" too much "},
      {"rule":"self.min > 0","messageExpression":"'min is ' + string(self.min)","reason":"FieldValueForbidden",
       "fieldPath":".min"}]})j");
  EXPECT_EQ(verdict(schema, R"j({"spec":{"min":1,"max":2}})j"), "");
  EXPECT_EQ(verdict(schema, R"j({"spec":{"min":0,"max":-1}})j"),
            "spec: Invalid value: \"object\": failed rule: self.min <= self.max\n"
            "spec.min: Forbidden: min is 0\n");
  EXPECT_EQ(verdict(schema, R"j({"spec":{"min":1,"max":200}})j"),
            "spec: Invalid value: \"object\": too much\n");
  EXPECT_EQ(
      verdict(schema, R"j({"spec":{"min":1}})j"),
      "spec: Invalid value: \"object\": no such key: max evaluating rule: self.min <= self.max\n"
      "spec: Invalid value: \"object\": no such key: max evaluating rule: too much\n");
}

TEST(SchemaRules, transition_rules_follow_the_items_of_a_map_list) {
  SchemaPtr schema = ruled(
      R"j({"type":"object","properties":{"items":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{
      "name":{"type":"string"},"size":{"type":"integer","x-kubernetes-validations":[
        {"rule":"self >= oldSelf","message":"must not shrink"}]}}}}}})j");
  const char* before = R"j({"spec":{"items":[{"name":"a","size":1},{"name":"b","size":5}]}})j";
  EXPECT_EQ(verdict(schema, before), "");
  EXPECT_EQ(verdict(schema, R"j({"spec":{"items":[{"name":"b","size":6},{"name":"c","size":0}]}})j",
                    before),
            "");
  EXPECT_EQ(verdict(schema, R"j({"spec":{"items":[{"name":"b","size":4}]}})j", before),
            "spec.items[0].size: Invalid value: \"integer\": must not shrink\n");
}

TEST(SchemaRules, optional_old_self_sees_creation) {
  SchemaPtr schema = ruled(R"j({"type":"string","x-kubernetes-validations":[
    {"rule":"oldSelf.hasValue() || self == 'first'","optionalOldSelf":true}]})j");
  EXPECT_EQ(verdict(schema, R"j({"spec":"first"})j"), "");
  EXPECT_NE(verdict(schema, R"j({"spec":"second"})j"), "");
  EXPECT_EQ(verdict(schema, R"j({"spec":"second"})j", R"j({"spec":"first"})j"), "");
}

TEST(SchemaRules, what_did_not_change_is_not_judged_again) {
  SchemaPtr schema = ruled(R"j({"type":"object","properties":{"a":{"type":"string","maxLength":2,
    "x-kubernetes-validations":[{"rule":"self != 'bad'"}]},"b":{"type":"integer"}}})j");
  json::Value old = json::parse(R"j({"spec":{"a":"bad","b":1}})j").value();
  json::Value now = json::parse(R"j({"spec":{"a":"bad","b":2}})j").value();
  EXPECT_EQ(joined(validate_rules(*schema, now, &old)), "");
  EXPECT_EQ(joined(validate_value(*schema, now, "", &old)), "");
  EXPECT_NE(joined(validate_rules(*schema, now, nullptr)), "");
  EXPECT_NE(joined(validate_value(*schema, now)), "");
}

TEST(SchemaRules, a_crd_with_a_wrong_rule_is_refused) {
  EXPECT_EQ(
      refused(R"j({"type":"object","properties":{"a":{"type":"string"}},
      "x-kubernetes-validations":[{"rule":"self.b == 'x'"}]})j"),
      "properties[spec].x-kubernetes-validations[0].rule: Invalid value: "
      "apiextensions.ValidationRule{"
      "Rule:\"self.b == 'x'\", Message:\"\", MessageExpression:\"\", "
      "Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:\"\", "
      "OptionalOldSelf:(*bool)(nil)}: "
      "compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 'x'\n | ....^\n");
  auto contains = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(
      contains(refused(R"j({"type":"integer","x-kubernetes-validations":[{"rule":"self + 1"}]})j"),
               "cel expression must evaluate to a bool"));
  EXPECT_TRUE(contains(refused(R"j({"type":"integer","x-kubernetes-validations":[{"rule":" "}]})j"),
                       "Required value: rule is not specified"));
  EXPECT_TRUE(
      contains(refused(R"j({"type":"array","items":{"type":"integer","x-kubernetes-validations":[
      {"rule":"self == oldSelf"}]}})j"),
               "oldSelf cannot be used on the uncorrelatable portion of the schema"));
  EXPECT_TRUE(contains(refused(R"j({"type":"integer","x-kubernetes-validations":[
      {"rule":"self > 1","messageExpression":"1"}]})j"),
                       "messageExpression must evaluate to a string"));
  EXPECT_TRUE(contains(refused(R"j({"type":"integer","x-kubernetes-validations":[
      {"rule":"self > 1","reason":"Nope"}]})j"),
                       "Unsupported value: \"Nope\""));
}

// Each round is charged for all pairs and finds its partners at once, so that little time passes
// here.
TEST(SchemaRules, a_rule_that_never_ends_is_stopped) {
  SchemaPtr schema =
      ruled(R"j({"type":"array","items":{"type":"integer"},"x-kubernetes-validations":[
    {"rule":"self.all(a, sets.contains(self, self))"}]})j");
  json::Value value = json::Object{{"spec", json::Array(200, json::Value(1))}};
  EXPECT_EQ(joined(validate_rules(*schema, value, nullptr)),
            "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
            "further validation "
            "rules will be run due to call cost exceeds limit for rule: "
            "self.all(a, sets.contains(self, self))\n");
}

}  // namespace
}  // namespace hekla::apiserver
