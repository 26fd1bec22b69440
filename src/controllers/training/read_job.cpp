#include "controllers/training/read_job.h"

#include <algorithm>
#include <map>

namespace hekla::controllers::training {
namespace {

RestartPolicy restart_policy(std::string_view text, RestartPolicy otherwise) {
  if (text == "Never") return RestartPolicy::never;
  if (text == "OnFailure") return RestartPolicy::on_failure;
  if (text == "Always") return RestartPolicy::always;
  if (text == "ExitCode") return RestartPolicy::exit_code;
  return otherwise;
}

const json::Array* containers_of(const json::Value& pod_template) {
  return json::array_at(pod_template, {"spec", "containers"});
}

std::int32_t port_in(const TrainingKind& kind, const json::Value& pod_template,
                     const Replica& replica) {
  const json::Array* containers = containers_of(pod_template);
  if (!containers || containers->empty()) return replica.port;
  const json::Value& container =
      (*containers)[training_container(kind, *containers, replica.bystander)];
  if (const json::Array* ports = json::array_at(container, {"ports"}))
    for (const json::Value& port : *ports)
      if (json::string_at(port, {"name"}) == replica.port_name)
        return static_cast<std::int32_t>(json::int_at(port, {"containerPort"}, replica.port));
  return replica.port;
}

Replica read_replica(const TrainingKind& kind, const Role* role, std::string type,
                     const json::Value& given, std::string_view job_scheduler) {
  static const json::Value none = json::Object();
  Replica replica;
  replica.type = std::move(type);
  replica.lower = lowered(replica.type);
  replica.replicas = static_cast<std::int32_t>(
      std::max<std::int64_t>(0, json::int_at(given, {"replicas"}, role ? role->replicas : 1)));
  if (role) {
    replica.bystander = role->bystander;
    replica.numbered = role->numbered;
    replica.pods = role->pods;
  }
  const json::Value* found = json::find(given, "template");
  replica.pod_template = found && found->is_object() ? found : &none;
  // A policy that stands in the template alone is what its author meant.
  const std::string_view own = json::string_at(given, {"restartPolicy"});
  const std::string_view inner = json::string_at(*replica.pod_template, {"spec", "restartPolicy"});
  replica.restart = restart_policy(own.empty() ? inner : own,
                                   role && role->restart ? *role->restart : kind.restart);
  replica.template_restart_lost = !own.empty() && !inner.empty();
  const bool own_port = role && !role->port_name.empty();
  replica.port_name = own_port ? role->port_name : kind.port_name;
  replica.port = own_port ? role->port : kind.port;
  replica.port = port_in(kind, *replica.pod_template, replica);
  replica.scheduler_name = json::string_at(*replica.pod_template, {"spec", "schedulerName"});
  if (replica.scheduler_name.empty()) replica.scheduler_name = job_scheduler;
  return replica;
}

const Role* role_named(const TrainingKind& kind, std::string_view key) {
  const std::string wanted = lowered(key);
  for (const Role& role : kind.roles)
    if (lowered(role.name) == wanted) return &role;
  return nullptr;
}

// Those the kind knows in its order, then others by name. Of two spellings of one role the
// canonical one counts.
std::vector<Replica> read_replicas(const TrainingKind& kind, const json::Object& given,
                                   std::string_view job_scheduler) {
  std::map<const Role*, std::string_view> keys;
  std::vector<std::string_view> others;
  for (const auto& member : given) {
    const Role* role = role_named(kind, member.key());
    if (!role)
      others.push_back(member.key());
    else if (!keys.contains(role) || std::string_view(member.key()) == role->name)
      keys[role] = member.key();
  }
  std::vector<Replica> replicas;
  for (const Role& role : kind.roles)
    if (auto found = keys.find(&role); found != keys.end())
      replicas.push_back(read_replica(kind, &role, std::string(role.name),
                                      *given.if_contains(found->second), job_scheduler));
  std::sort(others.begin(), others.end());
  for (std::string_view key : others)
    replicas.push_back(
        read_replica(kind, nullptr, std::string(key), *given.if_contains(key), job_scheduler));
  return replicas;
}

// What tf-operator 1.0 and MPIJobs have in the spec itself counts where runPolicy is silent.
framework::RunPolicy read_policy(const json::Value& spec, framework::CleanPods otherwise) {
  json::Object merged;
  for (std::string_view member :
       {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"})
    if (const json::Value* found = json::find(spec, member)) merged[member] = *found;
  if (const json::Object* policy = json::object_at(spec, {"runPolicy"}))
    for (const auto& member : *policy) merged[member.key()] = member.value();
  const json::Value value(std::move(merged));
  return framework::read_run_policy(&value, otherwise);
}

std::optional<Elastic> read_elastic(const TrainingJob& job) {
  const json::Value* policy = json::find(job.spec(), "elasticPolicy");
  if (!policy || !policy->is_object()) return std::nullopt;
  const Replica* worker = job.find("Worker");
  const std::int64_t wanted = worker ? worker->replicas : 0;
  const std::int64_t least = json::int_at(*policy, {"minReplicas"}, -1);
  const std::int64_t most = json::int_at(*policy, {"maxReplicas"}, -1);
  Elastic elastic;
  elastic.min = static_cast<std::int32_t>(least >= 0 ? least : most >= 0 ? most : wanted);
  elastic.max = static_cast<std::int32_t>(most >= 0 ? most : least >= 0 ? least : wanted);
  return elastic;
}

}  // namespace

Result<TrainingJob> read_job(const TrainingKind& kind, const Options& options,
                             const framework::AnyObject& object) {
  TrainingJob job{
      &kind, &options, &object, object.metadata.name, object.metadata.ns, operator_name(kind)};
  if (const std::string& version = object.metadata.annotation(kCreatedVersion); !version.empty())
    job.version = version;
  const json::Object* given = json::object_at(object.spec, {kind.roles_member});
  if (!given || given->empty())
    return fail(Code::invalid, "spec." + std::string(kind.roles_member) + " is empty");
  job.replicas = read_replicas(kind, *given, json::string_at(object.spec, {"schedulerName"}));
  for (const Replica& one : job.replicas)
    if (const json::Array* containers = containers_of(*one.pod_template);
        !containers || containers->empty())
      return fail(Code::invalid, "containers definition expected in " + one.type);
  const bool old = job.version.starts_with("v1alpha") || job.version.starts_with("v1beta");
  job.policy =
      read_policy(object.spec, old ? framework::CleanPods::running : framework::CleanPods::none);
  if (kind.child_has_limits)
    job.policy.active_deadline_seconds = job.policy.backoff_limit =
        job.policy.ttl_seconds_after_finished = std::nullopt;
  job.elastic = read_elastic(job);
  return job;
}

const TrainingKind& variant_of(const TrainingKind& kind, const framework::AnyObject& object) {
  const bool other =
      kind.variant && object.metadata.annotation(kCreatedVersion) == kind.variant_version;
  return other ? *kind.variant : kind;
}

std::size_t training_container(const TrainingKind& kind, const json::Array& containers,
                               bool bystander) {
  if (!bystander)
    for (std::size_t i = 0; i < containers.size(); ++i)
      if (json::string_at(containers[i], {"name"}) == kind.container) return i;
  return 0;
}

std::string operator_name(const TrainingKind& kind) {
  if (!kind.operator_name.empty()) return std::string(kind.operator_name);
  return lowered(kind.resource.kind) + "-controller";
}

const Replica* decider_of(const TrainingJob& job) {
  for (std::string_view type : job.kind->deciders)
    if (const Replica* found = job.find(type)) return found;
  return nullptr;
}

}  // namespace hekla::controllers::training
