#include "controllers/jobset/job_set.h"

#include <algorithm>

#include "base/digest.h"
#include "framework/pods.h"

namespace hekla::controllers::jobset {
namespace {

const json::Array& list_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Array* found = json::array_at(value, path);
  return found ? *found : none;
}

ReplicatedJob read_job(const json::Value& item) {
  ReplicatedJob job;
  job.name = json::text_at(item, {"name"});
  job.group = json::text_at(item, {"groupName"});
  if (job.group.empty()) job.group = "default";
  job.replicas = static_cast<std::int32_t>(json::int_at(item, {"replicas"}, 1));
  job.job_template = json::find(item, "template");
  const std::int64_t parallelism = json::int_at(item, {"template", "spec", "parallelism"}, 1);
  job.pods = static_cast<std::int32_t>(
      std::min(parallelism, json::int_at(item, {"template", "spec", "completions"}, parallelism)));
  for (const json::Value& one : list_at(item, {"dependsOn"}))
    job.depends_on.push_back(
        {json::text_at(one, {"name"}), json::string_at(one, {"status"}) == "Complete"});
  return job;
}

// Of <namespace>/<job>, as JobSet has it.
std::string job_key(const std::string& text) {
  Digest digest(Digest::Algorithm::sha1);
  digest.add(text);
  return digest.finish_hex();
}

struct Count {
  std::int64_t index = 0, total = 0;
};

// The place of a Job among those of the set, or of its group.
Count count_jobs(const JobSet& set, const ReplicatedJob& job, std::int32_t index, bool in_group) {
  Count count;
  for (const ReplicatedJob& one : set.jobs) {
    if (in_group && one.group != job.group) continue;
    if (one.name == job.name) count.index = count.total + index;
    count.total += one.replicas;
  }
  return count;
}

std::string coordinator(const JobSet& set, const json::Value& given) {
  return set.name() + "-" + json::text_at(given, {"replicatedJob"}) + "-" +
         std::to_string(json::int_at(given, {"jobIndex"})) + "-" +
         std::to_string(json::int_at(given, {"podIndex"})) + "." + set.subdomain;
}

// Marks that a Job and its pods bear, as labels and as annotations.
json::Object marks(const JobSet& set, const ReplicatedJob& job, std::int32_t index) {
  const std::string prefix = "jobset.sigs.k8s.io/";
  const Count all = count_jobs(set, job, index, false), group = count_jobs(set, job, index, true);
  json::Object made{
      {keys::set_name, set.name()},
      {prefix + "jobset-uid", set.object->metadata.uid},
      {keys::job_name, job.name},
      {keys::restart_attempt, std::to_string(set.restarts)},
      {prefix + "replicatedjob-replicas", std::to_string(job.replicas)},
      {prefix + "global-replicas", std::to_string(all.total)},
      {prefix + "job-index", std::to_string(index)},
      {prefix + "job-key", job_key(set.object->metadata.ns + "/" + set.child_name(job, index))},
      {prefix + "job-global-index", std::to_string(all.index)},
      {prefix + "group-name", job.group},
      {prefix + "group-replicas", std::to_string(group.total)},
      {prefix + "job-group-index", std::to_string(group.index)}};
  if (const json::Value* given = json::find(set.spec(), "coordinator"))
    made[prefix + "coordinator"] = coordinator(set, *given);
  return made;
}

// The wish for a topology's domain of its own: the set's, or else the replicated job's.
json::Object placement_marks(const JobSet& set, const ReplicatedJob& job) {
  json::Object made;
  const auto& own = set.object->metadata.annotations;
  if (own.contains(keys::exclusive))
    for (const std::string& key : {keys::exclusive, keys::node_selector})
      if (auto found = own.find(key); found != own.end()) made[key] = found->second;
  const json::Object* given = json::object_at(*job.job_template, {"metadata", "annotations"});
  if (given && given->contains(keys::exclusive))
    for (const std::string& key : {keys::exclusive, keys::node_selector})
      if (const json::Value* found = given->if_contains(key)) made[key] = *found;
  return made;
}

void mark(json::Value& object, const json::Object& both, const json::Object& annotations) {
  for (const char* member : {"labels", "annotations"}) {
    json::Value& map = json::at_path(object, {"metadata", member});
    if (!map.is_object()) map = json::Object();
    for (const auto& one : both) map.get_object()[one.key()] = one.value();
  }
  json::Object& own = json::at_path(object, {"metadata", "annotations"}).get_object();
  for (const auto& one : annotations) own[one.key()] = one.value();
}

// Nodes were labelled and tainted for this one Job.
void select_own_nodes(const JobSet& set, const std::string& name, json::Value& pod) {
  json::at_path(pod, {"spec", "nodeSelector", "alpha.jobset.sigs.k8s.io/namespaced-job"}) =
      set.object->metadata.ns + "_" + name;
  json::Value& tolerations = json::at_path(pod, {"spec", "tolerations"});
  if (!tolerations.is_array()) tolerations = json::Array();
  tolerations.get_array().push_back(json::Object{{"key", "alpha.jobset.sigs.k8s.io/no-schedule"},
                                                 {"operator", "Exists"},
                                                 {"effect", "NoSchedule"}});
}

bool mounts(const json::Value& pod, std::string_view volume) {
  for (const char* kind : {"containers", "initContainers"})
    for (const json::Value& container : list_at(pod, {"spec", kind}))
      for (const json::Value& mount : list_at(container, {"volumeMounts"}))
        if (json::string_at(mount, {"name"}) == volume) return true;
  return false;
}

void add_claims(const JobSet& set, json::Value& pod) {
  for (const json::Value& policy : list_at(set.spec(), {"volumeClaimPolicies"}))
    for (const json::Value& claim : list_at(policy, {"templates"})) {
      const std::string name = json::text_at(claim, {"metadata", "name"});
      if (!mounts(pod, name)) continue;
      framework::add_volume(
          pod, json::Object{
                   {"name", name},
                   {"persistentVolumeClaim", json::Object{{"claimName", claim_name(set, claim)}}}});
    }
}

}  // namespace

const json::Value* ReplicatedJob::pod_template() const {
  return job_template ? json::find_path(*job_template, {"spec", "template"}) : nullptr;
}

std::int64_t JobSet::replicas() const {
  std::int64_t sum = 0;
  for (const ReplicatedJob& job : jobs) sum += job.replicas;
  return sum;
}

std::string JobSet::child_name(const ReplicatedJob& job, std::int32_t index) const {
  return name() + "-" + job.name + "-" + std::to_string(index);
}

JobSet read_job_set(const framework::AnyObject& object) {
  JobSet set{.object = &object};
  for (const json::Value& item : list_at(object.spec, {"replicatedJobs"}))
    if (json::object_at(item, {"template"})) set.jobs.push_back(read_job(item));
  set.subdomain = json::text_at(object.spec, {"network", "subdomain"});
  if (set.subdomain.empty()) set.subdomain = object.metadata.name;
  set.has_hostnames = json::bool_at(object.spec, {"network", "enableDNSHostnames"}, true);
  set.suspended = json::bool_at(object.spec, {"suspend"});
  set.in_order = json::string_at(object.spec, {"startupPolicy", "startupPolicyOrder"}) == "InOrder";
  set.restarts = json::int_at(object.status, {"restarts"});
  return set;
}

json::Value child_job(const JobSet& set, const ReplicatedJob& job, std::int32_t index) {
  const std::string name = set.child_name(job, index);
  json::Value made = *job.job_template;
  const json::Object both = marks(set, job, index), placement = placement_marks(set, job);
  mark(made, both, placement);
  json::at_path(made, {"metadata", "name"}) = name;
  json::Object& metadata = made.at("metadata").get_object();
  json::erase_if(metadata, [](const auto& member) {
    return member.key() != "name" && member.key() != "labels" && member.key() != "annotations";
  });
  json::Object& spec = json::at_path(made, {"spec"}).get_object();
  spec["suspend"] = set.suspended;
  if (!spec.contains("completionMode")) spec["completionMode"] = "Indexed";
  json::Value& pod = json::member_of(spec, "template");
  mark(pod, both, placement);
  if (json::string_at(pod, {"spec", "restartPolicy"}).empty())
    json::at_path(pod, {"spec", "restartPolicy"}) = "OnFailure";
  if (set.has_hostnames) json::at_path(pod, {"spec", "subdomain"}) = set.subdomain;
  if (placement.contains(keys::exclusive) && placement.contains(keys::node_selector))
    select_own_nodes(set, name, pod);
  add_claims(set, pod);
  return made;
}

std::string claim_name(const JobSet& set, const json::Value& claim) {
  return json::text_at(claim, {"metadata", "name"}) + "-" + set.name();
}

}  // namespace hekla::controllers::jobset
