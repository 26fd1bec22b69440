#include "cli/status/overview.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "cli/cluster.h"
#include "model/in_process.h"
#include "model/time.h"
#include "model/volcano.h"

namespace hekla::cli {
namespace {

namespace resources = kube::resources;
using model::ResourceList;

// Where a pod's job is found: by the pod's owner, or by the label that its job's kind gives.
class JobIndex {
 public:
  explicit JobIndex(std::vector<JobRef> jobs) : jobs_(std::move(jobs)) {
    for (std::size_t i = 0; i < jobs_.size(); ++i) by_uid_[jobs_[i].uid] = i;
  }
  std::optional<std::size_t> job_of(const model::ObjectMeta& pod) const {
    for (const model::OwnerReference& owner : pod.ownerReferences)
      if (auto found = by_uid_.find(owner.uid); found != by_uid_.end()) return found->second;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (!jobs_[i].kind->pod_label.empty() && is_pod_of(jobs_[i], pod)) return i;
    return std::nullopt;
  }

 private:
  std::vector<JobRef> jobs_;
  std::map<std::string, std::size_t> by_uid_;
};

NodeRow node_row(const model::Node& node) {
  NodeRow row{.name = node.metadata.name,
              .cordoned = node.spec.unschedulable,
              .allocatable = node.status.allocatable,
              .requested = {}};
  for (const json::Value& condition : node.status.conditions)
    if (json::string_at(condition, {"type"}) == "Ready")
      row.ready = json::string_at(condition, {"status"}) == "True";
  return row;
}

QueueRow queue_row(const model::Queue& queue) {
  return {.name = queue.metadata.name,
          .parent = queue.spec.parent,
          .state = queue.status.state,
          .weight = queue.spec.weight,
          .running = 0,
          .waiting = 0,
          .allocated = queue.status.allocated,
          .capability = queue.spec.capability,
          .deserved = queue.spec.deserved};
}

// A job that another job has made is not told beside it.
bool is_made_by_a_job(const json::Value& object) {
  const json::Array* owners = json::array_at(object, {"metadata", "ownerReferences"});
  for (std::size_t i = 0; owners && i < owners->size(); ++i)
    if (json::bool_at((*owners)[i], {"controller"}) && job_kind((*owners)[i])) return true;
  return false;
}

struct Group {
  std::string queue, phase;
};

class Reading {
 public:
  explicit Reading(ApiSession& session) : session_(session) {}

  Result<Overview> read() {
    for (const json::Value& node : TRY(list_objects(session_, resources::nodes, true)))
      out_.nodes.push_back(node_row(TRY(json::decode<model::Node>(node))));
    std::ranges::sort(out_.nodes, {}, &NodeRow::name);
    for (const json::Value& queue : TRY(list_objects(session_, resources::queues, true)))
      out_.queues.push_back(queue_row(TRY(json::decode<model::Queue>(queue))));
    std::ranges::sort(out_.queues, {}, &QueueRow::name);
    TRY(read_groups());
    TRY(read_jobs());
    TRY(read_pods());
    std::ranges::stable_sort(out_.jobs, std::ranges::greater(), &JobRow::created);
    return std::move(out_);
  }

 private:
  Result<void> read_groups() {
    for (const json::Value& object : TRY(list_objects(session_, resources::pod_groups, true))) {
      const model::PodGroup group = TRY(json::decode<model::PodGroup>(object));
      for (const model::OwnerReference& owner : group.metadata.ownerReferences)
        groups_[owner.uid] = {group.spec.queue, group.status.phase};
      auto queue = std::ranges::find(out_.queues, group.spec.queue, &QueueRow::name);
      if (queue == out_.queues.end()) continue;
      if (group.status.phase == "Running") ++queue->running;
      if (group.status.phase == "Pending" || group.status.phase == "Inqueue") ++queue->waiting;
    }
    return {};
  }

  Result<void> read_jobs() {
    for (const JobKind& kind : job_kinds())
      for (const json::Value& object : TRY(list_objects(session_, *kind.resource, true))) {
        if (is_made_by_a_job(object)) continue;
        const JobState state = state_of(kind, object);
        const JobRef ref = job_ref(kind, object);
        JobRow row{.kind = std::string(kind.title),
                   .ns = ref.key.ns,
                   .name = ref.key.name,
                   .queue = {},
                   .state = state.word.empty() ? "Pending" : state.word,
                   .created = json::text_at(object, {"metadata", "creationTimestamp"}),
                   .ended = state.ended,
                   .succeeded = state.succeeded,
                   .replicas = ref.replicas,
                   .requested = {}};
        if (auto group = groups_.find(ref.uid); group != groups_.end())
          row.queue = group->second.queue;
        if (row.queue.empty()) row.queue = json::text_at(object, {"spec", "queue"});
        out_.jobs.push_back(std::move(row));
        jobs_.push_back(ref);
      }
    return {};
  }

  Result<void> read_pods() {
    const JobIndex index(std::move(jobs_));
    for (const json::Value& object : TRY(list_objects(session_, resources::pods, true))) {
      const model::Pod pod = TRY(json::decode<model::Pod>(object));
      if (!pod.metadata.annotation(model::kInProcess).empty()) continue;
      const std::string& phase = pod.status.phase;
      ++out_.pods[phase];
      if (phase == "Succeeded" || phase == "Failed") continue;
      const ResourceList wants = model::pod_requests(pod);
      auto node = std::ranges::find(out_.nodes, pod.spec.nodeName, &NodeRow::name);
      if (node != out_.nodes.end()) {
        ++node->pods;
        model::add(node->requested, wants);
      }
      const std::optional<std::size_t> job = index.job_of(pod.metadata);
      if (!job) continue;
      JobRow& row = out_.jobs[*job];
      ++(phase == "Running" ? row.running : row.pending);
      model::add(row.requested, wants);
    }
    return {};
  }

  ApiSession& session_;
  Overview out_;
  std::vector<JobRef> jobs_;
  std::map<std::string, Group> groups_;  // by the uid of their owner
};

json::Value amounts(const ResourceList& list) {
  json::Object out;
  for (const auto& [name, amount] : list) out[name] = amount.text();
  return out;
}

std::string counted(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [word, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + lowered(word);
  return text.empty() ? "none" : text;
}

model::Quantity amount_of(const ResourceList& list, const std::string& name) {
  auto found = list.find(name);
  return found == list.end() ? model::Quantity() : found->second;
}

}  // namespace

ResourceList Overview::allocatable() const {
  ResourceList sum;
  for (const NodeRow& node : nodes)
    if (node.ready) model::add(sum, node.allocatable);
  return sum;
}

ResourceList Overview::requested() const {
  ResourceList sum;
  for (const NodeRow& node : nodes) model::add(sum, node.requested);
  return sum;
}

Result<Overview> read_overview(ApiSession& session) { return Reading(session).read(); }

std::string short_amount(const std::string& resource, const model::Quantity& amount) {
  const double whole = static_cast<double>(amount.nanos) / 1e9;
  const bool bytes = resource == "memory" || resource.ends_with("storage");
  char text[32];
  if (!bytes) {
    std::snprintf(text, sizeof text, whole == std::floor(whole) ? "%.0f" : "%.3g", whole);
    return text;
  }
  static constexpr std::array kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  double scaled = whole;
  std::size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  std::snprintf(text, sizeof text, scaled >= 100 || scaled == std::floor(scaled) ? "%.0f" : "%.1f",
                scaled);
  return std::string(text) + kUnits[unit];
}

std::vector<std::pair<std::string, std::string>> overview_lines(const Overview& overview) {
  std::map<std::string, int> jobs;
  int ready = 0;
  for (const JobRow& job : overview.jobs) ++jobs[job.state];
  for (const NodeRow& node : overview.nodes) ready += node.ready ? 1 : 0;
  std::string nodes = std::to_string(ready) + " ready";
  if (const auto rest = static_cast<int>(overview.nodes.size()) - ready; rest > 0)
    nodes += ", " + std::to_string(rest) + " not ready";
  if (overview.nodes.size() == 1) nodes += ": " + overview.nodes[0].name;
  const ResourceList has = overview.allocatable(), used = overview.requested();
  for (const char* name : {"cpu", "memory", "nvidia.com/gpu"})
    if (auto whole = has.find(name); whole != has.end() && !whole->second.is_zero())
      nodes += std::string("; ") + short_amount(name, amount_of(used, name)) + " of " +
               short_amount(name, whole->second) + " " + name;
  std::string queues;
  for (const QueueRow& queue : overview.queues) {
    if (queue.name == "root") continue;
    queues += (queues.empty() ? "" : ", ") + queue.name;
    if (queue.running + queue.waiting > 0)
      queues += " (" + std::to_string(queue.running) + " running, " +
                std::to_string(queue.waiting) + " waiting)";
  }
  return {{"nodes", nodes},
          {"pods", counted(overview.pods)},
          {"jobs", counted(jobs)},
          {"queues", queues.empty() ? "none" : queues}};
}

json::Value to_json(const Overview& overview, const TopChoice& choice) {
  json::Object out;
  json::Array nodes, queues, jobs;
  for (const NodeRow& node : overview.nodes)
    nodes.push_back(json::Object{{"name", node.name},
                                 {"ready", node.ready},
                                 {"cordoned", node.cordoned},
                                 {"pods", node.pods},
                                 {"allocatable", amounts(node.allocatable)},
                                 {"requested", amounts(node.requested)}});
  for (const QueueRow& queue : overview.queues)
    queues.push_back(json::Object{{"name", queue.name},
                                  {"parent", queue.parent},
                                  {"state", queue.state},
                                  {"weight", queue.weight},
                                  {"running", queue.running},
                                  {"waiting", queue.waiting},
                                  {"allocated", amounts(queue.allocated)},
                                  {"capability", amounts(queue.capability)},
                                  {"deserved", amounts(queue.deserved)}});
  for (const JobRow& job : overview.jobs) {
    if ((job.ended && !choice.ended) || (!choice.ns.empty() && job.ns != choice.ns)) continue;
    jobs.push_back(json::Object{{"kind", job.kind},
                                {"namespace", job.ns},
                                {"name", job.name},
                                {"queue", job.queue},
                                {"state", job.state},
                                {"replicas", job.replicas},
                                {"running", job.running},
                                {"pending", job.pending},
                                {"requested", amounts(job.requested)},
                                {"created", job.created}});
  }
  if (choice.nodes) out["nodes"] = std::move(nodes);
  if (choice.queues) out["queues"] = std::move(queues);
  if (choice.jobs) out["jobs"] = std::move(jobs);
  json::Object pods;
  for (const auto& [phase, count] : overview.pods) pods[phase] = count;
  out["pods"] = std::move(pods);
  return out;
}

}  // namespace hekla::cli
