#include "scheduler/explain/inquiry.h"

#include <algorithm>
#include <map>

namespace hekla::scheduler {

namespace {

class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(WallTime now) : now_(now) {}
  WallTime wall() const override { return now_; }
  MonoTime mono() const override { return MonoTime{}; }

 private:
  WallTime now_;
};

ClusterOptions usual_names() {
  return {{"volcano", "default-scheduler", "hekla"}, {"default-scheduler", "hekla"}, "default"};
}

std::string plural(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string full_name(const Job& job) { return job.ns + "/" + job.name; }

}  // namespace

Inquiry::Inquiry() : cluster_(usual_names()), session_(cluster_) {}
Inquiry::~Inquiry() = default;

Result<std::unique_ptr<Inquiry>> Inquiry::open(const World& world) {
  auto made = std::make_unique<Inquiry>();
  made->session_.configure(TRY(parse_configuration(
      world.configuration.empty() ? helm_default_configuration() : world.configuration)));
  made->session_.collect_gauges(true);
  Cluster& cluster = made->cluster_;
  for (const model::PriorityClass& one : world.priority_classes) cluster.put(one);
  for (const auto& [kind, one] : world.companions) cluster.put(kind, one);
  for (const model::Node& one : world.nodes) cluster.put(one);
  for (const model::Queue& one : world.queues) cluster.put(one);
  for (const model::PodGroup& one : world.groups) cluster.put(one);
  for (const model::Pod& one : world.pods) cluster.put(one);
  for (const Job& job : cluster.jobs())
    made->before_.push_back({job.is_ready() && !job.tasks.empty(), job.ready(), job.phase});
  made->clock_ = std::make_unique<StoppedClock>(world.now);
  made->decisions_ = made->session_.run(*made->clock_, "explain");
  return made;
}

std::string Inquiry::amount(const Resources& of, Dim dim) const {
  return cluster_.dimensions().quantity(dim, of[dim]).text() + " " +
         cluster_.dimensions().name(dim);
}

std::string Inquiry::amounts(const Resources& of) const {
  std::string out;
  each_dim(of.present & ~(1u << kPods), [&](Dim d) {
    if (of[d] > 0) out.append(out.empty() ? "" : ", ").append(amount(of, d));
  });
  return out.empty() ? "nothing" : out;
}

double Inquiry::gauge(std::string_view name, const std::string& queue) const {
  for (const GaugeDecision& one : decisions_.gauges)
    if (one.name == name && one.queue == queue) return one.value;
  return -1;
}

std::vector<TaskId> Inquiry::missing(JobId id) const {
  const Job& job = cluster_.at(id);
  std::vector<TaskId> tasks;
  for (TaskId task : job.tasks) {
    const Task& one = cluster_.at(task);
    if (one.status == TaskStatus::pending && !one.gated && one.ours) tasks.push_back(task);
  }
  std::sort(tasks.begin(), tasks.end(),
            [&](TaskId a, TaskId b) { return session_.task_before(a, b); });
  auto wanted = static_cast<std::size_t>(std::max(job.min_available - job.ready(), 1));
  if (tasks.size() > wanted) tasks.resize(wanted);
  return tasks;
}

std::vector<Finding> Inquiry::why_waiting(JobId id) {
  std::vector<Finding> out;
  const Job& job = cluster_.at(id);
  std::size_t bound = 0;
  for (const BindDecision& bind : decisions_.binds) bound += cluster_.at(bind.task).job == id;
  if (bound > 0) {
    out.push_back({"placeable",
                   "there is room for " + plural(bound, "pod") +
                       " of it right now: the scheduler places it in its next session",
                   "",
                   {}});
    return out;
  }
  add_queue_findings(id, out);
  if (!cluster_.at(job.queue).live) return out;
  if (const std::string* refused = session_.job_error(id))
    out.push_back(
        {refused->find("fifo") != std::string::npos ? "behind-fifo-head" : "queue-job-limit",
         "it is not tried: " + *refused,
         refused->find("fifo") != std::string::npos
             ? "the job ahead must start first; hekla explain shows what it waits for"
             : "a job of the queue must end",
         {}});
  add_admission_findings(id, out);
  std::size_t gated = 0;
  for (TaskId task : job.tasks) gated += cluster_.at(task).gated;
  if (gated > 0)
    out.push_back({"gated",
                   plural(gated, "pod") + " of it have scheduling gates and are left alone",
                   "whoever set the gates must remove them",
                   {}});
  std::vector<TaskId> tasks = missing(id);
  if (tasks.empty()) return out;
  add_share_findings(id, tasks, out);
  add_node_findings(id, tasks, out);
  add_room_findings(id, tasks, out);
  return out;
}

void Inquiry::add_queue_findings(JobId id, std::vector<Finding>& out) {
  const Job& job = cluster_.at(id);
  const Queue& queue = cluster_.at(job.queue);
  if (!queue.live) {
    out.push_back({"queue-missing",
                   "its queue " + queue.name + " does not exist, so the scheduler leaves it out",
                   "create the queue or name another one",
                   {{"queue", queue.name}}});
    return;
  }
  if (!queue.open)
    out.push_back({"queue-closed",
                   "its queue " + queue.name + " is not open: nothing new is let in or placed",
                   "open the queue",
                   {{"queue", queue.name}}});
}

// Groups wait outside until the plugins of enqueue let them in.
void Inquiry::add_admission_findings(JobId id, std::vector<Finding>& out) {
  const Job& job = cluster_.at(id);
  if (!job.is_pending() || !cluster_.at(job.queue).open) return;
  for (const EventDecision& event : decisions_.events) {
    if (event.job != id || event.task.valid() || event.warning) continue;
    Finding finding{"not-let-in", "it is not let in: " + event.message, "", {}};
    finding.facts["minResources"] = amounts(job.min_resources);
    const Queue& queue = cluster_.at(job.queue);
    Resources lacking = excess(job.min_resources, cluster_.total());
    Resources unknown;
    each_dim(lacking.present, [&](Dim d) {
      if (cluster_.live_nodes() > 0 && cluster_.total()[d] == 0) unknown.set(d, lacking[d]);
    });
    if (!unknown.is_empty()) {
      std::string names;
      each_dim(unknown.present, [&](Dim d) {
        if (unknown[d] == 0) return;
        names.append(names.empty() ? "" : ", ").append(cluster_.dimensions().name(d));
      });
      finding.code = "missing-resource";
      finding.text +=
          "; no node offers " + names + ", and its pods together ask for " + amounts(unknown);
      finding.facts["resource"] = names;
      finding.advice = "add nodes with " + names + ", or do not ask for it";
    } else if (!lacking.is_empty()) {
      finding.code = "gang-too-big";
      finding.text += "; it needs " + amounts(job.min_resources) + " for " +
                      plural(static_cast<std::size_t>(job.min_available), "pod") +
                      " at once, and all nodes together have " + amounts(cluster_.total()) + ": " +
                      amounts(lacking) + " short even when nothing else runs";
      finding.facts["short"] = amounts(lacking);
      finding.advice = "lower minAvailable or the requests, or add nodes";
    } else if (event.message.starts_with("queue")) {
      finding.code = "queue-over-capability";
      Resources held;
      for (const Job& other : cluster_.jobs())
        if (other.live && other.queue == job.queue) held += other.claimed;
      Resources wanted = held;
      wanted += job.min_resources;
      Resources limit = queue.has_capability ? queue.capability : cluster_.total();
      Resources over;
      each_dim(job.min_resources.present & ~(1u << kPods), [&](Dim d) {
        if (job.min_resources[d] > 0 && limit.has(d) && wanted[d] > limit[d])
          over.set(d, wanted[d] - limit[d]);
      });
      finding.text += "; queue " + queue.name + " may hold " + amounts(limit) + ", holds " +
                      amounts(held) + ", and this group needs " + amounts(job.min_resources) +
                      ": " + amounts(over) + " too much";
      finding.facts["short"] = amounts(over);
      finding.advice = "raise the queue's capability, or wait until jobs of the queue end";
    } else if (event.message.starts_with("resource in cluster")) {
      finding.code = "cluster-full";
      Resources used;
      for (const Node& node : cluster_.nodes())
        if (node.live) used += node.used;
      finding.text += "; the cluster has " + amounts(cluster_.total()) + ", " + amounts(used) +
                      " of it in use, and this group needs " + amounts(job.min_resources);
      finding.advice = "wait until other jobs end, or add nodes";
    }
    out.push_back(std::move(finding));
  }
}

void Inquiry::add_share_findings(JobId id, const std::vector<TaskId>& tasks,
                                 std::vector<Finding>& out) {
  const Job& job = cluster_.at(id);
  const Queue& queue = cluster_.at(job.queue);
  if (!queue.open || (!session_.overused(job.queue) && session_.allocatable(job.queue, tasks[0])))
    return;
  Resources held;
  for (const Job& other : cluster_.jobs())
    if (other.live && other.queue == job.queue) held += other.claimed;
  std::string text = "its queue " + queue.name + " holds " + amounts(held);
  double cpu = gauge("volcano_queue_deserved_milli_cpu", queue.name);
  double memory = gauge("volcano_queue_deserved_memory_bytes", queue.name);
  if (cpu >= 0) {
    Resources deserved;
    deserved.set(kCpu, static_cast<std::int64_t>(cpu));
    deserved.set(kMemory, static_cast<std::int64_t>(memory));
    text += " and deserves " + amounts(deserved) + " by its weight " +
            std::to_string(queue.weight) + " among the queues that have jobs";
  }
  Resources request = cluster_.class_of(cluster_.at(tasks[0])).request;
  out.push_back({"queue-share",
                 text + ": a pod with " + amounts(request) + " would exceed that",
                 "jobs of the queue must end, or the queue needs more weight or capability",
                 {{"queue", queue.name}, {"allocated", amounts(held)}}});
}

void Inquiry::add_node_findings(JobId, const std::vector<TaskId>& tasks,
                                std::vector<Finding>& out) {
  std::map<std::uint32_t, std::size_t> classes;
  for (TaskId task : tasks) ++classes[cluster_.at(task).pod_class.value];
  for (const auto& [value, count] : classes) {
    ClassId pods(value);
    const PodClass& kind = cluster_.at(pods);
    Resources largest;
    for (const Node& node : cluster_.nodes())
      if (node.live)
        each_dim(node.shape.allocatable.present,
                 [&](Dim d) { largest.set(d, std::max(largest[d], node.shape.allocatable[d])); });
    if (cluster_.live_nodes() == 0)
      out.push_back({"no-nodes", "the cluster has no nodes", "add nodes", {}});
    each_dim(kind.request.present & ~(1u << kPods), [&](Dim d) {
      if (kind.request[d] <= largest[d] || cluster_.live_nodes() == 0) return;
      const std::string& name = cluster_.dimensions().name(d);
      if (largest[d] == 0)
        out.push_back(
            {"missing-resource",
             "no node offers " + name + ", and each pod asks for " + amount(kind.request, d),
             "add nodes with " + name + ", or do not ask for it",
             {{"resource", name}}});
      else
        out.push_back({"pod-too-big",
                       "a pod asks for " + amount(kind.request, d) +
                           ", more than the largest node has (" + amount(largest, d) + ")",
                       "ask for less per pod",
                       {{"resource", name}}});
    });
    for (const Session::Refusal& refusal : session_.refusals(pods)) {
      std::string code = refusal.reason.find("taint") != std::string::npos      ? "taints"
                         : refusal.reason.find("affinity") != std::string::npos ? "affinity"
                                                                                : "nodes-refused";
      out.push_back(
          {code,
           plural(refusal.nodes, "node") + " of " + std::to_string(cluster_.live_nodes()) +
               " refused by plugin " + refusal.plugin + " for " + plural(count, "pod") + ": " +
               refusal.reason,
           code == "taints"     ? "tolerate the taint or remove it from the nodes"
           : code == "affinity" ? "label nodes to match, or relax the pod's rules"
                                : "",
           {{"plugin", refusal.plugin}, {"reason", refusal.reason}, {"nodes", refusal.nodes}}});
    }
  }
}

void Inquiry::add_room_findings(JobId id, const std::vector<TaskId>& tasks,
                                std::vector<Finding>& out) {
  std::vector<Resources> idle, empty;
  Resources need, free;
  std::vector<bool> admits = session_.admitting_nodes(cluster_.at(tasks[0]).pod_class);
  for (std::size_t i = 0; i < cluster_.nodes().size(); ++i) {
    const Node& node = cluster_.nodes()[i];
    idle.push_back(node.idle);
    empty.push_back(node.shape.allocatable);
    if (node.live && admits[i]) free += node.idle;
  }
  for (TaskId task : tasks) need += cluster_.class_of(cluster_.at(task)).request;
  if (session_.pack(tasks, idle)) return;
  if (std::none_of(admits.begin(), admits.end(), [](bool one) { return one; })) return;
  std::string gang = plural(tasks.size(), "pod") + " at once";
  Resources lacking = excess(need, free);
  bool enough_in_sum = lacking.is_empty();
  Finding room{
      "not-enough-room",
      "it needs " + amounts(need) + " for " + gang + "; the nodes that would take it have " +
          amounts(free) + " free" +
          (enough_in_sum ? ", but not in pieces large enough" : ": " + amounts(lacking) + " short"),
      "",
      {{"needs", amounts(need)}, {"free", amounts(free)}, {"short", amounts(lacking)}}};
  if (!session_.pack(tasks, empty)) {
    room.code = "gang-too-big";
    room.text += "; even an empty cluster has no room for it";
    room.advice = "lower minAvailable or the requests, or add nodes";
    out.push_back(std::move(room));
    return;
  }
  if (std::optional<std::vector<JobId>> who = who_must_end(id, tasks); who && !who->empty()) {
    std::string names;
    json::Array list;
    for (JobId other : *who) {
      names.append(names.empty() ? "" : ", ").append(full_name(cluster_.at(other)));
      list.push_back(json::Value(full_name(cluster_.at(other))));
    }
    room.text += "; it fits when " + names + (who->size() == 1 ? " ends" : " end");
    room.facts["fitsWhenTheseEnd"] = std::move(list);
  }
  room.advice = "wait, lower the requests, or add nodes";
  out.push_back(std::move(room));
}

// Jobs in the order in which they are likely to end (started first), until the gang fits; then
// those that were not needed are taken out again.
std::optional<std::vector<JobId>> Inquiry::who_must_end(JobId id,
                                                        const std::vector<TaskId>& tasks) {
  std::vector<JobId> holders;
  for (std::size_t i = 0; i < cluster_.jobs().size(); ++i) {
    const Job& job = cluster_.jobs()[i];
    if (job.live && JobId(i) != id && job.allocated_tasks() > 0) holders.push_back(JobId(i));
  }
  std::sort(holders.begin(), holders.end(),
            [&](JobId a, JobId b) { return cluster_.at(a).created < cluster_.at(b).created; });
  auto fits_without = [&](const std::vector<JobId>& ended) {
    std::vector<Resources> free;
    for (const Node& node : cluster_.nodes()) free.push_back(node.idle);
    for (JobId job : ended)
      for (TaskId task : cluster_.at(job).tasks)
        if (const Task& one = cluster_.at(task); one.node.valid() && is_allocated(one.status))
          free[one.node.index()] += cluster_.class_of(one).request;
    return session_.pack(tasks, std::move(free)).has_value();
  };
  std::vector<JobId> ended;
  for (JobId holder : holders) {
    ended.push_back(holder);
    if (!fits_without(ended)) continue;
    for (std::size_t i = ended.size(); i-- > 0;) {
      std::vector<JobId> fewer = ended;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (fits_without(fewer)) ended = std::move(fewer);
    }
    return ended;
  }
  return std::nullopt;
}

Finding Inquiry::queue_figures(QueueId id) {
  const Queue& queue = cluster_.at(id);
  Resources held, asked;
  std::map<std::string, std::int64_t> phases;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const Job& job = cluster_.jobs()[i];
    if (!job.live || job.queue != id) continue;
    held += job.claimed;
    asked += job.pending_request;
    if (!job.implicit) ++phases[std::string(name_of(before_[i].phase))];
  }
  Finding out{"queue",
              "queue " + queue.name + " (weight " + std::to_string(queue.weight) + ", " +
                  (queue.open ? "open" : "not open") + ") holds " + amounts(held) +
                  "; its waiting pods ask for " + amounts(asked),
              "",
              {{"weight", queue.weight}, {"open", queue.open}, {"allocated", amounts(held)}}};
  if (double cpu = gauge("volcano_queue_deserved_milli_cpu", queue.name); cpu >= 0) {
    Resources deserved;
    deserved.set(kCpu, static_cast<std::int64_t>(cpu));
    deserved.set(kMemory, static_cast<std::int64_t>(
                              gauge("volcano_queue_deserved_memory_bytes", queue.name)));
    out.text += "; it deserves " + amounts(deserved);
    out.facts["deserved"] = amounts(deserved);
  }
  if (queue.has_capability) {
    out.text += "; its capability is " + amounts(queue.capability);
    out.facts["capability"] = amounts(queue.capability);
  }
  if (queue.fifo) out.text += "; it is fifo";
  if (queue.max_running > 0)
    out.text += "; it runs at most " + std::to_string(queue.max_running) + " jobs at a time";
  json::Object counts;
  for (const auto& [phase, count] : phases) counts[phase.empty() ? "Pending" : phase] = count;
  out.facts["groups"] = std::move(counts);
  return out;
}

std::vector<JobId> Inquiry::line_of(QueueId queue) {
  std::vector<JobId> line;
  for (std::size_t i = 0; i < before_.size(); ++i) {
    const Job& job = cluster_.jobs()[i];
    if (job.live && !job.implicit && job.has_group && job.queue == queue && !before_[i].ready &&
        before_[i].phase != Phase::completed)
      line.push_back(JobId(i));
  }
  std::sort(line.begin(), line.end(), [&](JobId a, JobId b) { return session_.job_before(a, b); });
  return line;
}

}  // namespace hekla::scheduler
