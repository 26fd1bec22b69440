#include "scheduler/simulate/workload.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "json/codec.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::scheduler {

namespace {

const std::string kArrival = "hekla.io/arrival";
const std::string kDuration = "hekla.io/duration";
const std::string kEstimateKey = "hekla.io/running-estimate";
constexpr std::int64_t kMostJobs = 1'000'000, kMostPods = 1'000'000, kMostNodes = 1'000'000;

std::string plain_text(const json::Value& value) {
  return value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
}

Result<Nanos> duration_of(const json::Value& value, const std::string& what) {
  Result<Nanos> parsed = model::parse_go_duration(plain_text(value));
  if (!parsed || parsed->count() < 0)
    return fail(Code::invalid, what + ": \"" + plain_text(value) + "\" is not a duration like 90s");
  return *parsed;
}

// A duration, or [least, most] between which chance decides.
Result<Nanos> drawn_duration(const json::Value& value, const std::string& what, Rng& rng) {
  if (!value.is_array() || value.get_array().size() != 2) return duration_of(value, what);
  Nanos least = TRY(duration_of(value.get_array()[0], what));
  Nanos most = TRY(duration_of(value.get_array()[1], what));
  if (most <= least) return least;
  return least + Nanos(static_cast<std::int64_t>(
                     uniform(rng, static_cast<std::uint64_t>((most - least).count()))));
}

// A whole number within these bounds.
Result<std::int32_t> count_of(const json::Value& from, std::string_view member,
                              const std::string& where, std::int64_t otherwise, std::int64_t least,
                              std::int64_t most) {
  const json::Value* given = json::find(from, member);
  if (given == nullptr) return static_cast<std::int32_t>(otherwise);
  std::int64_t count = json::int_at(from, {member}, least - 1);
  if (count < least || count > most)
    return fail(Code::invalid, where + ": " + std::string(member) +
                                   " must be a whole number between " + std::to_string(least) +
                                   " and " + std::to_string(most) + ", not " + plain_text(*given));
  return static_cast<std::int32_t>(count);
}

json::Object resource_list(const json::Value& from) {
  json::Object list;
  for (std::string_view name : {"cpu", "memory", "pods"})
    if (const json::Value* amount = json::find(from, name)) list[name] = plain_text(*amount);
  if (const json::Object* others = json::object_at(from, {"resources"}))
    for (const auto& member : *others) list[member.key()] = plain_text(member.value());
  return list;
}

// A member of a shorthand that nobody reads is misspelt, or not to be had.
void note_unread(const json::Value& from, const std::string& list,
                 std::initializer_list<std::string_view> read, SimulationInput& out) {
  if (!from.is_object()) return;
  for (const auto& member : from.get_object())
    if (std::find(read.begin(), read.end(), std::string_view(member.key())) == read.end())
      out.ignored["member " + std::string(member.key()) + " of " + list].emplace_back(
          json::string_at(from, {"name"}));
}

std::map<std::string, std::string> text_members(const json::Value& from,
                                                std::initializer_list<std::string_view> path) {
  std::map<std::string, std::string> out;
  if (const json::Object* given = json::object_at(from, path))
    for (const auto& member : *given) out[std::string(member.key())] = plain_text(member.value());
  return out;
}

Result<void> add_node_shorthand(const json::Value& from, SimulationInput& out) {
  std::string name(json::string_at(from, {"name"}));
  if (name.empty()) return fail(Code::invalid, "nodes: an entry has no name");
  note_unread(from, "nodes",
              {"name", "count", "cpu", "memory", "pods", "resources", "labels", "taints"}, out);
  json::Object allocatable = resource_list(from);
  if (!allocatable.contains("pods")) allocatable["pods"] = "110";
  std::int64_t count = TRY(count_of(from, "count", "nodes: " + name, 0, 1, kMostNodes));
  for (std::int64_t i = 0; i < std::max<std::int64_t>(count, 1); ++i) {
    json::Object meta{{"name", count > 0 ? name + "-" + std::to_string(i) : name}};
    if (const json::Value* labels = json::find(from, "labels")) meta["labels"] = *labels;
    json::Object spec;
    if (const json::Value* taints = json::find(from, "taints")) spec["taints"] = *taints;
    json::Object node{
        {"metadata", std::move(meta)},
        {"spec", std::move(spec)},
        {"status", json::Object{{"allocatable", allocatable}, {"capacity", allocatable}}}};
    out.nodes.push_back(TRY(json::decode<model::Node>(json::Value(std::move(node)))));
  }
  return {};
}

Result<void> add_queue_shorthand(const json::Value& from, SimulationInput& out) {
  note_unread(from, "queues",
              {"name", "annotations", "weight", "priority", "reclaimable", "parent", "capability",
               "deserved", "guarantee", "dequeueStrategy"},
              out);
  json::Object meta{{"name", json::string_at(from, {"name"})}};
  if (const json::Value* given = json::find(from, "annotations")) meta["annotations"] = *given;
  json::Object spec{{"weight", 1}};
  for (std::string_view name :
       {"weight", "priority", "reclaimable", "parent", "capability", "deserved", "dequeueStrategy"})
    if (const json::Value* given = json::find(from, name)) spec[name] = *given;
  if (const json::Value* given = json::find(from, "guarantee"))
    spec["guarantee"] = json::Object{{"resource", *given}};
  json::Value queue = json::Object{{"metadata", std::move(meta)}, {"spec", std::move(spec)}};
  out.queues.push_back(TRY(json::decode<model::Queue>(queue)));
  return {};
}

// {name, count, at, every, random, duration, queue, pods, minAvailable, cpu, memory, resources,
// nodeSelector, tolerations, affinity, priorityClassName, estimate, networkTopology, labels and
// annotations (of group and pods)}
Result<void> add_job_shorthand(const json::Value& from, Rng& rng, Nanos otherwise,
                               SimulationInput& out) {
  std::string name(json::string_at(from, {"name"}));
  if (name.empty()) return fail(Code::invalid, "jobs: an entry has no name");
  const std::string where = "jobs: " + name;
  note_unread(from, "jobs", {"name",         "count",
                             "at",           "every",
                             "random",       "duration",
                             "queue",        "pods",
                             "minAvailable", "cpu",
                             "memory",       "resources",
                             "nodeSelector", "tolerations",
                             "affinity",     "priorityClassName",
                             "estimate",     "networkTopology",
                             "labels",       "annotations"},
              out);
  std::int64_t count = TRY(count_of(from, "count", where, 1, 1, kMostJobs));
  Nanos at{0}, every{0};
  if (const json::Value* given = json::find(from, "at"))
    at = TRY(duration_of(*given, where + ".at"));
  if (const json::Value* given = json::find(from, "every"))
    every = TRY(duration_of(*given, where + ".every"));
  bool random = json::bool_at(from, {"random"});
  SimulatedRole role;
  role.name = "task";
  role.replicas = TRY(count_of(from, "pods", where, 1, 1, kMostPods));
  std::int32_t least = TRY(count_of(from, "minAvailable", where, role.replicas, 0, role.replicas));
  role.labels = text_members(from, {"labels"});
  role.annotations = text_members(from, {"annotations"});
  json::Value spec = json::Object{
      {"containers",
       json::Array{json::Object{{"name", "c"},
                                {"image", "any"},
                                {"resources", json::Object{{"requests", resource_list(from)}}}}}}};
  for (std::string_view member : {"nodeSelector", "tolerations", "affinity"})
    if (const json::Value* given = json::find(from, member)) spec.as_object()[member] = *given;
  role.spec = TRY(json::decode<model::PodSpec>(spec));
  std::optional<model::NetworkTopologySpec> topology;
  if (const json::Value* given = json::find(from, "networkTopology"))
    topology = TRY(json::decode<model::NetworkTopologySpec>(*given));
  for (std::int64_t i = 0; i < count; ++i) {
    SimulatedJob job;
    job.name = count > 1 ? name + "-" + std::to_string(i) : name;
    if (std::string_view queue = json::string_at(from, {"queue"}); !queue.empty())
      job.queue = std::string(queue);
    job.priority_class = std::string(json::string_at(from, {"priorityClassName"}));
    job.arrival = at;
    job.duration = otherwise;
    if (const json::Value* given = json::find(from, "duration"))
      job.duration = TRY(drawn_duration(*given, where + ".duration", rng));
    job.roles = {role};
    job.min_available = least;
    job.annotations = role.annotations;
    job.labels = role.labels;
    job.topology = topology;
    if (const json::Value* estimate = json::find(from, "estimate"))
      job.annotations[kEstimateKey] = plain_text(*estimate);
    out.jobs.push_back(std::move(job));
    // Poisson arrivals have exponential gaps.
    double unit = (static_cast<double>(uniform(rng, 1u << 30)) + 1) / static_cast<double>(1u << 30);
    at +=
        random
            ? Nanos(static_cast<std::int64_t>(-std::log(unit) * static_cast<double>(every.count())))
            : every;
  }
  return {};
}

// What the job controller gives a task's pods of the job's own.
void hand_on(const model::VcJob& job, const model::TaskSpec& task, SimulatedRole& role) {
  if (role.spec.priorityClassName.empty()) role.spec.priorityClassName = job.spec.priorityClassName;
  if (!task.topologyPolicy.empty())
    role.annotations[model::keys::numa_topology_policy] = task.topologyPolicy;
  for (const std::string& key :
       {model::keys::preemptable, model::keys::cooldown_time, model::keys::revocable_zone,
        model::keys::jdb_min_available, model::keys::jdb_max_unavailable})
    if (const std::string& value = job.metadata.annotation(key); !value.empty())
      role.annotations[key] = value;
  for (const std::string& key : {model::keys::preemptable, model::keys::cooldown_time})
    if (const std::string& value = job.metadata.label(key); !value.empty())
      role.labels[key] = value;
}

// A pod that runs takes up its room from the beginning; one without a node is nobody's.
void add_pod(model::Pod pod, SimulationInput& out) {
  const std::string& phase = pod.status.phase;
  bool over = phase == "Succeeded" || phase == "Failed" || pod.metadata.deletionTimestamp;
  if (pod.spec.nodeName.empty() || over)
    out.ignored["Pod without a node or at its end"].push_back(pod.metadata.ns + "/" +
                                                              pod.metadata.name);
  else
    out.pods.push_back(std::move(pod));
}

Result<void> add_vcjob(const json::Value& object, Nanos otherwise, SimulationInput& out) {
  model::VcJob job = TRY(json::decode<model::VcJob>(object));
  SimulatedJob made;
  if (!job.metadata.ns.empty()) made.ns = job.metadata.ns;
  made.name = job.metadata.name;
  if (!job.spec.queue.empty()) made.queue = job.spec.queue;
  made.priority_class = job.spec.priorityClassName;
  made.annotations = job.metadata.annotations;
  made.labels = job.metadata.labels;
  made.topology = job.spec.networkTopology;
  if (!job.spec.runningEstimate.empty()) made.annotations[kEstimateKey] = job.spec.runningEstimate;
  const std::string where = "job " + made.ns + "/" + made.name;
  if (const std::string& text = job.metadata.annotation(kArrival); !text.empty())
    made.arrival = TRY(duration_of(json::Value(text), where + ": " + kArrival));
  else if (job.metadata.creationTimestamp.at)
    made.arrival = job.metadata.creationTimestamp.at->time_since_epoch();
  made.duration = otherwise;
  for (const std::string& text :
       {job.metadata.annotation(kDuration), job.status.runningDuration, job.spec.runningEstimate}) {
    if (text.empty()) continue;
    made.duration = TRY(duration_of(json::Value(text), where + ": its duration"));
    break;
  }
  std::int32_t replicas = 0;
  for (const model::TaskSpec& task : job.spec.tasks) {
    if (task.replicas < 0)
      return fail(Code::invalid, where + ": task " + task.name +
                                     ": replicas must not be negative, and is " +
                                     std::to_string(task.replicas));
    SimulatedRole role{task.name, task.replicas,       task.minAvailable, {}, {},
                       {},        task.partitionPolicy};
    if (const json::Value* spec = json::find(task.podTemplate, "spec")) {
      Result<model::PodSpec> decoded = json::decode<model::PodSpec>(*spec);
      if (!decoded)
        return fail(Code::invalid, where + ": task " + task.name + ": " + decoded.error().message);
      role.spec = std::move(*decoded);
    }
    role.labels = text_members(task.podTemplate, {"metadata", "labels"});
    role.annotations = text_members(task.podTemplate, {"metadata", "annotations"});
    hand_on(job, task, role);
    made.roles.push_back(std::move(role));
    replicas += task.replicas;
  }
  if (!job.spec.volumes.empty())
    out.ignored["spec.volumes of jobs"].push_back(made.ns + "/" + made.name);
  made.min_available = job.spec.minAvailable > 0 ? job.spec.minAvailable : replicas;
  out.jobs.push_back(std::move(made));
  return {};
}

Result<void> add_simulation_object(const json::Value& object, Nanos otherwise,
                                   SimulationInput& out) {
  std::string_view kind = json::string_at(object, {"kind"});
  if (kind == "Node") {
    out.nodes.push_back(TRY(json::decode<model::Node>(object)));
  } else if (kind == "Queue") {
    out.queues.push_back(TRY(json::decode<model::Queue>(object)));
    out.queues.back().status = {};
  } else if (kind == "PriorityClass") {
    out.priority_classes.push_back(TRY(json::decode<model::PriorityClass>(object)));
  } else if (kind == "Pod") {
    add_pod(TRY(json::decode<model::Pod>(object)), out);
  } else if (kind == "PodGroup") {
    out.groups.push_back(TRY(json::decode<model::PodGroup>(object)));
  } else if (std::optional<CompanionKind> companion = companion_kind(kind)) {
    out.companions.emplace_back(*companion, TRY(json::decode<Companion>(object)));
  } else if (kind == "Job" &&
             json::string_at(object, {"apiVersion"}).starts_with("batch.volcano.sh/")) {
    return add_vcjob(object, otherwise, out);
  } else {
    std::string ns(json::string_at(object, {"metadata", "namespace"}));
    out.ignored[std::string(kind)].push_back(
        (ns.empty() ? "" : ns + "/") + std::string(json::string_at(object, {"metadata", "name"})));
  }
  return {};
}

}  // namespace

Result<void> read_simulation_file(std::string_view text, Rng& rng, Nanos otherwise,
                                  SimulationInput& out) {
  for (const json::YamlDocument& document : TRY(json::parse_yaml(text))) {
    const json::Value& value = document.value;
    if (!value.is_object()) continue;
    if (!json::string_at(value, {"kind"}).empty()) {
      const json::Array* items = json::array_at(value, {"items"});
      if (items == nullptr) TRY(add_simulation_object(value, otherwise, out));
      for (std::size_t i = 0; items != nullptr && i < items->size(); ++i)
        TRY(add_simulation_object((*items)[i], otherwise, out));
      continue;
    }
    for (const auto& member : value.get_object()) {
      std::string key(member.key());
      if (!member.value().is_array() || (key != "nodes" && key != "queues" && key != "jobs"))
        return fail(Code::invalid, "line " + std::to_string(document.line) + ": \"" + key +
                                       "\" is neither a list of nodes, queues or jobs nor a "
                                       "member of a Kubernetes object");
      for (const json::Value& one : member.value().get_array()) {
        if (key == "nodes") TRY(add_node_shorthand(one, out));
        if (key == "queues") TRY(add_queue_shorthand(one, out));
        if (key == "jobs") TRY(add_job_shorthand(one, rng, otherwise, out));
      }
    }
  }
  return {};
}

namespace {

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    list.append(i == 0 ? "" : ", ").append(names[i].empty() ? "?" : names[i]);
  if (names.size() > kNamed) list += " and " + std::to_string(names.size() - kNamed) + " more";
  return list;
}

}  // namespace

std::vector<std::string> SimulationInput::warnings() const {
  std::vector<std::string> out;
  for (const auto& [what, names] : ignored)
    out.push_back(what + " has no part in the simulation: " + listed(names));
  std::set<std::string> known{"default"};
  for (const model::Queue& queue : queues) known.insert(queue.metadata.name);
  std::map<std::string, std::vector<std::string>> homeless;
  for (const SimulatedJob& job : jobs)
    if (!known.contains(job.queue)) homeless[job.queue].push_back(job.ns + "/" + job.name);
  for (const auto& [queue, names] : homeless)
    out.push_back("queue " + queue +
                  " is not among the queues given: it is simulated with weight 1 and without "
                  "limits, where a cluster would refuse " +
                  listed(names));
  return out;
}

namespace {

// Jobs are simulated from the beginning: what they had at the time of the recording does not run
// beside that.
void drop_past_of_jobs(SimulationInput& input) {
  std::set<std::string> jobs;
  for (const SimulatedJob& job : input.jobs) jobs.insert(job.ns + "/" + job.name);
  auto owned = [&](const model::ObjectMeta& meta) {
    for (const model::OwnerReference& owner : meta.ownerReferences)
      if (owner.kind == "Job" && jobs.contains(meta.ns + "/" + owner.name)) return true;
    return jobs.contains(meta.ns + "/" + meta.annotation(model::keys::job_name));
  };
  std::erase_if(input.pods, [&](const model::Pod& pod) { return owned(pod.metadata); });
  std::set<std::string> used;
  for (const model::Pod& pod : input.pods)
    used.insert(pod.metadata.ns + "/" + pod.metadata.annotation(model::keys::group_name));
  std::erase_if(input.groups, [&](const model::PodGroup& group) {
    return owned(group.metadata) || !used.contains(group.metadata.ns + "/" + group.metadata.name);
  });
}

}  // namespace

void settle_arrivals(SimulationInput& input) {
  // A cluster has one of a name; a file that is given twice has everything twice.
  std::set<std::string> names;
  std::erase_if(input.jobs, [&](const SimulatedJob& job) {
    if (names.insert(job.ns + "/" + job.name).second) return false;
    input.ignored["a second job of the same name"].push_back(job.ns + "/" + job.name);
    return true;
  });
  drop_past_of_jobs(input);
  std::stable_sort(
      input.jobs.begin(), input.jobs.end(),
      [](const SimulatedJob& a, const SimulatedJob& b) { return a.arrival < b.arrival; });
  // Years since 1970: these are creation times of recorded objects.
  constexpr Nanos kWallTime = std::chrono::hours(24 * 365 * 10);
  if (input.jobs.empty() || input.jobs.front().arrival < kWallTime) return;
  Nanos first = input.jobs.front().arrival;
  for (SimulatedJob& job : input.jobs) job.arrival -= first;
}

}  // namespace hekla::scheduler
