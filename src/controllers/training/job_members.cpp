// Pods and services of a training job: which there are, which are missing, which are made again.
#include <algorithm>

#include "base/check.h"
#include "controllers/training/job_round.h"
#include "controllers/training/read_job.h"
#include "framework/pod_group.h"
#include "framework/pods.h"
#include "model/program_image.h"

namespace hekla::controllers::training {
namespace {

namespace resources = kube::resources;

// Nobody knows how the container has ended: its pod was evicted. Counts as worth another try.
constexpr std::int32_t kUnknownExit = 48879;
constexpr std::int32_t kFirstRetryableExit = 128;
constexpr const char* kServiceType = "hekla.io/service-type";  // of a role's Services

std::string_view to_text(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::on_failure:
      return "OnFailure";
    case RestartPolicy::always:
      return "Always";
    case RestartPolicy::exit_code:
    case RestartPolicy::never:
      return "Never";
  }
  return "Never";
}

std::string container_name(const TrainingKind& kind, const Replica& replica) {
  const json::Array* containers = json::array_at(*replica.pod_template, {"spec", "containers"});
  CHECK(containers && !containers->empty(), "a job that was read has containers");
  return json::text_at((*containers)[training_container(kind, *containers, replica.bystander)],
                       {"name"});
}

// The labels that older releases knew a pod by; SDKs and tutorials of their day select by them.
void add_old_labels(const Place& place, bool master, json::Object& labels) {
  const std::string index = std::to_string(place.index);
  labels["group-name"] = "kubeflow.org";
  labels["job-name"] = place.job.name;
  labels["replica-type"] = place.replica.lower;
  if (place.replica.numbered) labels["replica-index"] = index;
  if (master) labels["job-role"] = "master";
  const std::string prefix(place.job.kind->old_prefix);
  // The first SDKs ask for the operator of one kind, tf-operator or pytorch-operator.
  labels["controller-name"] = prefix.empty() ? place.job.operator_name : prefix + "-operator";
  if (prefix.empty()) return;
  labels["group_name"] = "kubeflow.org";
  labels[prefix + "_job_name"] = place.job.name;
  labels[prefix + "-job-name"] = place.job.name;
  labels[prefix + "-replica-type"] = place.replica.lower;
  if (place.replica.numbered) labels[prefix + "-replica-index"] = index;
  if (master) labels[prefix + "-job-role"] = "master";
}

}  // namespace

void JobRound::gather() {
  const std::vector<framework::PodRef> pods = view_.pods();
  for (const Replica& replica : job_.replicas) {
    RoleState role{&replica, granted(replica)};
    role.pods.resize(static_cast<std::size_t>(role.wanted));
    if (auto found = progress_.completed.find(replica.type); found != progress_.completed.end())
      role.completed = found->second;
    for (const framework::PodRef& pod : pods) {
      const std::optional<std::int32_t> index = job_.index_of(replica, pod->metadata.name);
      if (!index) continue;
      if (*index >= role.wanted) {
        role.surplus.push_back(pod);
        continue;
      }
      role.pods[static_cast<std::size_t>(*index)] = pod;
      if (pod->status.phase == "Succeeded") role.completed.insert(*index);
    }
    roles_.push_back(std::move(role));
  }
  const bool as_one = job_.object->metadata.annotation(kRestartAnnotation) == "gang";
  std::set<std::string> failed;
  std::int64_t fresh = 0;
  for (const RoleState& role : roles_) {
    if (role.replica->bystander) continue;
    restarting_gang_ = restarting_gang_ || (as_one && has_lost(role));
    for (const framework::PodRef& pod : role.pods)
      if (pod && pod->status.phase == "Failed" && is_restartable(*role.replica, *pod)) {
        failed.insert(pod->metadata.uid);
        fresh += progress_.counted.contains(pod->metadata.uid) ? 0 : 1;
      }
  }
  progress_.restarts += as_one ? std::min<std::int64_t>(fresh, 1) : fresh;
  progress_.counted = std::move(failed);
}

bool JobRound::has_lost(const RoleState& role) const {
  return std::any_of(role.pods.begin(), role.pods.end(), [&](const framework::PodRef& pod) {
    return pod && (pod->metadata.deletionTimestamp ||
                   (pod->status.phase == "Failed" && is_restartable(*role.replica, *pod)));
  });
}

bool JobRound::is_restartable(const Replica& replica, const model::Pod& pod) const {
  if (replica.restart == RestartPolicy::never) return false;
  if (replica.restart != RestartPolicy::exit_code) return true;
  const std::int32_t code =
      framework::exit_code_of(pod, container_name(kind_, replica)).value_or(kUnknownExit);
  return code >= kFirstRetryableExit;
}

// A pod is made again only when the job says so and has counted it: what is removed tells nothing
// any more.
bool JobRound::is_noted(const model::Pod& pod) const {
  return was_restarting_ &&
         (pod.status.phase != "Failed" || progress_before_.counted.contains(pod.metadata.uid));
}

void JobRound::remove_once(const model::Pod& pod) {
  if (!pod.metadata.deletionTimestamp) remove(resources::pods, pod.metadata);
}

// The members that live go first; the one whose failure is the cause goes when they are on their
// way, so that the restart is not forgotten half-way.
void JobRound::restart_gang() {
  set_restarting("job " + job_.name + " is restarting because all of its replicas start again.");
  std::vector<framework::PodRef> alive, failed;
  bool noted = was_restarting_;
  for (RoleState& role : roles_) {
    if (role.replica->bystander) continue;
    role.completed.clear();
    for (const framework::PodRef& pod : role.pods) {
      if (!pod || pod->metadata.deletionTimestamp) continue;
      (pod->status.phase == "Failed" ? failed : alive).push_back(pod);
      noted = noted && is_noted(*pod);
    }
  }
  if (!noted) return;
  for (const framework::PodRef& pod : alive.empty() ? failed : alive) remove_once(*pod);
}

void JobRound::reconcile_role(RoleState& role, bool may_make) {
  for (const framework::PodRef& pod : role.surplus) remove_member(*pod);
  for (std::int32_t index = 0; index < role.wanted; ++index) {
    const framework::PodRef& pod = role.pods[static_cast<std::size_t>(index)];
    const Place place{job_, *role.replica, index};
    if (pod) {
      look_at(role, *pod);
    } else if (may_make && !role.completed.contains(index)) {
      const bool foreign = gang_ && !role.replica->bystander &&
                           !is_gang_scheduler(*job_.options, role.replica->scheduler_name);
      if (foreign)
        outcome_.tell("Warning", "SetPodTemplateSchedulerName",
                      "Another scheduler is specified when gang-scheduling is enabled and it will "
                      "not be overwritten");
      if (role.replica->template_restart_lost)
        outcome_.tell("Warning", "SetPodTemplateRestartPolicy",
                      "Restart policy in pod template will be overwritten by restart policy in "
                      "replica spec");
      want(resources::pods, make_pod(place), framework::Care::create_once);
    }
    if (may_make && kind_.services &&
        !view_.child(resources::services, job_.pod_name(*role.replica, index)))
      make_service(place);
  }
}

void JobRound::look_at(RoleState& role, const model::Pod& pod) {
  if (auto code = framework::exit_code_of(pod, container_name(kind_, *role.replica)))
    outcome_.tell_with_status("Normal", "ExitedWithCode",
                              "Pod: " + pod.metadata.ns + "." + pod.metadata.name +
                                  " exited with code " + std::to_string(*code));
  if (framework::pod_active(pod)) tell_trouble(pod);
  if (pod.status.phase != "Failed" || role.replica->restart == RestartPolicy::never) return;
  if (is_restartable(*role.replica, pod)) {
    if (role.replica->bystander) return remove_once(pod);
    if (restarting_gang_) return;
    restarted_ = true;
    set_restarting("job " + job_.name + " is restarting because " + role.replica->type +
                   " replica(s) failed.");
    if (is_noted(pod)) remove_once(pod);
  } else if (!role.replica->bystander) {
    set_failed("job \"" + job_.name + "\" is failing because \"" + role.replica->type +
                   "\" replica(s) failed.",
               "Warning");
  }
}

void JobRound::remove_member(const model::Pod& pod) {
  remove_once(pod);
  const framework::AnyRef service =
      kind_.services ? view_.child(resources::services, pod.metadata.name) : nullptr;
  if (service && !service->metadata.deletionTimestamp)
    remove(resources::services, service->metadata);
}

// What keeps a pod from running, on the job, where its owner looks first.
void JobRound::tell_trouble(const model::Pod& pod) {
  const std::string prefix = "Error pod " + pod.metadata.name;
  for (const model::ContainerStatus& one : pod.status.containerStatuses) {
    const std::string begin = prefix + " container " + one.name;
    if (one.state.terminated && one.state.terminated->exitCode != 0)
      outcome_.tell("Warning", one.state.terminated->reason,
                    begin + " exitCode: " + std::to_string(one.state.terminated->exitCode) +
                        " terminated message: " + one.state.terminated->message);
    if (one.state.waiting && !one.state.waiting->message.empty() &&
        one.state.waiting->reason != model::kImageBuilding)
      outcome_.tell("Warning", one.state.waiting->reason,
                    begin + " waiting message: " + one.state.waiting->message);
  }
  if (!pod.status.containerStatuses.empty()) return;
  for (const model::PodCondition& one : pod.status.conditions)
    if (!one.message.empty())
      outcome_.tell("Warning", one.reason, prefix + " condition message: " + one.message);
}

json::Object JobRound::labels_of(const Place& place, bool for_pod) const {
  json::Object made;
  for (const auto& [key, value] : job_.selector()) made[key] = value;
  if (kind_.label) {
    kind_.label(place, made);
    return made;
  }
  made[labels::replica_type] = place.replica.lower;
  if (place.replica.numbered) made[labels::replica_index] = std::to_string(place.index);
  if (!for_pod) return made;
  const bool master = !place.replica.bystander && kind_.is_master(job_, place.replica, place.index);
  if (master) made[labels::job_role] = "master";
  add_old_labels(place, master, made);
  return made;
}

json::Value JobRound::make_pod(const Place& place) const {
  const Replica& replica = place.replica;
  json::Value pod = framework::pod_from_template(*replica.pod_template);
  json::at_path(pod, {"metadata", "name"}) = job_.pod_name(replica, place.index);
  json::Value& given = json::at_path(pod, {"metadata", "labels"});
  if (!given.is_object()) given = json::Object();
  for (auto& label : labels_of(place, true)) given.get_object()[label.key()] = label.value();
  json::Value& spec = json::at_path(pod, {"spec"});
  spec.get_object()["restartPolicy"] = to_text(replica.restart);
  if (replica.port > 0) {
    json::Array& containers = spec.get_object()["containers"].get_array();
    json::Value& container = containers[training_container(kind_, containers, replica.bystander)];
    if (container.is_object())
      framework::add_port(container.get_object(), replica.port_name, replica.port);
  }
  if (!replica.scheduler_name.empty()) spec.get_object()["schedulerName"] = replica.scheduler_name;
  if (gang_ && !replica.bystander) {
    // Names that mean our scheduler, an older one among them.
    if (is_gang_scheduler(*job_.options, replica.scheduler_name))
      spec.get_object()["schedulerName"] = job_.options->gang_scheduler;
    framework::join_gang(pod, job_.name, replica.lower, job_.options->gang_scheduler);
  }
  if (kind_.complete && !replica.bystander) kind_.complete(place, pod);
  return pod;
}

void JobRound::make_service(const Place& place) {
  json::Object own = labels_of(place, false);
  json::Array ports;
  json::Value pod = framework::pod_from_template(*place.replica.pod_template);
  json::Array& containers = pod.at("spec").at("containers").get_array();
  json::Value& container =
      containers[training_container(kind_, containers, place.replica.bystander)];
  if (container.is_object() && place.replica.port > 0)
    framework::add_port(container.get_object(), place.replica.port_name, place.replica.port);
  if (const json::Array* given = json::array_at(container, {"ports"}))
    for (const json::Value& port : *given)
      ports.push_back(json::Object{{"name", json::string_at(port, {"name"})},
                                   {"port", json::int_at(port, {"containerPort"})}});
  json::Object spec{{"selector", own}};
  // TensorBoards of v1alpha1 ask for a Service of some type; all others are names for one pod.
  const std::string_view type =
      json::string_at(*place.replica.pod_template, {"metadata", "annotations", kServiceType});
  if (type.empty())
    spec["clusterIP"] = "None";
  else
    spec["type"] = type;
  if (!ports.empty()) spec["ports"] = std::move(ports);
  want(resources::services,
       json::Object{{"metadata", json::Object{{"name", job_.pod_name(place.replica, place.index)},
                                              {"labels", std::move(own)}}},
                    {"spec", std::move(spec)}},
       framework::Care::create_once);
}

void JobRound::count() {
  for (RoleState& role : roles_) {
    for (std::size_t i = 0; i < role.pods.size(); ++i) {
      const framework::PodRef& pod = role.pods[i];
      const bool done = role.completed.contains(static_cast<std::int32_t>(i));
      if (done)
        ++role.succeeded;
      else if (pod && pod->status.phase == "Running")
        ++(pod->metadata.deletionTimestamp ? role.failed : role.active);
      else if (pod && pod->status.phase == "Failed")
        ++role.failed;
    }
  }
}

void JobRound::put_counts() {
  json::Object all;
  for (const RoleState& role : roles_) {
    json::Object counts;
    if (role.active > 0) counts["active"] = role.active;
    if (role.succeeded > 0) counts["succeeded"] = role.succeeded;
    if (role.failed > 0) counts["failed"] = role.failed;
    if (kind_.scales) {
      std::string selector;
      for (const auto& [key, value] : job_.selector()) selector += key + "=" + value + ",";
      // The keys are sorted: job-name, operator-name, replica-type.
      counts["selector"] = selector + labels::replica_type + "=" + role.replica->lower;
    }
    all[role.replica->type] = std::move(counts);
  }
  status_["replicaStatuses"] = std::move(all);
}

// Written with the round's other writes; a job that has ended needs no record any more.
void JobRound::note_progress() {
  if (!roles_.empty() && !finished()) {
    progress_.completed.clear();
    for (const RoleState& role : roles_)
      if (!role.completed.empty()) progress_.completed[role.replica->type] = role.completed;
  }
  if (finished() || progress_ == progress_before_) return;
  const std::string text = training::to_text(progress_);
  json::at_path(outcome_.patch, {"metadata", "annotations", kProgressAnnotation}) =
      text.empty() ? json::Value(nullptr) : json::Value(text);
}

}  // namespace hekla::controllers::training
