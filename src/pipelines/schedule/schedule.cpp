#include "pipelines/schedule/schedule.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "model/time.h"
#include "pipelines/ir/fields.h"

namespace hekla::pipelines::schedule {
namespace {

constexpr int kLastSecond = 59;

std::unexpected<Error> invalid(std::string reason) {
  return fail(Code::bad_request, "Invalid input error: " + std::move(reason));
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "0", "*", "*/15", "5-20", "5-20/5", several with commas.
std::optional<std::uint64_t> seconds_of(std::string_view text) {
  std::uint64_t bits = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t slash = part.find('/'), dash = part.find('-');
    const std::string_view range = part.substr(0, slash);
    int first = 0, last = kLastSecond;
    if (range != "*" && range != "?") {
      const std::optional<int> from = number(range.substr(0, std::min(dash, range.size())));
      const std::optional<int> to = dash < range.size()
                                        ? number(range.substr(dash + 1))
                                        : (slash == std::string_view::npos ? from : kLastSecond);
      if (!from || !to) return std::nullopt;
      first = *from;
      last = *to;
    }
    const std::optional<int> step =
        slash == std::string_view::npos ? 1 : number(part.substr(slash + 1));
    if (!step || *step < 1 || first < 0 || last > kLastSecond || first > last) return std::nullopt;
    for (int at = first; at <= last; at += *step) bits |= std::uint64_t{1} << at;
    if (comma == std::string_view::npos) return bits;
    text.remove_prefix(comma + 1);
  }
}

Result<std::optional<WallTime>> time_in(ir::Fields& fields, std::string_view name) {
  const std::string text = fields.text(name);
  if (text.empty()) return std::nullopt;
  Result<WallTime> time = model::parse_rfc3339(text);
  if (!time) return invalid("a schedule's " + std::string(name) + " is no time: " + text);
  return *time;
}

void put_time(json::Object& into, const char* name, const std::optional<WallTime>& time) {
  if (time) into.emplace(name, model::format_rfc3339(*time));
}

}  // namespace

Result<Schedule> Schedule::parse(const json::Value& trigger) {
  ir::Fields fields(&trigger, "trigger");
  const json::Value* cron = fields.take("cronSchedule");
  const json::Value* periodic = fields.take("periodicSchedule");
  TRY(fields.finish());
  if ((cron == nullptr) == (periodic == nullptr))
    return invalid("a recurring run needs either a cron_schedule or a periodic_schedule");
  Schedule made;
  ir::Fields of(cron ? cron : periodic, cron ? "cron_schedule" : "periodic_schedule");
  made.start_ = TRY(time_in(of, "startTime"));
  made.end_ = TRY(time_in(of, "endTime"));
  json::Object shown;
  put_time(shown, "start_time", made.start_);
  put_time(shown, "end_time", made.end_);
  if (periodic) {
    const std::int64_t seconds = of.integer("intervalSecond");
    TRY(of.finish());
    if (seconds < 1) return invalid("a periodic schedule's interval_second is at least 1");
    made.period_ = std::chrono::seconds(seconds);
    shown.emplace("interval_second", std::to_string(seconds));
    made.json_ = json::Object{{"periodic_schedule", std::move(shown)}};
    return made;
  }
  const std::string text = of.text("cron");
  TRY(of.finish());
  std::string rest = text;
  made.every_ = text.starts_with("@every ");
  if (!text.starts_with('@')) {
    const std::size_t begin = text.find_first_not_of(' ');
    const std::size_t end = text.find(' ', begin == std::string::npos ? 0 : begin);
    if (end == std::string::npos) return invalid("cron \"" + text + "\" has not six fields");
    const std::optional<std::uint64_t> seconds = seconds_of(text.substr(begin, end - begin));
    if (!seconds) return invalid("cron \"" + text + "\": its seconds cannot be read");
    made.seconds_ = *seconds;
    rest = text.substr(end + 1);
    // The day of the week may be left out.
    if (!model::CronSchedule::parse(rest) && model::CronSchedule::parse(rest + " *")) rest += " *";
  }
  Result<model::CronSchedule> parsed = model::CronSchedule::parse(rest);
  if (!parsed) return invalid("cron \"" + text + "\": " + parsed.error().message);
  made.cron_ = std::move(*parsed);
  shown.emplace("cron", text);
  made.json_ = json::Object{{"cron_schedule", std::move(shown)}};
  return made;
}

std::optional<WallTime> Schedule::next_cron(WallTime after) const {
  if (every_) return cron_->next(after);
  const WallTime minute = std::chrono::floor<std::chrono::minutes>(after);
  const auto second = std::chrono::floor<std::chrono::seconds>(after - minute).count();
  if (cron_->next(minute - std::chrono::seconds(1)) == minute)
    for (auto at = second + 1; at <= kLastSecond; ++at)
      if (seconds_ >> at & 1) return minute + std::chrono::seconds(at);
  std::optional<WallTime> found = cron_->next(minute);
  if (found) *found += std::chrono::seconds(std::countr_zero(seconds_));
  return found;
}

std::optional<WallTime> Schedule::next(WallTime last, bool first) const {
  if (first && start_) last = *start_;
  std::optional<WallTime> found = cron_ ? next_cron(last) : std::optional<WallTime>(last + period_);
  if (found && end_ && *found > *end_) return std::nullopt;
  return found;
}

}  // namespace hekla::pipelines::schedule
