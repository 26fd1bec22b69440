#include "model/cron.h"

#include <gtest/gtest.h>

#include "model/time.h"

namespace hekla::model {
namespace {

std::string next_of(const char* schedule, const char* zone, const char* after) {
  Result<CronSchedule> parsed = CronSchedule::parse(schedule, zone);
  if (!parsed) return parsed.error().message;
  std::optional<WallTime> next = parsed->next(*parse_rfc3339(after));
  return next ? format_in_zone(*next, zone) : "never";
}

TEST(Cron, FindsTheNextTime) {
  EXPECT_EQ(next_of("*/15 * * * *", "", "2026-07-09T14:45:59Z"), "2026-07-09T15:00:00Z");
  EXPECT_EQ(next_of("20-35/15 * * * *", "", "2026-07-09T15:20:00Z"), "2026-07-09T15:35:00Z");
  EXPECT_EQ(next_of("0 0 29 feb ?", "", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(next_of("@hourly", "", "2026-01-01T00:59:30Z"), "2026-01-01T01:00:00Z");
  EXPECT_EQ(next_of("@every 90s", "", "2026-01-01T00:00:10Z"), "2026-01-01T00:01:40Z");
  EXPECT_EQ(next_of("0 0 31 2 *", "", "2026-01-01T00:00:00Z"), "never");
}

TEST(Cron, TwoRestrictionsOnTheDayAreAlternatives) {
  EXPECT_EQ(next_of("0 0 13 * fri", "", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00Z");
  EXPECT_EQ(next_of("0 0 13 * *", "", "2026-01-01T00:00:00Z"), "2026-01-13T00:00:00Z");
}

TEST(Cron, FollowsTheClocksOfItsZone) {
  const char* zone = "America/New_York";
  EXPECT_EQ(next_of("0 8 * * *", zone, "2026-01-01T14:00:00Z"), "2026-01-02T08:00:00-05:00");
  // 2:30 does not exist on the day the clocks go forward, 1:00 exists twice when they go back.
  EXPECT_EQ(next_of("30 2 * * *", zone, "2026-03-08T05:00:00Z"), "2026-03-09T02:30:00-04:00");
  EXPECT_EQ(next_of("0 1 * * *", zone, "2026-11-01T04:00:00Z"), "2026-11-01T01:00:00-04:00");
  EXPECT_EQ(next_of("0 1 * * *", zone, "2026-11-01T05:00:00Z"), "2026-11-01T01:00:00-05:00");
  EXPECT_EQ(next_of("0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z"),
            "2026-01-01T09:00:00+05:30");
}

TEST(Cron, SaysWhatItCannotRead) {
  EXPECT_EQ(next_of("* * * *", "", "2026-01-01T00:00:00Z"),
            "expected exactly 5 fields, found 4: [* * * *]");
  EXPECT_EQ(next_of("61 * * * *", "", "2026-01-01T00:00:00Z"),
            "end of range (61) above maximum (59): 61");
  EXPECT_EQ(next_of("* * * * 7", "", "2026-01-01T00:00:00Z"),
            "end of range (7) above maximum (6): 7");
  EXPECT_EQ(next_of("* * * * *", "Mars/Base", "2026-01-01T00:00:00Z"),
            "unknown time zone Mars/Base");
  EXPECT_FALSE(is_time_zone("Nowhere"));
  EXPECT_TRUE(is_time_zone("Europe/Reykjavik") || is_time_zone("Atlantic/Reykjavik"));
}

TEST(Cron, FindsTheLastOfManyMissedTimes) {
  CronSchedule schedule = *CronSchedule::parse("* * * * *");
  WallTime to = *parse_rfc3339("2026-01-31T12:00:30Z");
  auto few = schedule.missed(to - std::chrono::minutes(5), to);
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->too_many);
  EXPECT_EQ(format_rfc3339(few->last), "2026-01-31T12:00:00Z");
  auto many = schedule.missed(to - std::chrono::hours(24 * 365), to);
  ASSERT_TRUE(many);
  EXPECT_TRUE(many->too_many);
  EXPECT_EQ(format_rfc3339(many->last), "2026-01-31T12:00:00Z");
  EXPECT_FALSE(schedule.missed(to, to + std::chrono::seconds(20)));
}

}  // namespace
}  // namespace hekla::model
