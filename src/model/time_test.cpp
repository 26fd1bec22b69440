#include "model/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/codec.h"
#include "model/instant.h"

namespace hekla::model {
namespace {

using namespace std::chrono_literals;

WallTime at(std::int64_t seconds, std::int64_t nanos = 0) {
  return WallTime(std::chrono::seconds(seconds) + Nanos(nanos));
}

std::string error_of(std::string_view duration) {
  const Result<Nanos> parsed = parse_go_duration(duration);
  EXPECT_FALSE(parsed) << duration;
  return parsed ? "" : parsed.error().message;
}

TEST(Rfc3339, Parses) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z").value(), at(0));
  EXPECT_EQ(parse_rfc3339("2024-03-15T05:59:15Z").value(), at(1710482355));
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z").value(), at(1709164800));
  EXPECT_EQ(parse_rfc3339("2024-03-15T07:59:15+02:00").value(), at(1710482355));
  EXPECT_EQ(parse_rfc3339("2024-03-14T22:29:15-07:30").value(), at(1710482355));
  EXPECT_EQ(parse_rfc3339("2024-03-15T05:59:15.5Z").value(), at(1710482355, 500'000'000));
  EXPECT_EQ(parse_rfc3339("2024-03-15T05:59:15.123456789123Z").value(),
            at(1710482355, 123'456'789));
  EXPECT_EQ(parse_rfc3339("1969-12-31T23:59:59.75Z").value(), at(-1, 750'000'000));
}

TEST(Rfc3339, HoldsWhatNanosecondsCannot) {
  EXPECT_EQ(format_rfc3339(parse_rfc3339("9999-12-31T23:59:59Z").value()).substr(0, 4), "2262");
  EXPECT_EQ(format_rfc3339(parse_rfc3339("0001-01-01T00:00:01Z").value()).substr(0, 4), "1677");
}

TEST(Rfc3339, AnInstantComesOutAsItWentIn) {
  for (const char* text : {"0001-01-01T00:00:02Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"})
    EXPECT_EQ(format_instant(parse_instant(text).value(), 0), text);
  EXPECT_EQ(format_instant(parse_instant("0001-01-01T00:00:02.5+00:00").value(), 6),
            "0001-01-01T00:00:02.500000Z");
  EXPECT_TRUE(has_year({-62'135'596'800, 0}));
  EXPECT_FALSE(has_year({-62'135'596'801, 0}));
  EXPECT_TRUE(has_year(parse_instant("9999-12-31T23:59:59Z").value()));
  EXPECT_FALSE(has_year({253'402'300'800, 0}));
}

TEST(Rfc3339, Refuses) {
  for (const char* text :
       {"", "2024-03-15", "2024-03-15T05:59:15", "2024-03-15 05:59:15Z", "2024-03-15t05:59:15Z",
        "2024-03-15T05:59:15z", "2024-13-15T05:59:15Z", "2023-02-29T05:59:15Z",
        "2024-03-15T24:00:00Z", "2024-03-15T05:60:15Z", "2024-03-15T05:59:60Z",
        "2024-03-15T05:59:15.Z", "2024-03-15T05:59:15+0200", "2024-03-15T05:59:15Zx",
        "24-03-15T05:59:15Z  ", "2024-3-15T05:59:15Z  ", "2024-03-15T05:59:15+25:00"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(Rfc3339, Formats) {
  EXPECT_EQ(format_rfc3339(at(1710482355, 999'999'999)), "2024-03-15T05:59:15Z");
  EXPECT_EQ(format_rfc3339_micro(at(1710482355, 1'234'567)), "2024-03-15T05:59:15.001234Z");
  EXPECT_EQ(format_rfc3339_micro(at(1710482355)), "2024-03-15T05:59:15.000000Z");
  EXPECT_EQ(format_rfc3339_nano(at(1710482355, 1'200'000)), "2024-03-15T05:59:15.0012Z");
  EXPECT_EQ(format_rfc3339_nano(at(1710482355)), "2024-03-15T05:59:15Z");
  EXPECT_EQ(format_rfc3339_nano(at(-1, 1)), "1969-12-31T23:59:59.000000001Z");
}

TEST(Time, CutsToSecondsAndIsNullWhenUnset) {
  EXPECT_EQ(Time().to_json(), json::Value(nullptr));
  EXPECT_EQ(Time(at(1710482355, 5)).to_json(), json::Value("2024-03-15T05:59:15Z"));
  EXPECT_EQ(Time::from_json("2024-03-15T05:59:15.7Z").value(), Time(at(1710482355)));
  EXPECT_FALSE(Time::from_json(nullptr).value());
  EXPECT_FALSE(Time::from_json("0001-01-01T00:00:00Z").value());
  EXPECT_FALSE(Time::from_json("yesterday").has_value());
  EXPECT_FALSE(Time::from_json(7).has_value());
  EXPECT_EQ(MicroTime::from_json("2024-03-15T05:59:15.1234567Z").value().to_json(),
            json::Value("2024-03-15T05:59:15.123456Z"));
  EXPECT_EQ(MicroTime{}.to_json(), json::Value(nullptr));
}

TEST(GoDuration, FormatsAsGoPrints) {
  EXPECT_EQ(format_go_duration(0s), "0s");
  EXPECT_EQ(format_go_duration(1ns), "1ns");
  EXPECT_EQ(format_go_duration(2us), "2µs");
  EXPECT_EQ(format_go_duration(2200ns), "2.2µs");
  EXPECT_EQ(format_go_duration(1500us), "1.5ms");
  EXPECT_EQ(format_go_duration(300ms), "300ms");
  EXPECT_EQ(format_go_duration(1s), "1s");
  EXPECT_EQ(format_go_duration(1h), "1h0m0s");
  EXPECT_EQ(format_go_duration(10min + 14s + 475393813ns), "10m14.475393813s");
  EXPECT_EQ(format_go_duration(4min + 5s + 1ms), "4m5.001s");
  EXPECT_EQ(format_go_duration(-90s), "-1m30s");
  EXPECT_EQ(format_go_duration(Nanos::min()), "-2562047h47m16.854775808s");
  EXPECT_EQ(format_go_duration(Nanos::max()), "2562047h47m16.854775807s");
}

TEST(GoDuration, Parses) {
  EXPECT_EQ(parse_go_duration("0").value(), 0s);
  EXPECT_EQ(parse_go_duration("-0").value(), 0s);
  EXPECT_EQ(parse_go_duration("1h30m").value(), 90min);
  EXPECT_EQ(parse_go_duration("-1.5h").value(), -90min);
  EXPECT_EQ(parse_go_duration("+5s").value(), 5s);
  EXPECT_EQ(parse_go_duration(".5s").value(), 500ms);
  EXPECT_EQ(parse_go_duration("5.s").value(), 5s);
  EXPECT_EQ(parse_go_duration("10m14.475393813s").value(), 10min + 14s + 475393813ns);
  EXPECT_EQ(parse_go_duration("2us3µs4μs").value(), 9us);
  EXPECT_EQ(parse_go_duration("1ms2ns").value(), 1ms + 2ns);
  EXPECT_EQ(parse_go_duration("0.3333333333333333333h").value(), 20min);
  EXPECT_EQ(parse_go_duration("-9223372036854775808ns").value(), Nanos::min());
  EXPECT_EQ(parse_go_duration("9223372036854775.807us").value(), Nanos::max());
}

TEST(GoDuration, RefusesWithGosMessages) {
  EXPECT_EQ(error_of(""), "time: invalid duration \"\"");
  EXPECT_EQ(error_of("-"), "time: invalid duration \"-\"");
  EXPECT_EQ(error_of("3"), "time: missing unit in duration \"3\"");
  EXPECT_EQ(error_of("s"), "time: invalid duration \"s\"");
  EXPECT_EQ(error_of("."), "time: invalid duration \".\"");
  EXPECT_EQ(error_of("3x"), "time: unknown unit \"x\" in duration \"3x\"");
  EXPECT_EQ(error_of("1d"), "time: unknown unit \"d\" in duration \"1d\"");
  EXPECT_EQ(error_of("9223372036854775808ns"), "time: invalid duration \"9223372036854775808ns\"");
  EXPECT_EQ(error_of("3000000h"), "time: invalid duration \"3000000h\"");
  EXPECT_EQ(error_of("1 s"), "time: unknown unit \" s\" in duration \"1 s\"");
}

TEST(HumanDuration, IsKubectlsAge) {
  EXPECT_EQ(human_duration(-5s), "<invalid>");
  EXPECT_EQ(human_duration(-1500ms), "0s");
  EXPECT_EQ(human_duration(0s), "0s");
  EXPECT_EQ(human_duration(119s), "119s");
  EXPECT_EQ(human_duration(2min), "2m");
  EXPECT_EQ(human_duration(3min + 20s), "3m20s");
  EXPECT_EQ(human_duration(10min + 5s), "10m");
  EXPECT_EQ(human_duration(179min + 59s), "179m");
  EXPECT_EQ(human_duration(3h), "3h");
  EXPECT_EQ(human_duration(7h + 59min), "7h59m");
  EXPECT_EQ(human_duration(8h + 30min), "8h");
  EXPECT_EQ(human_duration(47h + 59min), "47h");
  EXPECT_EQ(human_duration(48h), "2d");
  EXPECT_EQ(human_duration(50h), "2d2h");
  EXPECT_EQ(human_duration(24h * 8), "8d");
  EXPECT_EQ(human_duration(24h * 729), "729d");
  EXPECT_EQ(human_duration(24h * 730), "2y");
  EXPECT_EQ(human_duration(24h * 733), "2y3d");
  EXPECT_EQ(human_duration(24h * 365 * 8 + 24h * 40), "8y");
}

RC_GTEST_PROP(TimeLaws, DurationsRoundTrip, (std::int64_t nanos)) {
  RC_ASSERT(parse_go_duration(format_go_duration(Nanos(nanos))).value() == Nanos(nanos));
}

RC_GTEST_PROP(TimeLaws, TimesRoundTrip, ()) {
  const std::int64_t limit = INT64_MAX / 2;
  const WallTime when{Nanos(*rc::gen::inRange(-limit, limit))};
  RC_ASSERT(parse_rfc3339(format_rfc3339_nano(when)).value() == when);
  RC_ASSERT(parse_rfc3339(format_rfc3339(when)).value() ==
            std::chrono::floor<std::chrono::seconds>(when));
}

}  // namespace
}  // namespace hekla::model
