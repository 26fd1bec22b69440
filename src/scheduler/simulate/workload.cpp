#include "scheduler/simulate/workload.h"

#include <algorithm>
#include <cmath>

#include "json/codec.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::scheduler {

namespace {

const std::string kArrival = "hekla.io/arrival";
const std::string kDuration = "hekla.io/duration";
const std::string kEstimateKey = "hekla.io/running-estimate";
constexpr std::int64_t kMostJobs = 1'000'000;

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

json::Object resource_list(const json::Value& from) {
  json::Object list;
  for (std::string_view name : {"cpu", "memory", "pods"})
    if (const json::Value* amount = json::find(from, name)) list[name] = plain_text(*amount);
  if (const json::Object* others = json::object_at(from, {"resources"}))
    for (const auto& member : *others) list[member.key()] = plain_text(member.value());
  return list;
}

Result<void> add_node_shorthand(const json::Value& from, SimulationInput& out) {
  std::string name(json::string_at(from, {"name"}));
  if (name.empty()) return fail(Code::invalid, "nodes: an entry has no name");
  json::Object allocatable = resource_list(from);
  if (!allocatable.contains("pods")) allocatable["pods"] = "110";
  std::int64_t count = json::int_at(from, {"count"}, 0);
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
// priorityClassName, estimate, annotations}
Result<void> add_job_shorthand(const json::Value& from, Rng& rng, Nanos otherwise,
                               SimulationInput& out) {
  std::string name(json::string_at(from, {"name"}));
  if (name.empty()) return fail(Code::invalid, "jobs: an entry has no name");
  const std::string where = "jobs: " + name;
  std::int64_t count = json::int_at(from, {"count"}, 1);
  if (count < 1 || count > kMostJobs)
    return fail(Code::invalid, where + ": count must be between 1 and 1000000");
  Nanos at{0}, every{0};
  if (const json::Value* given = json::find(from, "at"))
    at = TRY(duration_of(*given, where + ".at"));
  if (const json::Value* given = json::find(from, "every"))
    every = TRY(duration_of(*given, where + ".every"));
  bool random = json::bool_at(from, {"random"});
  SimulatedRole role{"task", static_cast<std::int32_t>(json::int_at(from, {"pods"}, 1)), {}, {}};
  role.pod_spec = json::Object{
      {"containers",
       json::Array{json::Object{{"name", "c"},
                                {"image", "any"},
                                {"resources", json::Object{{"requests", resource_list(from)}}}}}}};
  for (std::string_view member : {"nodeSelector", "tolerations", "affinity"})
    if (const json::Value* given = json::find(from, member))
      role.pod_spec.as_object()[member] = *given;
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
    job.min_available =
        static_cast<std::int32_t>(json::int_at(from, {"minAvailable"}, role.replicas));
    if (const json::Object* given = json::object_at(from, {"annotations"}))
      for (const auto& member : *given)
        job.annotations[std::string(member.key())] = plain_text(member.value());
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

Result<void> add_vcjob(const json::Value& object, Nanos otherwise, SimulationInput& out) {
  model::VcJob job = TRY(json::decode<model::VcJob>(object));
  SimulatedJob made;
  if (!job.metadata.ns.empty()) made.ns = job.metadata.ns;
  made.name = job.metadata.name;
  if (!job.spec.queue.empty()) made.queue = job.spec.queue;
  made.priority_class = job.spec.priorityClassName;
  made.annotations = job.metadata.annotations;
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
    const json::Value* spec = json::find(task.podTemplate, "spec");
    made.roles.push_back({task.name, task.replicas, task.minAvailable,
                          spec != nullptr ? *spec : json::Value(json::Object{})});
    replicas += task.replicas;
  }
  made.min_available = job.spec.minAvailable > 0 ? job.spec.minAvailable : replicas;
  out.jobs.push_back(std::move(made));
  return {};
}

Result<void> add_simulation_object(const json::Value& object, Nanos otherwise,
                                   SimulationInput& out) {
  std::string_view kind = json::string_at(object, {"kind"});
  if (kind == "Node") out.nodes.push_back(TRY(json::decode<model::Node>(object)));
  if (kind == "Queue") {
    out.queues.push_back(TRY(json::decode<model::Queue>(object)));
    out.queues.back().status = {};
  }
  if (kind == "PriorityClass")
    out.priority_classes.push_back(TRY(json::decode<model::PriorityClass>(object)));
  if (std::optional<CompanionKind> companion = companion_kind(kind))
    out.companions.emplace_back(*companion, TRY(json::decode<Companion>(object)));
  bool vcjob = kind == "Job" && json::string_at(object, {"apiVersion"}).starts_with("batch.volcano.sh/");
  if (vcjob) return add_vcjob(object, otherwise, out);
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

void settle_arrivals(SimulationInput& input) {
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
