#include "apiserver/object/kind.h"

#include <gtest/gtest.h>

#include "apiserver/text/field_error.h"

namespace hekla::apiserver {
namespace {

const kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment", true};
const kube::Resource kPods{"", "v1", "pods", "Pod", true};

TEST(InvalidObject, OneCauseStandsBare) {
  Error error = invalid_object(kDeployments, "x", {required_value("spec.a")});
  EXPECT_EQ(error.message, R"(Deployment.apps "x" is invalid: spec.a: Required value)");
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_EQ(error.details.kind, "Deployment");
  EXPECT_EQ(error.details.group, "apps");
  EXPECT_EQ(error.details.name, "x");
  ASSERT_EQ(error.details.causes.size(), 1u);
  EXPECT_EQ(error.details.causes[0].message, "Required value");
  EXPECT_EQ(error.details.causes[0].reason, "FieldValueRequired");
}

TEST(InvalidObject, SeveralAreBracketedAndRepeatsShownOnce) {
  Error error = invalid_object(kPods, "x",
                               {required_value("a", "why"), required_value("a", "why"),
                                invalid_value("b", json::Value(5), "must be 4")});
  EXPECT_EQ(error.message,
            R"(Pod "x" is invalid: [a: Required value: why, b: Invalid value: 5: must be 4])");
  EXPECT_EQ(error.details.causes.size(), 3u);
}

TEST(FieldErrors, EveryConstructorsText) {
  const auto text = [](const Cause& cause) {
    return cause.reason + "|" + cause.field + ": " + cause.message;
  };
  json::Value x("x");
  EXPECT_EQ(text(required_value("f", "d")), "FieldValueRequired|f: Required value: d");
  EXPECT_EQ(text(invalid_value("f", x, "d")), R"(FieldValueInvalid|f: Invalid value: "x": d)");
  EXPECT_EQ(text(invalid_value("f", json::Object{{"a", 1}}, "d")),
            R"(FieldValueInvalid|f: Invalid value: {"a":1}: d)");
  EXPECT_EQ(text(unsupported_value("f", json::Value("q"), {"a", "b"})),
            R"(FieldValueNotSupported|f: Unsupported value: "q": supported values: "a", "b")");
  EXPECT_EQ(text(forbidden_value("f", "d")), "FieldValueForbidden|f: Forbidden: d");
  EXPECT_EQ(text(duplicate_value("f", x)), R"(FieldValueDuplicate|f: Duplicate value: "x")");
  EXPECT_EQ(text(not_found_value("f", x)), R"(FieldValueNotFound|f: Not found: "x")");
  EXPECT_EQ(text(too_long("f", 5)), "FieldValueTooLong|f: Too long: may not be more than 5 bytes");
  EXPECT_EQ(text(too_many("f", 9, 5)),
            "FieldValueTooMany|f: Too many: 9: must have at most 5 items");
  EXPECT_EQ(text(type_invalid("f", x, "d")), R"(FieldValueTypeInvalid|f: Invalid value: "x": d)");
}

TEST(FieldErrors, QuotesAsGoDoes) { EXPECT_EQ(go_quote("a\"b\\c\n\x01"), R"("a\"b\\c\n\x01")"); }

}  // namespace
}  // namespace hekla::apiserver
