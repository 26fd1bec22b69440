// Validation of jobs and cron jobs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

class Field;
class Rules;

// podFailurePolicy and successPolicy of a JobSpec, which are there.
void validate_failure_policy(const Field& spec, Rules& rules);
void validate_success_policy(const Field& spec, Rules& rules);

std::vector<Cause> validate_job(const json::Value& job);
std::vector<Cause> validate_changed_job(const json::Value& job, const json::Value& old);
std::vector<Cause> validate_cron_job(const json::Value& cron_job);

// The complaint about a five-field schedule or an @descriptor, in robfig/cron's words; empty when
// it is fine.
std::string schedule_error(std::string_view schedule);

}  // namespace hekla::apiserver
