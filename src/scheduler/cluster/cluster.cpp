#include "scheduler/cluster/cluster.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "scheduler/cluster/pod_to_task.h"
#include "scheduler/cluster/start_terms.h"

namespace hekla::scheduler {

namespace {

// What plugins read of a PodGroup's annotations.
constexpr const char* kGroupAnnotations[] = {"volcano.sh/sla-waiting-time",
                                             "sla-waiting-time",
                                             "volcano.sh/revocable-zone",
                                             "volcano.sh/jdb-min-available",
                                             "volcano.sh/jdb-max-unavailable",
                                             "volcano.sh/task-topology-affinity",
                                             "volcano.sh/task-topology-anti-affinity",
                                             "volcano.sh/task-topology-task-order"};

std::string join_key(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + name.size() + 1);
  key.append(ns).append("/").append(name);
  return key;
}

template <class IdType, class Map>
IdType lookup(const Map& map, const std::string& key) {
  auto found = map.find(key);
  return found == map.end() ? IdType() : IdType(found->second);
}

}  // namespace

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {}

// ---- lookups
// ----------------------------------------------------------------------------------------

QueueId Cluster::find_queue(std::string_view name) const {
  return lookup<QueueId>(queue_ids_, std::string(name));
}
NodeId Cluster::find_node(std::string_view name) const {
  return lookup<NodeId>(node_ids_, std::string(name));
}
JobId Cluster::find_job(std::string_view ns, std::string_view name) const {
  return lookup<JobId>(job_ids_, join_key(ns, name));
}
TaskId Cluster::find_task(std::string_view ns, std::string_view name) const {
  return lookup<TaskId>(task_by_name_, join_key(ns, name));
}

std::int32_t Cluster::nodes_with_image(NameId image) const {
  auto found = image_nodes_.find(image.value);
  return found == image_nodes_.end() ? 0 : found->second;
}

std::optional<std::span<const NodeId>> Cluster::changed_since(std::uint64_t sequence) const {
  if (sequence < log_base_) return std::nullopt;
  return std::span<const NodeId>(log_).subspan(static_cast<std::size_t>(sequence - log_base_));
}

void Cluster::trim_log() {
  if (log_.size() < 4 * nodes_.size() + 4096) return;
  log_base_ += log_.size();
  log_.clear();
}

// ---- nodes
// ------------------------------------------------------------------------------------------

NodeId Cluster::intern_node(std::string_view name) {
  auto [at, added] =
      node_ids_.emplace(std::string(name), static_cast<std::uint32_t>(nodes_.size()));
  if (added) {
    Node node;
    node.name = std::string(name);
    node.name_id = names_.intern(name);
    nodes_.push_back(std::move(node));
    last_change_.push_back(0);
    ++shape_version_;
    terms_.unsettle();
  }
  return NodeId(at->second);
}

Impact Cluster::put(const model::Node& object) {
  std::vector<std::string> refused;
  NodeShape shape = make_shape(object, names_, dimensions_, &refused);
  recognise_names();
  NodeId id = intern_node(object.metadata.name);
  Node& node = nodes_[id.index()];
  if (node.live && node.shape == shape) return Impact::none;
  if (!refused.empty())
    log_warn("scheduler",
             "a node offers more kinds of resources than are told apart; nothing asking for this "
             "one is placed",
             {{"node", node.name}, {"resource", refused.front()}});
  if (!node.live || node.shape.labels != shape.labels) ++label_version_;
  if (node.live) {
    total_ -= node.shape.allocatable;
    count_images(node.shape, -1);
  } else {
    live_.insert(std::lower_bound(live_.begin(), live_.end(), id), id);
    node.live = true;
    used_ += node.used;
  }
  node.idle -= node.shape.allocatable;
  node.idle += shape.allocatable;
  total_ += shape.allocatable;
  count_images(shape, +1);
  node.shape = std::move(shape);
  ++shape_version_;
  terms_.unsettle();
  note_change(id);
  gain_room();
  return Impact::decide;
}

Impact Cluster::remove(const model::Node& object) {
  NodeId id = find_node(object.metadata.name);
  if (!id.valid() || !nodes_[id.index()].live) return Impact::none;
  Node& node = nodes_[id.index()];
  node.live = false;
  ++label_version_;
  live_.erase(std::lower_bound(live_.begin(), live_.end(), id));
  total_ -= node.shape.allocatable;
  used_ -= node.used;
  node.idle -= node.shape.allocatable;
  count_images(node.shape, -1);
  node.shape = {};
  ++shape_version_;
  terms_.unsettle();
  note_change(id);
  return Impact::decide;
}

void Cluster::count_images(const NodeShape& shape, int sign) {
  for (const NodeImage& image : shape.images) image_nodes_[image.name.value] += sign;
}

// ---- queues and priority classes
// --------------------------------------------------------------------

QueueId Cluster::intern_queue(std::string_view name) {
  auto [at, added] =
      queue_ids_.emplace(std::string(name), static_cast<std::uint32_t>(queues_.size()));
  if (added) {
    Queue queue;
    queue.name = std::string(name);
    queues_.push_back(std::move(queue));
  }
  return QueueId(at->second);
}

Impact Cluster::put(const model::Queue& object) {
  Queue& queue = queues_[intern_queue(object.metadata.name).index()];
  Queue next = queue;
  next.live = true;
  fill_queue(object, dimensions_, next);
  recognise_names();
  fill_start_terms(object, next);
  if (!next.status_known && !object.status.allocated.empty()) {
    next.status_known = true;
    model::ResourceList unknown;
    next.written_allocated = dimensions_.request(object.status.allocated, unknown);
    next.stale_names.clear();
    for (const auto& [name, amount] : unknown) next.stale_names.push_back(name);
    next.written_counts = {object.status.pending, object.status.running, object.status.inqueue,
                           object.status.unknown, object.status.completed};
  }
  bool changed = !queue.live || next.open != queue.open || next.weight != queue.weight ||
                 next.priority != queue.priority || next.reclaimable != queue.reclaimable ||
                 next.parent != queue.parent || next.hierarchy != queue.hierarchy ||
                 next.hierarchy_weights != queue.hierarchy_weights || next.fifo != queue.fifo ||
                 next.max_running != queue.max_running ||
                 next.reserve_after != queue.reserve_after ||
                 next.has_capability != queue.has_capability || next.uid != queue.uid ||
                 !(next.capability == queue.capability) || !(next.deserved == queue.deserved) ||
                 !(next.guarantee == queue.guarantee) || next.node_groups != queue.node_groups ||
                 next.node_group_limits != queue.node_group_limits;
  if (changed) next.changed = ++version_;
  queue = std::move(next);
  return changed ? Impact::decide : Impact::none;
}

Impact Cluster::remove(const model::Queue& object) {
  QueueId id = find_queue(object.metadata.name);
  if (!id.valid() || !queues_[id.index()].live) return Impact::none;
  Queue gone;
  gone.name = queues_[id.index()].name;
  queues_[id.index()] = std::move(gone);
  return Impact::decide;
}

std::int32_t Cluster::priority_of(const std::string& priority_class) const {
  if (auto found = priority_classes_.find(priority_class); found != priority_classes_.end())
    return found->second.value;
  for (const auto& [name, known] : priority_classes_)
    if (known.global_default) return known.value;
  return 0;
}

void Cluster::resolve_priorities() {
  gain_room();
  for (Job& job : jobs_)
    if (job.live && !job.implicit) job.priority = priority_of(job.priority_class);
}

Impact Cluster::put(const model::PriorityClass& object) {
  PriorityValue& known = priority_classes_[object.metadata.name];
  if (known.value == object.value && known.global_default == object.globalDefault)
    return Impact::none;
  known = {object.value, object.globalDefault};
  resolve_priorities();
  return Impact::decide;
}

Impact Cluster::remove(const model::PriorityClass& object) {
  if (priority_classes_.erase(object.metadata.name) == 0) return Impact::none;
  resolve_priorities();
  return Impact::decide;
}

// ---- jobs
// -------------------------------------------------------------------------------------------

JobId Cluster::intern_job(const std::string& ns, const std::string& name) {
  std::string key = join_key(ns, name);
  if (auto found = job_ids_.find(key); found != job_ids_.end()) return JobId(found->second);
  JobId id;
  if (free_jobs_.empty()) {
    id = JobId(jobs_.size());
    jobs_.emplace_back();
  } else {
    id = free_jobs_.back();
    free_jobs_.pop_back();
    jobs_[id.index()] = Job();
  }
  Job& job = jobs_[id.index()];
  job.ns = ns;
  job.name = name;
  job.live = true;
  job.queue = intern_queue(options_.default_queue);
  job.roles.push_back({names_.intern(""), 0, {}, 0});
  job_ids_.emplace(std::move(key), id.value);
  return id;
}

void Cluster::drop_job_if_unused(JobId id) {
  Job& job = jobs_[id.index()];
  if (job.has_group || !job.tasks.empty()) return;
  job_ids_.erase(join_key(job.ns, job.name));
  job = Job();
  free_jobs_.push_back(id);
}

std::uint16_t Cluster::intern_role(Job& job, NameId name) {
  for (std::size_t i = 0; i < job.roles.size(); ++i)
    if (job.roles[i].name == name) return static_cast<std::uint16_t>(i);
  CHECK(job.roles.size() < 0xffff, "a job has more than 65534 roles");
  job.roles.push_back({name, 0, {}, 0});
  return static_cast<std::uint16_t>(job.roles.size() - 1);
}

Impact Cluster::put(const model::PodGroup& object) {
  JobId id = intern_job(object.metadata.ns, object.metadata.name);
  Job& job = jobs_[id.index()];
  bool fresh = !job.has_group || job.uid != object.metadata.uid;
  std::int32_t min_before = job.min_available, role_min_before = job.role_min_total;
  QueueId queue_before = job.queue;
  Resources min_resources_before = job.min_resources;
  std::int32_t priority_before = job.priority;
  bool preemptable_before = job.preemptable;
  Phase phase_before = job.phase;
  auto annotations_before = job.annotations;
  if (fresh) {  // what is on its way was for a group that is gone
    job.status_writes = 0;
    job.status_unwritten = false;
  }
  set_group(id, object);
  bool reshaped = set_topology(id, object);
  if (fresh || job.status_writes == 0) {
    job.phase = phase_of(object.status.phase);
    job.conditions = conditions_of(object);
    job.running = object.status.running;
    job.succeeded = object.status.succeeded;
    job.failed = object.status.failed;
  }
  bool changed = fresh || job.min_available != min_before ||
                 job.role_min_total != role_min_before || job.queue != queue_before ||
                 !(job.min_resources == min_resources_before) || job.priority != priority_before ||
                 job.phase != phase_before || job.annotations != annotations_before || reshaped;
  if (!fresh && job.preemptable != preemptable_before) {
    gain_room();  // for whoever may take its place now
    changed = true;
  }
  if (changed) touch(id);
  return changed ? Impact::decide : Impact::none;
}

void Cluster::set_group(JobId id, const model::PodGroup& object) {
  const std::string& queue = object.spec.queue.empty() ? options_.default_queue : object.spec.queue;
  QueueId queue_id = intern_queue(queue);
  Job& job = jobs_[id.index()];
  job.has_group = true;
  job.uid = object.metadata.uid;
  job.created = object.metadata.creationTimestamp.at.value_or(WallTime{});
  job.queue = queue_id;
  job.min_available = object.spec.minMember;
  job.priority_class = object.spec.priorityClassName;
  job.priority = priority_of(job.priority_class);
  job.has_min_resources = object.spec.minResources.has_value();
  job.min_list = object.spec.minResources.value_or(model::ResourceList());
  job.min_resources = dimensions_.request(job.min_list, job.min_unknown);
  job.preemptable = object.metadata.annotation(model::keys::preemptable) == "true" ||
                    object.metadata.label(model::keys::preemptable) == "true";
  fill_start_terms(object, job);
  job.hyper_node = object.metadata.annotation("volcano.sh/job-allocated-hypernode");
  job.annotations.clear();
  for (const char* name : kGroupAnnotations)
    if (const std::string& value = object.metadata.annotation(name); !value.empty())
      job.annotations.emplace_back(name, value);
  for (Role& role : job.roles) role.min = 0;
  job.role_min_total = 0;
  for (const auto& [role, min] : object.spec.minTaskMember) {
    job.roles[intern_role(job, names_.intern(role))].min = min;
    job.role_min_total += min;
  }
}

Impact Cluster::remove(const model::PodGroup& object) {
  JobId id = find_job(object.metadata.ns, object.metadata.name);
  if (!id.valid()) return Impact::none;
  Job& job = jobs_[id.index()];
  if (!job.has_group || job.uid != object.metadata.uid) return Impact::none;
  job.has_group = false;
  job.phase = Phase::none;
  job.conditions.clear();
  job.event_digest = job.rejection_digest = 0;
  job.inqueue_since = job.started = job.short_since = job.half_since = {};
  job.lost.clear();
  gain_room();  // what was kept for it
  drop_job_if_unused(id);
  return Impact::decide;
}

}  // namespace hekla::scheduler
