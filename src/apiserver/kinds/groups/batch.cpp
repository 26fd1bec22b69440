// batch/v1: Job and CronJob.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/rules/batch_rules.h"
#include "apiserver/kinds/rules/workload_rules.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kBatchPackage = "io.k8s.api.batch.v1";

std::string completions_cell(const json::Value& job) {
  std::string done = std::to_string(json::int_at(job, {"status", "succeeded"}));
  const json::Value* wanted = json::find_path(job, {"spec", "completions"});
  if (wanted != nullptr && wanted->is_number()) return done + "/" + scalar_text(*wanted);
  std::int64_t parallelism = json::int_at(job, {"spec", "parallelism"});
  return parallelism > 1 ? done + "/1 of " + std::to_string(parallelism) : done + "/1";
}

std::string duration_cell(const json::Value& job, WallTime now) {
  auto started = model::parse_rfc3339(json::string_at(job, {"status", "startTime"}));
  if (!started) return "";
  auto ended = model::parse_rfc3339(json::string_at(job, {"status", "completionTime"}));
  return model::human_duration((ended ? *ended : now) - *started);
}

std::string_view status_cell(const json::Value& job) {
  if (has_condition(job, "Complete")) return "Complete";
  if (has_condition(job, "Failed")) return "Failed";
  if (!json::string_at(job, {"metadata", "deletionTimestamp"}).empty()) return "Terminating";
  for (std::string_view type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"})
    if (has_condition(job, type)) return type;
  return "Running";
}

void default_job_spec(json::Object& spec) {
  default_template_in(spec);
  bool none = !spec.contains("completions") && !spec.contains("parallelism");
  if (none) spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  set_default(spec, "backoffLimit", spec.contains("backoffLimitPerIndex") ? 2147483647 : 6);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "podReplacementPolicy",
              spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
  set_default(spec, "manualSelector", false);
  if (json::Value* policy = spec.if_contains("podFailurePolicy");
      policy != nullptr && policy->is_object())
    for (json::Value& rule : list_in(policy->get_object(), "rules"))
      if (rule.is_object())
        for (json::Value& pattern : list_in(rule.get_object(), "onPodConditions"))
          if (pattern.is_object()) set_default(pattern.get_object(), "status", "True");
}

// A job without labels has those of its pods, also the ones the server gave them.
void label_like_pods(json::Value& job) {
  const json::Value* labels = json::find_path(job, {"spec", "template", "metadata", "labels"});
  if (labels == nullptr || count(job, {"metadata", "labels"}) != 0) return;
  json::Value copy = *labels;
  json::at_path(job, {"metadata", "labels"}) = std::move(copy);
}

void default_job(json::Value& object) {
  json::Object& spec = object_in_place(object.get_object(), "spec");
  label_like_pods(object);
  default_job_spec(spec);
}

// Unless the user manages the selector, the job's uid finds its pods and nobody else's.
void generate_selector(json::Value& job, const WriteContext&) {
  if (json::bool_at(job, {"spec", "manualSelector"})) return;
  std::string name(json::string_at(job, {"metadata", "name"})),
      uid(json::string_at(job, {"metadata", "uid"}));
  json::Value& labels = json::at_path(job, {"spec", "template", "metadata", "labels"});
  if (!labels.is_object()) labels = json::Object();
  for (std::string_view label : {"job-name", "batch.kubernetes.io/job-name"})
    labels.get_object().emplace(label,
                                name);  // a label of the user's own stays, and validation speaks
  for (std::string_view label : {"controller-uid", "batch.kubernetes.io/controller-uid"})
    labels.get_object().emplace(label, uid);
  json::Value& match = json::at_path(job, {"spec", "selector", "matchLabels"});
  if (!match.is_object()) match = json::Object();
  match.get_object().emplace("batch.kubernetes.io/controller-uid", uid);
  label_like_pods(job);
}

Kind job_kind() {
  Kind kind = builtin_kind("batch", "v1", "jobs", "Job", kBatchPackage);
  kind.categories = {"all"};
  kind.traits.has_status = true;
  kind.traits.has_generation = true;
  kind.traits.orphans_by_default = true;
  kind.traits.orphan_warning =
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
      "to remove them or set propagationPolicy=Orphan to suppress this warning";
  kind.label_error_names_kind = true;
  kind.printing.columns =
      columns({"Status", "Completions", "Duration", "Age", "Containers*", "Images*", "Selector*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) {
    json::Array cells{json::Value(status_cell(object)), json::Value(completions_cell(object)),
                      json::Value(duration_cell(object, now)), json::Value(age(object, now))};
    append_template_cells(object, cells);
    return cells;
  };
  kind.selectable = {{"status.successful", [](const json::Node& object) {
                        return std::to_string(json::int_at(object, {"status", "succeeded"}));
                      }}};
  kind.rules.set_defaults = default_job;
  kind.rules.prepare_create = generate_selector;
  kind.rules.validate = validate_job;
  kind.rules.validate_update = validate_changed_job;
  return kind;
}

Kind cron_job_kind() {
  Kind kind = builtin_kind("batch", "v1", "cronjobs", "CronJob", kBatchPackage);
  kind.short_names = {"cj"};
  kind.categories = {"all"};
  kind.traits.has_status = true;
  kind.traits.has_generation = true;
  kind.printing.columns = columns({"Schedule", "Timezone", "Suspend:boolean", "Active:integer",
                                   "Last Schedule", "Age", "Containers*", "Images*", "Selector*"});
  kind.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
    const json::Array* containers =
        json::array_at(object, {"spec", "jobTemplate", "spec", "template", "spec", "containers"});
    bool ran = !json::string_at(object, {"status", "lastScheduleTime"}).empty();
    return {json::Value(json::string_at(object, {"spec", "schedule"})),
            json::Value(text_or(object, {"spec", "timeZone"}, "<none>")),
            json::Value(true_false(json::find_path(object, {"spec", "suspend"}))),
            count(object, {"status", "active"}),
            json::Value(ran ? since(object, {"status", "lastScheduleTime"}, now) : "<none>"),
            json::Value(age(object, now)),
            json::Value(container_names(containers)),
            json::Value(container_images(containers)),
            json::Value(selector_text(
                json::find_path(object, {"spec", "jobTemplate", "spec", "selector"})))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    json::Object& spec = object_in_place(object.get_object(), "spec");
    set_default(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3);
    set_default(spec, "failedJobsHistoryLimit", 1);
    // The job itself is defaulted when it is made; its pods now.
    json::Value* job = spec.if_contains("jobTemplate");
    if (job == nullptr || !job->is_object()) return;
    if (json::Value* inner = job->get_object().if_contains("spec");
        inner != nullptr && inner->is_object())
      default_template_in(inner->get_object());
  };
  kind.rules.validate = validate_cron_job;
  return kind;
}

void add_batch_kinds(Kinds& kinds) {
  add(kinds, cron_job_kind());
  add(kinds, job_kind());
}

}  // namespace

extern const KindGroup kinds_batch;
const KindGroup kinds_batch{add_batch_kinds};

}  // namespace hekla::apiserver
