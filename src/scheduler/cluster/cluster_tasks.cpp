// Pods in the cluster state: classes, counts and node accounts follow every move of a task.
#include <algorithm>

#include "base/check.h"
#include "scheduler/cluster/cluster.h"
#include "scheduler/cluster/pod_to_task.h"

namespace hekla::scheduler {

namespace {

std::string identity(const model::Pod& pod) {
  return pod.metadata.uid.empty() ? pod.metadata.ns + "/" + pod.metadata.name : pod.metadata.uid;
}

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class T>
void adjust(T& account, const Resources& amount, int sign) {
  if (sign > 0)
    account += amount;
  else
    account -= amount;
}

bool holds_node(TaskStatus status) {
  return !is_completed(status) && status != TaskStatus::pending;
}

template <class Visit>
void each_term(const ClassTerms& terms, Visit visit) {
  for (TermId id : terms.affinity) visit(id);
  for (TermId id : terms.anti) visit(id);
  for (TermId id : terms.matched) visit(id);
  for (const ClassTerms::Weighted& one : terms.preferred) visit(one.term);
  for (const ClassTerms::Weighted& one : terms.drawn) visit(one.term);
  for (const ClassTerms::Spread& one : terms.spread) visit(one.term);
}

std::string full_key(const std::string& base, const std::vector<TermId>& matched) {
  std::string key = base;
  for (TermId term : matched) key.append("\x1e#").append(std::to_string(term.value));
  return key;
}

}  // namespace

// ---- classes
// ----------------------------------------------------------------------------------------

TermId Cluster::intern_term(TermSpec spec) {
  bool added = false;
  bool carried = spec.use == TermUse::anti || spec.use == TermUse::scored;
  TermId id = terms_.intern(std::move(spec), &added);
  if (!added) return id;
  if (terms_.settled()) {
    terms_.lay_out(id, nodes_);
    touched_.clear();
    for (LabelSetId set : terms_.at(id).matched_sets)
      for (TaskId task : terms_.at(set).tasks)
        if (const Task& one = at(task); one.node.valid() && holds_node(one.status))
          terms_.count_term(id, one.node, one.status == TaskStatus::releasing, +1, touched_);
  }
  if (carried) reclassify(id);
  return id;
}

ClassTerms Cluster::intern_terms(PodNeighbours wanted) {
  ClassTerms out;
  out.affinity_self = wanted.affinity_self;
  for (TermSpec& spec : wanted.affinity) out.affinity.push_back(intern_term(std::move(spec)));
  for (TermSpec& spec : wanted.anti) out.anti.push_back(intern_term(std::move(spec)));
  for (PodNeighbours::Weighted& one : wanted.preferred)
    out.preferred.push_back({intern_term(std::move(one.term)), one.weight});
  for (PodNeighbours::Weighted& one : wanted.drawn)
    out.drawn.push_back({intern_term(std::move(one.term)), one.weight});
  for (PodNeighbours::Spread& one : wanted.spread) {
    out.spread.push_back(one.how);
    out.spread.back().term = intern_term(std::move(one.term));
  }
  return out;
}

// A term that others will be judged by has appeared: pods that match it are no longer like those
// that do not.
void Cluster::reclassify(TermId term) { reclassify(terms_.at(term).matched_sets); }

void Cluster::reclassify(std::span<const LabelSetId> sets) {
  std::vector<TaskId> affected;
  for (LabelSetId set : sets)
    for (TaskId task : terms_.at(set).tasks)
      if (at(task).pod_class.valid()) affected.push_back(task);
  for (TaskId id : affected) {
    Task& task = tasks_[id.index()];
    std::vector<TermId> matched = terms_.carried_matches(task.labels);
    if (matched == classes_[task.pod_class.index()].terms.matched) continue;
    std::string key = full_key(classes_[task.pod_class.index()].base_key, matched);
    auto known = class_ids_.find(key);
    ClassId next = known != class_ids_.end() ? ClassId(known->second) : ClassId();
    if (!next.valid()) {
      PodClass made = classes_[task.pod_class.index()];
      made.key = std::move(key);
      made.terms.matched = std::move(matched);
      made.users = 0;
      next = intern_class(std::move(made));
    }
    ++classes_[next.index()].users;
    release_class(task.pod_class);
    task.pod_class = next;
  }
}

std::string Cluster::base_key(const model::Pod& pod, const LabelPairs& labels) {
  return class_key(pod) + '\x1e' + neighbours_of(pod, labels, names_, terms_).text;
}

ClassId Cluster::classify(const model::Pod& pod, LabelSetId labels) {
  PodNeighbours wanted = neighbours_of(pod, terms_.at(labels).labels, names_, terms_);
  std::string base = class_key(pod) + '\x1e' + wanted.text;
  ClassTerms own = intern_terms(std::move(wanted));
  own.matched = terms_.carried_matches(labels);
  std::string key = full_key(base, own.matched);
  if (auto known = class_ids_.find(key); known != class_ids_.end()) return ClassId(known->second);
  PodClass made = make_class(pod, std::move(base), names_, dimensions_);
  made.key = std::move(key);
  made.terms = std::move(own);
  return intern_class(std::move(made));
}

void Cluster::settle() {
  settle_companions();
  if (terms_.settled()) return;
  terms_.lay_out(nodes_);
  if (!terms_.any()) return;
  touched_.clear();
  for (const Task& task : tasks_)
    if (task.live && task.node.valid() && holds_node(task.status))
      terms_.count(task.labels, class_of(task).terms, task.node,
                   task.status == TaskStatus::releasing, +1, touched_);
}

ClassId Cluster::intern_class(PodClass made) {
  each_term(made.terms, [&](TermId term) { terms_.use(term); });
  ClassId id;
  if (free_classes_.empty()) {
    id = ClassId(classes_.size());
    classes_.emplace_back();
  } else {
    id = free_classes_.back();
    free_classes_.pop_back();
  }
  made.serial = ++class_serial_;
  class_ids_.emplace(made.key, id.value);
  classes_[id.index()] = std::move(made);
  return id;
}

void Cluster::release_class(ClassId id) {
  PodClass& pods = classes_[id.index()];
  if (--pods.users > 0) return;
  class_ids_.erase(pods.key);
  ClassTerms terms = std::move(pods.terms);
  pods = PodClass();
  free_classes_.push_back(id);
  each_term(terms, [&](TermId term) { terms_.release(term); });
}

void Cluster::recognise_names() {
  if (dimensions_.size() == recognised_) return;
  recognised_ = dimensions_.size();
  auto has_news = [&](const model::ResourceList& unknown, std::int64_t most) {
    return std::ranges::any_of(unknown, [&](const auto& one) {
      return dimensions_.is_recognised(one.first, one.second, most);
    });
  };
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (has_news(jobs_[i].min_unknown, Dimensions::kNoLimit)) {
      dimensions_.recognise(jobs_[i].min_resources, jobs_[i].min_unknown);
      touch(JobId(i));
    }
  std::vector<bool> known(classes_.size());
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] = has_news(classes_[i].unknown, kMostOfAPod);
  std::vector<TaskId> affected;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i].live && known[tasks_[i].pod_class.index()]) affected.push_back(TaskId(i));
  for (TaskId id : affected) {
    count_task(tasks_[id.index()], -1);
    charge_node(id, -1);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) continue;
    dimensions_.recognise(classes_[i].request, classes_[i].unknown, kMostOfAPod);
    classes_[i].serial = ++class_serial_;
  }
  for (TaskId id : affected) {
    Task& task = tasks_[id.index()];
    count_task(task, +1);
    charge_node(id, +1);
    if (task.job.valid()) touch(task.job);
  }
}

// ---- counts and accounts
// ----------------------------------------------------------------------------

void Cluster::count_task(Task& task, int sign) {
  if (!task.job.valid()) return;
  Job& job = jobs_[task.job.index()];
  Role& role = job.roles[task.role];
  const Resources& request = classes_[task.pod_class.index()].request;
  auto status = static_cast<std::size_t>(task.status);
  job.count[status] += sign;
  role.count[status] += sign;
  if (!job.sub_jobs.empty()) count_in_sub_job(task, sign);
  if (is_allocated(task.status)) adjust(job.allocated, request, sign);
  if (is_allocated(task.status) || task.status == TaskStatus::pipelined)
    adjust(job.claimed, request, sign);
  if (task.status == TaskStatus::releasing && task.node.valid()) job.releasing_on_node += sign;
  if (task.status != TaskStatus::pending) return;
  adjust(job.pending_request, request, sign);
  if (task.gated) adjust(job.gated_request, request, sign);
  if (task.best_effort) {
    job.pending_best_effort += sign;
    role.pending_best_effort += sign;
  } else if (!task.gated) {
    job.allocatable_tasks += sign;
  }
}

void Cluster::charge_node(TaskId id, int sign) {
  Task& task = tasks_[id.index()];
  if (!task.node.valid() || !holds_node(task.status)) return;
  Node& node = nodes_[task.node.index()];
  const PodClass& pods = classes_[task.pod_class.index()];
  if (task.status == TaskStatus::pipelined) {
    adjust(node.pipelined, pods.request, sign);
  } else {
    adjust(node.idle, pods.request, -sign);
    adjust(node.used, pods.request, sign);
    if (node.live) adjust(used_, pods.request, sign);
    if (task.status == TaskStatus::releasing) adjust(node.releasing, pods.request, sign);
  }
  touched_.clear();
  terms_.count(task.labels, pods.terms, task.node, task.status == TaskStatus::releasing, sign,
               touched_);
  for (NodeId other : touched_)
    if (other != task.node) note_change(other);
  node.nonzero_cpu += sign * pods.nonzero_cpu;
  node.nonzero_memory += sign * pods.nonzero_memory;
  node.pods += sign;
  if (sign > 0) {
    node.tasks.push_back(id);
    node.ports.insert(node.ports.end(), pods.ports.begin(), pods.ports.end());
  } else {
    auto at = std::find(node.tasks.rbegin(), node.tasks.rend(), id);
    CHECK(at != node.tasks.rend(), "a task is not on the node it is charged to");
    *at = node.tasks.back();
    node.tasks.pop_back();
    for (const HostPort& port : pods.ports)
      node.ports.erase(std::find(node.ports.begin(), node.ports.end(), port));
  }
  note_change(task.node);
}

void Cluster::move(TaskId id, TaskStatus status, NodeId node) {
  Task& task = tasks_[id.index()];
  // A binding that becomes final changes no account.
  if (node == task.node && is_allocated(status) && is_allocated(task.status) && task.job.valid()) {
    Job& job = jobs_[task.job.index()];
    for (StatusCounts* count : {&job.count, &job.roles[task.role].count}) {
      --(*count)[static_cast<std::size_t>(task.status)];
      ++(*count)[static_cast<std::size_t>(status)];
    }
    task.status = status;
    return;
  }
  count_task(task, -1);
  charge_node(id, -1);
  task.status = status;
  task.node = node;
  count_task(task, +1);
  charge_node(id, +1);
  if (status != TaskStatus::pending) return;
  if (!task.claims.empty()) volumes_.release(id, task.claims);
  if (!task.device_claims.empty()) dynamic_resources_.release(task.uid);
}

void Cluster::reserve(NodeId id, const Resources& amount, int sign) {
  adjust(nodes_[id.index()].reserved, amount, sign);
  note_change(id);
}

void Cluster::count_evicted(TaskId id, int sign) {
  const Task& task = tasks_[id.index()];
  const PodClass& pods = class_of(task);
  Evicted& gone = evicted_[task.node.index()];
  adjust(gone.request, pods.request, sign);
  gone.nonzero_cpu += sign * pods.nonzero_cpu;
  gone.nonzero_memory += sign * pods.nonzero_memory;
  note_change(task.node);
}

void Cluster::forget_evicted() {
  for (const auto& [node, gone] : evicted_) note_change(NodeId(node));
  evicted_.clear();
}

// A member of a gang has died where it stood; whoever was asked to leave gives the room up.
void Cluster::note_loss(const Task& task) {
  if (!task.job.valid() || !task.node.valid() || !is_allocated(task.status)) return;
  Job& job = jobs_[task.job.index()];
  if (!job.has_group || job.min_available < 2 || job.hold.count() == 0) return;
  job.lost.push_back({task.node, classes_[task.pod_class.index()].request, {}});
}

void Cluster::bind_failed(TaskId id, const std::string& uid) {
  if (id.index() >= tasks_.size()) return;
  const Task& task = tasks_[id.index()];
  if (!task.live || task.uid != uid || task.status != TaskStatus::binding) return;
  move(id, TaskStatus::pending, {});
  gain_room();
}

void Cluster::bind_succeeded(TaskId id, const std::string& uid) {
  if (id.index() >= tasks_.size()) return;
  const Task& task = tasks_[id.index()];
  if (task.live && task.uid == uid && task.status == TaskStatus::binding)
    move(id, TaskStatus::bound, task.node);
}

void Cluster::evict_failed(TaskId id, const std::string& uid) {
  if (id.index() >= tasks_.size()) return;
  Task& task = tasks_[id.index()];
  if (!task.live || task.uid != uid || !task.evicting) return;
  task.evicting = false;
  bool was_up = task.started != WallTime{};
  if (task.status == TaskStatus::releasing)
    move(id, was_up ? TaskStatus::running : TaskStatus::bound, task.node);
}

// ---- pods
// -------------------------------------------------------------------------------------------

Impact Cluster::put(const model::Pod& pod) {
  bool ours = listed(options_.scheduler_names, pod.spec.schedulerName);
  if (auto found = task_ids_.find(identity(pod)); found != task_ids_.end())
    return update_task(TaskId(found->second), pod);
  if (!ours && pod.spec.nodeName.empty()) return Impact::none;
  JobId job = job_of(pod, ours);
  TaskStatus status = status_of(pod);
  // Without a group to count in, a pod that has ended, or is ours and has no group yet, is
  // nobody's.
  if (!job.valid() && is_completed(status)) return Impact::none;
  TaskId id = add_task(pod, ours);
  const Task& task = tasks_[id.index()];
  if (!task.job.valid()) return Impact::none;
  if (task.status != TaskStatus::pending || task.gated) return Impact::report;
  // Until the gang is complete there is nothing to decide about it.
  const Job& gang = jobs_[task.job.index()];
  bool complete = gang.implicit || (gang.has_group && gang.valid() >= gang.min_available);
  return complete ? Impact::decide : Impact::report;
}

JobId Cluster::job_of(const model::Pod& pod, bool ours) {
  if (const std::string& group = pod.metadata.annotation(model::keys::group_name); !group.empty())
    return intern_job(pod.metadata.ns, group);
  if (!ours || !listed(options_.single_pod_schedulers, pod.spec.schedulerName)) return {};
  if (is_completed(status_of(pod))) return {};
  // No PodGroup can have this name: '/' is not a character of names.
  JobId id = intern_job(pod.metadata.ns, "pod/" + identity(pod));
  Job& job = jobs_[id.index()];
  job.implicit = true;
  job.uid = pod.metadata.uid;
  job.created = pod.metadata.creationTimestamp.at.value_or(WallTime{});
  job.min_available = 1;
  job.priority = pod.spec.priority.value_or(0);
  job.phase = Phase::inqueue;
  return id;
}

TaskId Cluster::add_task(const model::Pod& pod, bool ours) {
  JobId job = job_of(pod, ours);
  TaskId id;
  if (free_tasks_.empty()) {
    id = TaskId(tasks_.size());
    tasks_.emplace_back();
  } else {
    id = free_tasks_.back();
    free_tasks_.pop_back();
  }
  tasks_[id.index()] = Task();
  LabelSetId labels = terms_.intern_labels(names_.intern(pod.metadata.ns),
                                           label_pairs(pod.metadata.labels, names_));
  terms_.join(labels, id);
  ClassId pod_class = classify(pod, labels);
  ++classes_[pod_class.index()].users;

  Task& task = tasks_[id.index()];
  task.live = true;
  task.labels = labels;
  task.ours = ours;
  fill_task(pod, task);
  task.job = job;
  task.pod_class = pod_class;
  task.best_effort = classes_[pod_class.index()].best_effort;
  task.status = status_of(pod);
  if (!pod.spec.nodeName.empty()) task.node = intern_node(pod.spec.nodeName);
  if (!pod.status.nominatedNodeName.empty())
    task.nominated = intern_node(pod.status.nominatedNodeName);
  if (job.valid()) {
    Job& members = jobs_[job.index()];
    task.role = intern_role(members, names_.intern(role_of(pod)));
    members.tasks.push_back(id);
    members.arriving = true;
    touch(job);
    join_sub_job(task);
  }
  for (const NamedClaim& claim : claims_of(pod)) {
    task.claims.push_back({volumes_.intern(task.ns, claim.name), claim.ephemeral});
    volumes_.join(task.claims.back().claim, id);
  }
  count_task(task, +1);
  charge_node(id, +1);
  if (task.node.valid() && draws(task)) gain_room();
  task_ids_[identity(pod)] = id.value;
  task_by_name_[pod.metadata.ns + "/" + pod.metadata.name] = id.value;
  return id;
}

bool Cluster::belongs_to_its_job(const Task& task, const model::Pod& pod) const {
  const std::string& group = pod.metadata.annotation(model::keys::group_name);
  if (!task.job.valid() || jobs_[task.job.index()].implicit) return group.empty();
  return jobs_[task.job.index()].name == group;
}

void Cluster::change_class(TaskId id, const model::Pod& pod, LabelPairs labels) {
  Task& task = tasks_[id.index()];
  LabelSetId next_labels = terms_.intern_labels(names_.intern(pod.metadata.ns), std::move(labels));
  terms_.join(next_labels, id);
  terms_.leave(task.labels, id);
  if (task.job.valid()) leave_sub_job(task);
  task.labels = next_labels;
  if (task.job.valid()) join_sub_job(task);
  ClassId next = classify(pod, next_labels);
  ++classes_[next.index()].users;
  release_class(task.pod_class);
  task.pod_class = next;
  task.best_effort = classes_[next.index()].best_effort;
}

Impact Cluster::update_task(TaskId id, const model::Pod& pod) {
  Task& task = tasks_[id.index()];
  TaskStatus status = status_of(pod);
  NodeId node = pod.spec.nodeName.empty() ? NodeId() : intern_node(pod.spec.nodeName);
  // A binding of ours that the watch does not know yet.
  bool assumed = task.node.valid() && !node.valid() && status == TaskStatus::pending &&
                 (task.status == TaskStatus::binding || task.status == TaskStatus::bound);
  if (assumed) {
    status = task.status;
    node = task.node;
  }
  if (task.evicting && (status == TaskStatus::running || status == TaskStatus::bound))
    status = TaskStatus::releasing;
  bool gated = !pod.spec.schedulingGates.empty();
  if (!belongs_to_its_job(task, pod) ||
      (is_completed(status) && (!task.job.valid() || jobs_[task.job.index()].implicit))) {
    drop_task(id);
    Impact impact = put(pod);
    return impact == Impact::none ? Impact::decide : impact;
  }
  task.started = pod.status.startTime.at.value_or(WallTime{});
  for (const model::PodCondition& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status == "True")
      task.scheduled = condition.lastTransitionTime.at.value_or(WallTime{});
  fill_task_annotations(pod, task);
  bool other_standing = fill_standing(pod, task);
  if (other_standing) {  // somebody may take its place now, or it somebody's
    gain_room();
    if (task.job.valid()) touch(task.job);
  }
  bool claims_made = false;
  if (!task.device_claims.empty()) {
    std::vector<DeviceClaim> claims = device_claims_of(pod);
    for (std::size_t i = 0; i < claims.size() && i < task.device_claims.size(); ++i)
      claims_made |= claims[i].object != task.device_claims[i].object;
    task.device_claims = std::move(claims);
  }
  task.nominated =
      pod.status.nominatedNodeName.empty() ? NodeId() : intern_node(pod.status.nominatedNodeName);
  LabelPairs labels = label_pairs(pod.metadata.labels, names_);
  bool same_class = terms_.at(task.labels).labels == labels &&
                    base_key(pod, labels) == classes_[task.pod_class.index()].base_key;
  if (same_class && status == task.status && node == task.node && gated == task.gated)
    return claims_made || other_standing ? Impact::decide : Impact::none;

  if (status == TaskStatus::failed) note_loss(task);
  TaskStatus before = task.status;
  bool opened = task.gated && !gated;
  count_task(task, -1);
  charge_node(id, -1);
  if (!same_class) change_class(id, pod, std::move(labels));
  task.gated = gated;
  task.status = status;
  task.node = node;
  count_task(task, +1);
  charge_node(id, +1);
  bool freed = holds_node(before) && (is_completed(status) || status == TaskStatus::releasing);
  if (task.job.valid()) touch(task.job);
  bool stays = holds_node(status) && status != TaskStatus::releasing && same_class;
  if ((holds_node(before) && !stays) || (!same_class && node.valid()) || draws(task)) gain_room();
  if (freed || opened || !same_class || other_standing ||
      (before != TaskStatus::pending && status == TaskStatus::pending))
    return Impact::decide;
  return task.job.valid() ? Impact::report : Impact::none;
}

void Cluster::drop_task(TaskId id) {
  Task& task = tasks_[id.index()];
  if (holds_node(task.status)) gain_room();
  if (task.job.valid()) touch(task.job);
  count_task(task, -1);
  charge_node(id, -1);
  volumes_.release(id, task.claims);
  if (!task.device_claims.empty()) dynamic_resources_.release(task.uid);
  for (const ClaimUse& use : task.claims) volumes_.leave(use.claim, id);
  if (task.job.valid()) {
    leave_sub_job(task);
    std::vector<TaskId>& members = jobs_[task.job.index()].tasks;
    auto at = std::find(members.begin(), members.end(), id);
    *at = members.back();
    members.pop_back();
    drop_job_if_unused(task.job);
  }
  release_class(task.pod_class);
  terms_.leave(task.labels, id);
  std::string name = task.ns + "/" + task.name;
  task_ids_.erase(task.uid.empty() ? name : task.uid);
  if (auto at = task_by_name_.find(name); at != task_by_name_.end() && at->second == id.value)
    task_by_name_.erase(at);
  task = Task();
  free_tasks_.push_back(id);
}

Impact Cluster::remove(const model::Pod& pod) {
  auto found = task_ids_.find(identity(pod));
  if (found == task_ids_.end()) return Impact::none;
  TaskId id(found->second);
  const Task& task = tasks_[id.index()];
  bool relevant = !is_completed(task.status);
  note_loss(task);
  drop_task(id);
  return relevant ? Impact::decide : Impact::report;
}

}  // namespace hekla::scheduler
