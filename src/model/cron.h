// Cron expressions as CronJobs use them: five fields, @hourly and its like, @every; read in an IANA
// time zone. A time the clocks skip does not occur, one they repeat occurs twice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace hekla::model {

class CronSchedule {
 public:
  // An empty zone is UTC.
  static Result<CronSchedule> parse(std::string_view text, const std::string& zone = {});

  // The first time after `after`; nullopt when there is none within five years.
  std::optional<WallTime> next(WallTime after) const;
  // The last time in (from, to], and whether there were more than a hundred; nullopt for none.
  struct Missed {
    WallTime last;
    bool too_many = false;
  };
  std::optional<Missed> missed(WallTime from, WallTime to) const;

  const std::string& zone() const { return zone_; }

 private:
  bool day_matches(std::int64_t local_day) const;
  // The first matching minute in [local, end), both in minutes of local time.
  std::optional<std::int64_t> next_local(std::int64_t local, std::int64_t end) const;

  std::string zone_ = "UTC";
  Nanos every_{0};  // @every; the fields are unused then
  std::uint64_t minutes_ = 0, hours_ = 0, days_ = 0, months_ = 0, weekdays_ = 0;
  bool any_day_ = false, any_weekday_ = false;
};

// Whether the zone is in the time zone database.
bool is_time_zone(const std::string& zone);
// How far the zone is ahead of UTC at that time; nothing for one that is not in the database.
std::optional<std::chrono::seconds> zone_offset(WallTime when, const std::string& zone);
// RFC 3339 with the zone's offset: "2026-01-02T03:04:00+01:00".
std::string format_in_zone(WallTime when, const std::string& zone);

}  // namespace hekla::model
