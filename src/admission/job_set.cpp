#include "admission/job_set.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "admission/text.h"
#include "model/names.h"

namespace hekla::admission {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kRuleNameMax = 128;

const json::Array& list_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Array* found = json::array_at(value, path);
  return found ? *found : none;
}

std::string name_of(const json::Value& one) { return json::text_at(one, {"name"}); }

std::string set_name(const json::Value& set) { return json::text_at(set, {"metadata", "name"}); }

std::set<std::string> job_names(const json::Value& set) {
  std::set<std::string> names;
  for (const json::Value& job : list_at(set, {"spec", "replicatedJobs"}))
    names.insert(name_of(job));
  return names;
}

std::int64_t replicas_of(const json::Value& job) { return json::int_at(job, {"replicas"}, 1); }

bool is_indexed(const json::Value& job) {
  return json::string_at(job, {"template", "spec", "completionMode"}) == "Indexed";
}

// What is wrong with a label of RFC 1035; its length is put in the set's own words.
void check_label(const std::string& path, const std::string& label, const std::string& shown,
                 const std::string& too_long, FieldErrors& errors) {
  for (const std::string& why : model::dns1035_label_errors(label))
    errors.invalid_text(
        path, shown,
        why.find("must be no more than 63 characters") == std::string::npos ? why : too_long);
}

void check_names(const json::Value& set, const json::Value& job, const std::string& path,
                 FieldErrors& errors) {
  const std::string group = json::text_at(job, {"groupName"});
  check_label(path + ".groupName", group, group,
              ".spec.replicatedJob[].groupName is too long, must be less than 63 characters",
              errors);
  const std::string longest =
      set_name(set) + "-" + name_of(job) + "-" + std::to_string(replicas_of(job) - 1);
  check_label(path + ".name", longest, longest,
              "JobSet name is too long, job names generated for this JobSet will exceed 63 "
              "characters",
              errors);
  const json::Value* completions = json::find_path(job, {"template", "spec", "completions"});
  if (!is_indexed(job) || !completions) return;
  const std::string pod =
      longest + "-" + std::to_string(json::int_at(job, {"template", "spec", "completions"}) - 1) +
      "-abcde";
  check_label(path + ".name", pod, longest,
              "JobSet name is too long, pod names generated for this JobSet will exceed 63 "
              "characters",
              errors);
}

// A letter, then letters, digits and _,: of which the last is neither a comma nor a colon.
bool is_rule_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto allowed = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == ',' || c == ':';
  };
  return !name.empty() && letter(name.front()) && std::ranges::all_of(name, allowed) &&
         name.back() != ',' && name.back() != ':';
}

void check_rule(const json::Value& rule, const std::set<std::string>& jobs, FieldErrors& errors) {
  const std::set<std::string> reasons{"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                                      "MaxFailedIndexesExceeded", "PodFailurePolicy"};
  const std::string name = name_of(rule);
  if (name.size() > kRuleNameMax)
    errors.internal("invalid failure policy rule name of length " + std::to_string(name.size()) +
                    ", the rule name must be at least 1 characters long and at most 128 "
                    "characters long");
  if (!is_rule_name(name))
    errors.internal("invalid failure policy rule name '" + name +
                    "', a failure policy rule name must start with an alphabetic character, "
                    "optionally followed by a string of alphanumeric characters or '_,:', and "
                    "must end with an alphanumeric character or '_'");
  for (const json::Value& target : list_at(rule, {"targetReplicatedJobs"}))
    if (const std::string job(json::sv(target.get_string())); !jobs.contains(job))
      errors.internal("invalid replicatedJob name '" + job +
                      "' in failure policy does not appear in .spec.ReplicatedJobs");
  for (const json::Value& one : list_at(rule, {"onJobFailureReasons"}))
    if (const std::string reason(json::sv(one.get_string())); !reasons.contains(reason))
      errors.internal("invalid job failure reason '" + reason +
                      "' in failure policy is not a recognized job failure reason");
}

void check_failure_policy(const json::Value& set, FieldErrors& errors) {
  const json::Array& rules = list_at(set, {"spec", "failurePolicy", "rules"});
  if (std::ranges::any_of(rules, [](const json::Value& rule) {
        const std::string_view action = json::string_at(rule, {"action"});
        return action == "RestartJob" || action == "RestartJobAndIgnoreMaxRestarts";
      }))
    return errors.internal(
        "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions "
        "are not allowed when RestartJob feature gate is disabled");
  const std::set<std::string> jobs = job_names(set);
  std::map<std::string, std::vector<std::string>> places;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    check_rule(rules[i], jobs, errors);
    places[name_of(rules[i])].push_back(std::to_string(i));
  }
  for (const auto& [name, indices] : places)
    if (indices.size() > 1)
      errors.internal("rule names are not unique, rules with indices " + bracketed(indices) +
                      " all have the same name '" + name + "'");
}

std::string coordinator_error(const json::Value& set, const json::Value& coordinator) {
  const std::string name = json::text_at(coordinator, {"replicatedJob"});
  const json::Array& jobs = list_at(set, {"spec", "replicatedJobs"});
  auto job =
      std::ranges::find_if(jobs, [&](const json::Value& one) { return name_of(one) == name; });
  if (job == jobs.end()) return "coordinator replicatedJob " + name + " does not exist";
  const std::int64_t index = json::int_at(coordinator, {"jobIndex"});
  if (index < 0 || index >= replicas_of(*job))
    return "coordinator job index " + std::to_string(index) + " is invalid for replicatedJob " +
           name;
  if (!is_indexed(*job) || !json::find_path(*job, {"template", "spec", "completions"}))
    return "job for coordinator pod must be indexed completion mode, and completions number must "
           "be set";
  const std::int64_t pod = json::int_at(coordinator, {"podIndex"});
  if (pod < 0 || pod >= json::int_at(*job, {"template", "spec", "completions"}))
    return "coordinator pod index " + std::to_string(pod) + " is invalid for replicatedJob " +
           name + " job index " + std::to_string(index);
  return {};
}

bool mounts(const json::Value& pod, std::string_view claim) {
  for (std::string_view list : {"initContainers", "containers"})
    for (const json::Value& container : list_at(pod, {list}))
      for (const json::Value& mount : list_at(container, {"volumeMounts"}))
        if (json::string_at(mount, {"name"}) == claim) return true;
  return false;
}

void check_claim_use(const json::Value& set, const std::string& claim, FieldErrors& errors) {
  const json::Array& jobs = list_at(set, {"spec", "replicatedJobs"});
  bool mounted = false;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const json::Value* pod = json::find_path(jobs[i], {"template", "spec", "template", "spec"});
    if (!pod) continue;
    mounted |= mounts(*pod, claim);
    const json::Array& volumes = list_at(*pod, {"volumes"});
    for (std::size_t k = 0; k < volumes.size(); ++k)
      if (name_of(volumes[k]) == claim)
        errors.invalid_text(
            "spec.replicatedJobs[" + std::to_string(i) + "].template.spec.template.spec.volumes[" +
                std::to_string(k) + "].name",
            claim, "volume name conflicts with VolumeClaimPolicy template name: " + claim);
  }
  if (!mounted)
    errors.invalid("spec.replicatedJobs", jobs,
                   "replicatedJob containers don't have a matching volumeMount: " + claim +
                       " from VolumeClaimPolicies");
}

void check_existing_claim(const kube::AdmissionRequest& request, const json::Value& policy,
                          const json::Value& claim, const std::string& name,
                          const std::array<std::string, 2>& paths, FieldErrors& errors) {
  Result<kube::SharedValue> existing =
      request.reader->get(kube::resources::persistent_volume_claims, {request.key.ns, name});
  if (!existing) return;
  const json::Value* spec = json::find(claim, "spec");
  const json::Value* stored = json::find(**existing, "spec");
  const json::Value wanted = spec ? *spec : json::Value(json::Object());
  if (!stored || !json::equal(wanted, *stored))
    errors.invalid(paths[1] + ".spec", wanted,
                   "spec does not match existing PVC " + name + " in namespace " + request.key.ns);
  const std::string kept = json::text_at(policy, {"retentionPolicy", "whenDeleted"});
  if (kept != "Retain")
    errors.invalid_text(paths[0] + ".retentionPolicy.whenDeleted", kept,
                        "retentionPolicy must be retain when PVC exists");
}

}  // namespace

void check_set_network(const json::Value& set, FieldErrors& errors) {
  const std::string domain = json::text_at(set, {"spec", "network", "subdomain"});
  constexpr std::string_view kPath = "spec.network.subdomain";
  if (domain.empty()) return;
  for (const std::string& why : model::dns1123_subdomain_errors(domain))
    errors.invalid_text(kPath, domain, why);
  check_label(std::string(kPath), domain, domain,
              ".spec.network.subdomain is too long, must be less than 63 characters", errors);
}

void check_replicated_jobs(const json::Value& set, FieldErrors& errors) {
  const json::Array& jobs = list_at(set, {"spec", "replicatedJobs"});
  if (!jobs.empty() && json::find(jobs.front(), "dependsOn"))
    errors.internal("DependsOn can't be set for the first ReplicatedJob");
  std::set<std::string> above;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string name = name_of(jobs[i]);
    above.insert(name);
    const std::int64_t pods =
        json::int_at(jobs[i], {"template", "spec", "parallelism"}, 1) * replicas_of(jobs[i]);
    if (pods > std::numeric_limits<std::int32_t>::max())
      errors.internal(
          "the product of replicas and parallelism must not exceed 2147483647 for "
          "replicatedJob '" +
          name + "'");
    check_names(set, jobs[i], "spec.replicatedJobs[" + std::to_string(i) + "]", errors);
    for (const json::Value& one : list_at(jobs[i], {"dependsOn"}))
      if (const std::string on = name_of(one); !above.contains(on))
        errors.internal("replicatedJob: " + name + " cannot depend on replicatedJob: " + on);
  }
}

void check_set_policies(const json::Value& set, FieldErrors& errors) {
  if (json::string_at(set, {"spec", "failurePolicy", "restartStrategy"}) == "InPlaceRestart")
    errors.internal(
        "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature "
        "gate is disabled");
  if (const json::Value* manager = json::find_path(set, {"spec", "managedBy"});
      manager && manager->is_string()) {
    const std::string_view text = json::sv(manager->get_string());
    check_domain_prefixed_path("spec.managedBy", text, errors);
    if (text.size() > kNameMax) errors.too_long("spec.managedBy", kNameMax);
  }
  const std::set<std::string> jobs = job_names(set);
  for (const json::Value& target : list_at(set, {"spec", "successPolicy", "targetReplicatedJobs"}))
    if (const std::string job(json::sv(target.get_string())); !jobs.contains(job))
      errors.internal("invalid replicatedJob name '" + job +
                      "' does not appear in .spec.ReplicatedJobs");
  check_failure_policy(set, errors);
}

void check_coordinator(const json::Value& set, FieldErrors& errors) {
  const json::Value* coordinator = json::find_path(set, {"spec", "coordinator"});
  if (!coordinator) return;
  if (const std::string why = coordinator_error(set, *coordinator); !why.empty())
    errors.internal(why);
  const std::string own = json::text_at(set, {"spec", "network", "subdomain"});
  const std::string label = set_name(set) + "-" + json::text_at(*coordinator, {"replicatedJob"}) +
                            "-" + std::to_string(json::int_at(*coordinator, {"jobIndex"})) + "-" +
                            std::to_string(json::int_at(*coordinator, {"podIndex"})) + "." +
                            (own.empty() ? set_name(set) : own);
  std::string why;
  for (const std::string& one : model::label_value_errors(label))
    why += (why.empty() ? "" : ", ") + one;
  if (!why.empty())
    errors.internal("spec will lead to invalid label value " + quoted(label) +
                    " for coordinator label \"jobset.sigs.k8s.io/coordinator\" (long JobSet / "
                    "ReplicatedJob / SubDomain name?): " +
                    why);
}

void check_volume_claims(const kube::AdmissionRequest& request, const json::Value& set,
                         FieldErrors& errors) {
  const json::Array& policies = list_at(set, {"spec", "volumeClaimPolicies"});
  std::set<std::string> seen;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const std::string path = "spec.volumeClaimPolicies[" + std::to_string(i) + "]";
    const json::Array& claims = list_at(policies[i], {"templates"});
    for (std::size_t k = 0; k < claims.size(); ++k) {
      const std::string at = path + ".template[" + std::to_string(k) + "]";
      const std::string name = json::text_at(claims[k], {"metadata", "name"});
      if (!seen.insert(name).second)
        errors.invalid_text(at + ".name", name,
                            "names must be unique for VolumeClaimPolicies template");
      for (const std::string& why : model::dns1123_subdomain_errors(name))
        errors.invalid_text(at + ".name", name, why);
      const std::string claim = name + "-" + set_name(set);
      if (claim.size() > kNameMax)
        errors.invalid_text(at + ".name", name, "VolumeClaimPolicies template name is too long");
      check_claim_use(set, name, errors);
      check_existing_claim(request, policies[i], claims[k], claim, {path, at}, errors);
    }
  }
}

}  // namespace hekla::admission
