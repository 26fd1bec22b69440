// Macros of the time in the parameters of a recurring run: [[ScheduledTime]], [[CurrentTime]], each
// also with a layout as Go writes it, [[Index]], [[RunUUID]], and
// {{$.scheduledTime.strftime('%Y-%m-%d')}}. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "json/value.h"

namespace hekla::pipelines::schedule {

struct Occasion {
  WallTime scheduled, now;
  std::int64_t index = 0;
  std::string run_id;
};

// The parameters with what their texts ask for, in lists and structures, too.
json::Value filled(const json::Value& parameters, const Occasion& occasion);
bool has_macros(const json::Value& parameters);

}  // namespace hekla::pipelines::schedule
