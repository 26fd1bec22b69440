#include "pipelines/schedule/schedule.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "model/time.h"
#include "pipelines/schedule/macros.h"

namespace hekla::pipelines::schedule {
namespace {

WallTime time(const char* text) { return model::parse_rfc3339(text).value(); }

Result<Schedule> read(const std::string& text) {
  return Schedule::parse(json::parse(text).value());
}

std::string next(const std::string& trigger, const char* after, bool first = false) {
  const std::optional<WallTime> found = read(trigger).value().next(time(after), first);
  return found ? model::format_rfc3339(*found) : "never";
}

TEST(Schedule, CronHasSeconds) {
  const std::string weekdays = R"({"cron_schedule": {"cron": "0 0 9 ? * 2-6"}})";
  EXPECT_EQ(next(weekdays, "2026-11-18T08:59:59Z"), "2026-11-18T09:00:00Z");
  EXPECT_EQ(next(weekdays, "2026-11-18T09:00:00Z"), "2026-11-19T09:00:00Z");
  const std::string thirds = R"({"cronSchedule": {"cron": "*/20 * * * *"}})";  // no day of the week
  EXPECT_EQ(next(thirds, "2026-11-18T08:59:19Z"), "2026-11-18T08:59:20Z");
  EXPECT_EQ(next(thirds, "2026-11-18T08:59:40Z"), "2026-11-18T09:00:00Z");
  EXPECT_EQ(next(R"({"cron_schedule": {"cron": "5,30-31 0 * * * *"}})", "2026-11-18T09:00:30Z"),
            "2026-11-18T09:00:31Z");
  EXPECT_EQ(next(R"({"cron_schedule": {"cron": "@daily"}})", "2026-11-18T09:00:30Z"),
            "2026-11-19T00:00:00Z");
}

TEST(Schedule, PeriodsBeginAndEnd) {
  const std::string trigger = R"({"periodic_schedule": {"interval_second": "60",
    "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:02:00Z"}})";
  EXPECT_EQ(next(trigger, "2025-06-01T00:00:00Z", true), "2026-01-01T00:01:00Z");
  EXPECT_EQ(next(trigger, "2026-01-01T00:01:00Z"), "2026-01-01T00:02:00Z");
  EXPECT_EQ(next(trigger, "2026-01-01T00:02:00Z"), "never");
}

TEST(Schedule, WhatCannotBeReadIsRefused) {
  for (const char* text :
       {"{}", R"({"cron_schedule": {"cron": ""}})",
        R"({"cron_schedule": {"cron": "61 * * * * *"}})",
        R"({"cron_schedule": {"cron": "0 0 25 * * *"}})",
        R"({"periodic_schedule": {"interval_second": 0}})",
        R"({"periodic_schedule": {"interval_second": 5, "start_time": "soon"}})",
        R"({"periodic_schedule": {"interval_second": 5}, "cron_schedule": {"cron": "@daily"}})"})
    EXPECT_FALSE(read(text)) << text;
}

TEST(Macros, AreFilledIn) {
  const Occasion occasion{time("2026-11-18T09:05:07Z"), time("2026-11-19T00:00:00Z"), 3, "the-run"};
  const json::Value parameters =
      json::parse(R"({"a": "[[ScheduledTime]]", "b": ["[[Index]]/[[RunUUID]]"],
    "c": "on [[CurrentTime.2006-01-02]]", "d": "{{$.scheduledTime.strftime('%H:%M')}}", "e": "[[x]]", "f": 7})")
          .value();
  EXPECT_EQ(
      json::serialize(filled(parameters, occasion)),
      R"({"a":"20261118090507","b":["3/the-run"],"c":"on 2026-11-19","d":"09:05","e":"[[x]]","f":7})");
  EXPECT_TRUE(has_macros(parameters));
  EXPECT_FALSE(has_macros(json::parse(R"({"e": "[[x]]"})").value()));
}

}  // namespace
}  // namespace hekla::pipelines::schedule
