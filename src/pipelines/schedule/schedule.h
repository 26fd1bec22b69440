// A trigger of a recurring run: cron with six fields, seconds first, or a period. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "json/value.h"
#include "model/cron.h"

namespace hekla::pipelines::schedule {

class Schedule {
 public:
  // {"cron_schedule": {...}} or {"periodic_schedule": {...}}, in either spelling.
  static Result<Schedule> parse(const json::Value& trigger);

  // The first time after `last`, which is the last one's or else that of creation; nothing when the
  // end has come. A start in the future counts instead of the creation.
  std::optional<WallTime> next(WallTime last, bool first) const;

  // The trigger as the API shows it.
  const json::Value& json() const { return json_; }

 private:
  std::optional<WallTime> next_cron(WallTime after) const;

  json::Value json_;
  std::optional<WallTime> start_, end_;
  std::optional<model::CronSchedule> cron_;
  std::uint64_t seconds_ = 1;  // of a minute, by cron; a set of bits
  bool every_ = false;         // @every: no seconds of a minute
  Nanos period_{0};
};

}  // namespace hekla::pipelines::schedule
