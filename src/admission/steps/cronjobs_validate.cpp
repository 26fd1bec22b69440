// validatecronjob.volcano.sh: the schedule and zone of a cron job can be read, its name leaves room
// for the jobs', and the jobs it makes would be let in.
#include "admission/job_spec.h"
#include "admission/step.h"
#include "model/cron.h"

namespace hekla::admission {
namespace {

constexpr std::size_t kNameMax = 52;

std::string zone_error(const json::Value& zone) {
  std::string name = zone.is_string() ? std::string(json::sv(zone.get_string())) : "";
  if (name.empty()) return "timeZone must be nil or non-empty string, got empty string";
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower == "local")
    return "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones";
  if (!model::is_time_zone(name)) return "unknown timeZone " + name;
  return {};
}

std::string schedule_error(const std::string& schedule) {
  if (schedule.empty()) return "schedule is required, but got empty";
  if (schedule.find("TZ") != std::string::npos)
    return "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field";
  Result<model::CronSchedule> parsed = model::CronSchedule::parse(schedule);
  if (!parsed) return "schedule is not a valid cron expression: " + parsed.error().message;
  return {};
}

Result<void> validate_cron_job(const Settings& settings, const kube::AdmissionRequest& request,
                               const json::Value& object) {
  std::string name(json::string_at(object, {"metadata", "name"}));
  if (request.operation == kube::Operation::create && name.size() > kNameMax)
    return fail(Code::bad_request,
                "cronJob name must be no more than 52 characters to accommodate job name suffix "
                "(max 63 total)");
  std::string error = schedule_error(std::string(json::string_at(object, {"spec", "schedule"})));
  const json::Value* zone = json::find_path(object, {"spec", "timeZone"});
  if (error.empty() && zone && !zone->is_null()) error = zone_error(*zone);
  if (!error.empty()) return fail(Code::bad_request, error);
  const json::Value* spec = json::find_path(object, {"spec", "jobTemplate", "spec"});
  if (!spec) return {};
  Result<model::VcJobSpec> jobs = json::decode<model::VcJobSpec>(*spec);
  if (!jobs) return fail(Code::bad_request, jobs.error().message);
  for (std::size_t i = 0; i < jobs->tasks.size(); ++i)  // as each job's own admission will
    if (jobs->tasks[i].name.empty()) jobs->tasks[i].name = "default" + std::to_string(i);
  // Queues come and go before the first run; the job itself is checked against them then.
  std::string errors = job_spec_errors({settings, *jobs, "", nullptr, request.warnings});
  if (errors.empty()) return {};
  return fail(Code::bad_request, "invalid jobTemplate: " + errors);
}

}  // namespace

extern const Step step_cronjobs_validate;
const Step step_cronjobs_validate{
    .name = "validatecronjob.volcano.sh",
    .path = "/cronjobs/validate",
    .resources = {&kube::resources::vc_cron_jobs},
    .when = Step::When::create_or_update,
    .validate = validate_cron_job,
};

}  // namespace hekla::admission
