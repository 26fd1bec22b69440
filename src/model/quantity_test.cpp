#include "model/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace hekla::model {
namespace {

using Format = Quantity::Format;

Quantity q(std::string_view text) {
  const Result<Quantity> parsed = Quantity::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Quantity{});
}

std::string canonical(std::string_view text) { return q(text).text(); }

TEST(Quantity, WritesTheCanonicalForm) {
  const std::pair<const char*, const char*> table[] = {
      {"0", "0"},
      {"0Mi", "0"},
      {"0m", "0"},
      {"-0", "0"},
      {"1", "1"},
      {"100m", "100m"},
      {"1000m", "1"},
      {"0.5", "500m"},
      {".5", "500m"},
      {"5.", "5"},
      {"1.5", "1500m"},
      {"2500m", "2500m"},
      {"1e3", "1e3"},
      {"1E3", "1e3"},
      {"1.5e3", "1500"},
      {"12e6", "12e6"},
      {"100e-3", "100e-3"},
      {"1e-9", "1e-9"},
      {"1000", "1k"},
      {"1024", "1024"},
      {"10000", "10k"},
      {"1k", "1k"},
      {"1000k", "1M"},
      {"1.234M", "1234k"},
      {"1E", "1E"},
      {"1000P", "1E"},
      {"1000E", "1000E"},
      {"1n", "1n"},
      {"1000n", "1u"},
      {"1500u", "1500u"},
      {"1Ki", "1Ki"},
      {"1024Mi", "1Gi"},
      {"1.5Gi", "1536Mi"},
      {"0.5Gi", "512Mi"},
      {"100Mi", "100Mi"},
      {"1000Ki", "1000Ki"},
      {"1025Ki", "1025Ki"},
      {"1Ei", "1Ei"},
      {"0.5Ki", "512"},
      {"1.5Ki", "1536"},
      {"0.0005Ki", "512m"},
      {"1.0001Ki", "1024102400u"},
      {"0.0000000001", "1n"},
      {"1.0000000001", "1000000001n"},
      {"-1.5", "-1500m"},
      {"-1024Mi", "-1Gi"},
      {"+5", "5"},
      {"007", "7"},
      {"0.1n", "1n"},
      {"9223372036854775807", "9223372036854775807"},
      {"9Ei", "9223372036854775807"},
      {"1e20", "100e18"}};
  for (const auto& [text, wanted] : table) EXPECT_EQ(canonical(text), wanted) << text;
}

TEST(Quantity, RefusesWhatKubernetesRefuses) {
  for (const char* text :
       {"",  " ", "abc", "1.2.3", "1 Gi",  "1KI",  "1Kii", "1mm", "1e", "1e1.5", "1ee3", "Mi",
        "-", "+", ".",   "--1",   "1_000", "0x10", "1i",   "1K",  "1g", "1e3m",  "1Mi5"})
    EXPECT_FALSE(Quantity::parse(text)) << text;
  EXPECT_EQ(Quantity::parse("1 Gi").error().message,
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(Quantity::parse("1K").error().message, "unable to parse quantity's suffix");
}

TEST(Quantity, RoundsUpToWholeAndMilli) {
  EXPECT_EQ(q("1.1").value(), 2);
  EXPECT_EQ(q("-1.1").value(), -2);
  EXPECT_EQ(q("100m").value(), 1);
  EXPECT_EQ(q("1Gi").value(), 1073741824);
  EXPECT_EQ(q("1.5").milli_value(), 1500);
  EXPECT_EQ(q("1u").milli_value(), 1);
  EXPECT_EQ(q("0").milli_value(), 0);
}

TEST(Quantity, Saturates) {
  EXPECT_EQ(q("1e30").value(), INT64_MAX);
  EXPECT_EQ(q("-1e30").value(), INT64_MIN);
  EXPECT_EQ(q("1e2000000000").value(), INT64_MAX);
  EXPECT_EQ(q("1e-2000000000").text(), "1e-9");
  EXPECT_EQ(q("0e2000000000").value(), 0);
  EXPECT_EQ(q("9223372036854775807").milli_value(), INT64_MAX);
  EXPECT_EQ(q("16Ei").value(), INT64_MAX);
  EXPECT_EQ(q("99999999999999999999999999999999999999999999Ki").value(), INT64_MAX);
  EXPECT_EQ((Quantity::of(INT64_MAX) * INT64_MAX * INT64_MAX).value(), INT64_MAX);
  EXPECT_EQ((Quantity::of(INT64_MAX) * INT64_MIN * INT64_MAX).value(), INT64_MIN);
  Quantity large = q("1e30");
  large += large;
  EXPECT_EQ(large.value(), INT64_MAX);
}

TEST(Quantity, ComparesByValue) {
  EXPECT_EQ(q("1024Mi"), q("1Gi"));
  EXPECT_EQ(q("1000m"), q("1"));
  EXPECT_LT(q("1G"), q("1Gi"));
  EXPECT_GT(q("1"), q("-1"));
  EXPECT_TRUE(q("0").is_zero());
}

TEST(Quantity, KeepsTheFormatOfTheFirstNonZeroTerm) {
  Quantity sum;
  sum += q("512Mi");
  sum += q("1024Mi");
  EXPECT_EQ(sum.text(), "1536Mi");
  sum -= q("1G");
  EXPECT_EQ(sum.text(), "610612736");
  EXPECT_EQ((q("250m") * 4).text(), "1");
  EXPECT_EQ(Quantity::of(2048, Format::binary_si).text(), "2Ki");
  EXPECT_EQ(Quantity::of_milli(1500).text(), "1500m");
}

TEST(Quantity, ReadsStringsAndNumbers) {
  EXPECT_EQ(Quantity::from_json("1Gi").value().text(), "1Gi");
  EXPECT_EQ(Quantity::from_json(" 5 ").value().text(), "5");
  EXPECT_EQ(Quantity::from_json(2).value().text(), "2");
  EXPECT_EQ(Quantity::from_json(0.5).value().text(), "500m");
  EXPECT_EQ(Quantity::from_json(1e21).value().text(), "1e21");
  EXPECT_FALSE(Quantity::from_json(true));
  EXPECT_FALSE(Quantity::from_json("x"));
  EXPECT_EQ(q("1024Mi").to_json(), json::Value("1Gi"));
}

TEST(ResourceList, Adds) {
  ResourceList total{{"cpu", q("500m")}};
  add(total, {{"cpu", q("1500m")}, {"memory", q("1Gi")}});
  EXPECT_EQ(total.at("cpu").text(), "2");
  EXPECT_EQ(total.at("memory").text(), "1Gi");
}

RC_GTEST_PROP(QuantityLaws, TextRoundTrips, (std::int64_t milli)) {
  const auto format =
      *rc::gen::element(Format::decimal_si, Format::binary_si, Format::decimal_exponent);
  Quantity quantity = Quantity::of_milli(milli);
  quantity.format = format;
  const std::string text = quantity.text();
  RC_ASSERT(Quantity::parse(text).value() == quantity);
  RC_ASSERT(Quantity::parse(text).value().text() == text);
}

RC_GTEST_PROP(QuantityLaws, WholeBinaryRoundTrips, (std::int64_t whole)) {
  const Quantity quantity = Quantity::of(whole, Format::binary_si);
  RC_ASSERT(Quantity::parse(quantity.text()).value().value() == whole);
}

RC_GTEST_PROP(QuantityLaws, AdditionUndoesSubtraction, (std::int64_t a, std::int64_t b)) {
  Quantity sum = Quantity::of_milli(a);
  sum += Quantity::of_milli(b);
  sum -= Quantity::of_milli(b);
  RC_ASSERT(sum == Quantity::of_milli(a));
}

}  // namespace
}  // namespace hekla::model
