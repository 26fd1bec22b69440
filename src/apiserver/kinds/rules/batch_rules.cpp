#include "apiserver/kinds/rules/batch_rules.h"

#include <algorithm>
#include <cctype>

#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/kinds/rules/rules.h"
#include "apiserver/text/field_error.h"
#include "model/cron.h"
#include "model/names.h"
#include "model/selector.h"

namespace hekla::apiserver {
namespace {

constexpr std::int64_t kMaxIndexedParallelism = 100'000, kMaxFailedIndexes = 100'000;
constexpr std::int64_t kManyCompletions = 100'000, kMaxOfMany = 10'000;
constexpr std::size_t kMaxManager = 63;

// More indexes than are kept count of without a limit.
void validate_many_indexes(const Field& spec, Rules& rules) {
  if (spec["completions"].number() <= kManyCompletions || !spec["backoffLimitPerIndex"].present())
    return;
  if (!spec["maxFailedIndexes"].present())
    rules.required(spec["maxFailedIndexes"], "must be specified when completions is above 100000");
  for (std::string_view member : {"parallelism", "maxFailedIndexes"})
    if (spec[member].number() > kMaxOfMany)
      rules.invalid(
          spec[member],
          "must be less than or equal to 10000 when completions are above 100000 and used with "
          "backoff limit per index");
}

void validate_counts(const Field& spec, Rules& rules) {
  for (std::string_view member :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"})
    rules.not_negative(spec[member]);
  if (spec["maxFailedIndexes"].present() && !spec["backoffLimitPerIndex"].present())
    rules.required(spec["backoffLimitPerIndex"], "when maxFailedIndexes is specified");
  bool indexed = spec["completionMode"].text() == "Indexed";
  rules.one_of(spec["completionMode"], {"NonIndexed", "Indexed"});
  if (indexed) {
    if (!spec["completions"].present())
      rules.required(spec["completions"], "when completion mode is Indexed");
    if (spec["parallelism"].number() > kMaxIndexedParallelism)
      rules.invalid(spec["parallelism"],
                    "must be less than or equal to 100000 when completion mode is Indexed");
    const Field failed = spec["maxFailedIndexes"];
    if (spec["completions"].present() && failed.number() > spec["completions"].number())
      rules.invalid(failed, "must be less than or equal to completions");
    if (failed.number() > kMaxFailedIndexes)
      rules.invalid(failed, "must be less than or equal to 100000");
    validate_many_indexes(spec, rules);
    return;
  }
  for (std::string_view member : {"backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"})
    if (spec[member].present()) rules.invalid(spec[member], "requires indexed completion mode");
}

// Another controller's name: a domain and a path.
void validate_manager(const Field& manager, Rules& rules) {
  constexpr std::string_view kPathCharacters = "/-._~%!$&'()*+,;=:";
  const std::string_view name = manager.text();
  if (!manager.present()) return;
  const std::size_t slash = name.find('/');
  if (name.empty()) {
    rules.required(manager);
  } else if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
    rules.invalid(manager, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  } else {
    for (const std::string& why : model::dns1123_subdomain_errors(name.substr(0, slash)))
      rules.invalid(manager, json::Value(name.substr(0, slash)), why);
    const std::string_view path = name.substr(slash + 1);
    const bool good = std::ranges::all_of(path, [&](unsigned char c) {
      return std::isalnum(c) ||
             kPathCharacters.find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (!good)
      rules.invalid(
          manager, json::Value(path),
          R"(Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+'))");
  }
  if (name.size() > kMaxManager) rules.causes.push_back(too_long(manager.path(), kMaxManager));
}

void validate_job_spec(const Field& spec, Rules& rules) {
  validate_counts(spec, rules);
  validate_manager(spec["managedBy"], rules);
  if (spec["podFailurePolicy"].present()) validate_failure_policy(spec, rules);
  if (spec["successPolicy"].present() && spec["completionMode"].text() == "Indexed")
    validate_success_policy(spec, rules);
  if (spec["podFailurePolicy"].present() && spec["podReplacementPolicy"].text() != "Failed")
    rules.one_of(spec["podReplacementPolicy"], {"Failed"});
  else
    rules.one_of(spec["podReplacementPolicy"], {"Failed", "TerminatingOrFailed"});
  validate_pod_template(spec["template"], rules);
  Field restart = spec["template"]["spec"]["restartPolicy"];
  if (restart.text().empty() || restart.text() == "Always")
    rules.required(restart, R"(valid values: "OnFailure", "Never")");
  else if (restart.text() != "OnFailure" && restart.text() != "Never")
    rules.unsupported(restart, {"OnFailure", "Never"});
  else if (spec["podFailurePolicy"].present() && restart.text() != "Never")
    rules.invalid(restart, R"(only "Never" is supported when podFailurePolicy is specified)");
}

// A selector of the user's would be replaced: say so instead.
void validate_generated_selector(const Field& job, Rules& rules) {
  Field spec = job["spec"];
  std::string uid(job["metadata"]["uid"].text()), name(job["metadata"]["name"].text());
  Field labels = spec["template"]["metadata"]["labels"];
  std::vector<std::string> keys;
  for (const auto& label : labels.members()) keys.emplace_back(label.key());
  std::sort(keys.begin(), keys.end());
  json::Object sorted;  // as Go prints a map
  for (const std::string& key : keys) sorted.emplace(key, labels.key(key).value());
  const json::Value shown(std::move(sorted));
  const auto expect = [&](std::string_view key, const std::string& value) {
    if (!labels.key(key).present())
      rules.required(labels.key(key), "must be '" + value + "'");
    else if (labels.key(key).text() != value)
      rules.invalid(labels.key(key), shown, "must be '" + value + "'");
  };
  for (std::string_view prefix : {"", "batch.kubernetes.io/"}) {
    expect(std::string(prefix) + "controller-uid", uid);
    expect(std::string(prefix) + "job-name", name);
  }
  auto selector = model::Selector::from_label_selector(spec["selector"].value());
  bool generated =
      spec["selector"]["matchLabels"].members().size() == 1 &&
      spec["selector"]["matchExpressions"].items().empty() &&
      spec["selector"]["matchLabels"].key("batch.kubernetes.io/controller-uid").text() == uid;
  if (selector && !generated) rules.invalid(spec["selector"], "`selector` not auto-generated");
}

// Where a suspended job that never started may run can still be changed.
json::Value without_scheduling(const json::Value& pod_template, bool mutable_scheduling) {
  json::Value copy = pod_template;
  if (!mutable_scheduling || !copy.is_object()) return copy;
  json::Value& spec = json::at_path(copy, {"spec"});
  if (!spec.is_object()) return copy;
  for (std::string_view member : {"nodeSelector", "tolerations", "schedulingGates"})
    spec.get_object().erase(member);
  if (json::Value* affinity = spec.get_object().if_contains("affinity");
      affinity != nullptr && affinity->is_object()) {
    affinity->get_object().erase("nodeAffinity");
    if (affinity->get_object().empty()) spec.get_object().erase("affinity");
  }
  json::Value& metadata = json::at_path(copy, {"metadata"});
  if (!metadata.is_object()) metadata = json::Object();
  metadata.get_object().erase("labels");
  metadata.get_object().erase("annotations");
  return copy;
}

}  // namespace

std::vector<Cause> validate_job(const json::Value& object) {
  Rules rules;
  Field job(object, ""), spec = job["spec"];
  if (spec["manualSelector"].flag()) {
    if (!spec["selector"].present())
      rules.required(spec["selector"]);
    else
      rules.selector(spec["selector"]);
    auto selector = model::Selector::from_label_selector(spec["selector"].value());
    model::Labels labels;
    Field given = spec["template"]["metadata"]["labels"];
    for (const auto& label : given.members())
      labels.emplace(label.key(), scalar_text(label.value()));
    if (selector && !selector->empty() && !selector->matches(labels))
      rules.invalid(given, "`selector` does not match template `labels`");
  } else {
    validate_generated_selector(job, rules);
  }
  validate_job_spec(spec, rules);
  // Its pods are named after their index.
  if (std::int64_t completions = spec["completions"].number();
      spec["completionMode"].text() == "Indexed" && completions > 0) {
    const std::string host =
        std::string(job["metadata"]["name"].text()) + "-" + std::to_string(completions - 1);
    if (!model::dns1123_label_errors(host).empty())
      rules.invalid(job["metadata"]["name"],
                    "will not able to create pod with invalid DNS label: " + host);
  }
  return std::move(rules.causes);
}

std::vector<Cause> validate_changed_job(const json::Value& object, const json::Value& old) {
  Rules rules;
  Field now = Field(object, "")["spec"], before = Field(old, "")["spec"];
  if (now["completionMode"].text() != "Indexed")
    rules.immutable(now["completions"], before["completions"]);
  else if (!same(now["completions"], before["completions"]) && now["completions"].present() &&
           now["completions"].number() != now["parallelism"].number())
    rules.invalid(now["completions"], "can only be modified in tandem with spec.parallelism");
  rules.immutable(now["selector"], before["selector"]);
  bool startable = before["suspend"].flag() && !Field(old, "")["status"]["startTime"].present();
  if (!json::equal(without_scheduling(now["template"].value(), startable),
                   without_scheduling(before["template"].value(), startable)))
    rules.invalid(now["template"], std::string(kImmutable));
  for (std::string_view member :
       {"completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"})
    rules.immutable(now[member], before[member]);
  return std::move(rules.causes);
}

std::vector<Cause> validate_cron_job(const json::Value& object) {
  Rules rules;
  Field cron(object, ""), spec = cron["spec"];
  if (cron["metadata"]["name"].text().size() > 52)
    rules.invalid(cron["metadata"]["name"], "must be no more than 52 characters");
  if (rules.need_text(spec["schedule"])) {
    if (std::string wrong = schedule_error(spec["schedule"].text()); !wrong.empty())
      rules.invalid(spec["schedule"], wrong);
    if (spec["schedule"].text().find("TZ") != std::string_view::npos)
      rules.invalid(spec["schedule"],
                    "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  }
  rules.not_negative(spec["startingDeadlineSeconds"]);
  if (Field zone = spec["timeZone"]; zone.present()) {
    if (zone.text().empty())
      rules.invalid(zone, "timeZone must be nil or non-empty string");
    else if (zone.text() == "Local")
      rules.invalid(
          zone,
          "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
    else if (!model::is_time_zone(std::string(zone.text())))
      rules.invalid(zone, "unknown time zone " + std::string(zone.text()));
  }
  rules.one_of(spec["concurrencyPolicy"], {"Allow", "Forbid", "Replace"}, true);
  Field job = spec["jobTemplate"]["spec"];
  if (job["selector"].present())
    rules.invalid(job["selector"], "`selector` will be auto-generated");
  if (job["manualSelector"].flag()) rules.unsupported(job["manualSelector"], {"nil", "false"});
  validate_job_spec(job, rules);
  rules.not_negative(spec["successfulJobsHistoryLimit"]);
  rules.not_negative(spec["failedJobsHistoryLimit"]);
  return std::move(rules.causes);
}

}  // namespace hekla::apiserver
