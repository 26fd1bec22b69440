#include "scheduler/explain/inquiry.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>

namespace hekla::scheduler {

namespace {

// Bytes that are no round number, as what a node has left: 23.5Gi instead of 24684100Ki.
std::string readable(std::string_view resource, const model::Quantity& quantity) {
  constexpr std::size_t kLongest = 6;
  std::string exact = quantity.text();
  if ((resource != "memory" && !resource.ends_with("storage")) || exact.size() <= kLongest)
    return exact;
  double scaled = static_cast<double>(quantity.value());
  std::size_t unit = 0;
  constexpr std::array kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, scaled >= 100 ? "%.0f%s" : "%.1f%s", scaled, kUnits[unit]);
  return text;
}

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

// So many pods of a gang are asked about one by one.
constexpr std::size_t kTasksAsked = 64;

Resources whole(const Shares& amounts) {
  Resources out;
  each_dim(amounts.present, [&](Dim d) {
    // No limit at all is written as the largest number there is.
    bool endless = amounts[d] >= static_cast<double>(std::numeric_limits<std::int64_t>::max());
    out.set(d, endless ? std::numeric_limits<std::int64_t>::max()
                       : static_cast<std::int64_t>(amounts[d]));
  });
  return out;
}

// In the dimensions that are asked for.
Resources only_of(const Resources& amount, const Resources& asked) {
  Resources out;
  each_dim(asked.present, [&](Dim d) {
    if (asked[d] > 0) out.set(d, amount[d]);
  });
  return out;
}

// What to do about nodes that refuse.
std::string advice_on(const std::string& reason, bool taint, bool affinity) {
  // Those that Kubernetes sets itself say what is wrong with the node.
  if (taint && reason.find("{node.kubernetes.io/") != std::string::npos)
    return "bring the node back (kubectl describe node NODE): until then Kubernetes taints it";
  if (taint) return "tolerate the taint or remove it from the nodes";
  if (affinity) return "label nodes to match, or relax the pod's rules";
  if (reason == "node(s) were unschedulable")
    return "let pods onto the nodes again: kubectl uncordon NODE";
  return "";
}

}  // namespace

Inquiry::Inquiry() : cluster_(usual_names()), session_(cluster_) {}
Inquiry::~Inquiry() = default;

Result<std::unique_ptr<Inquiry>> Inquiry::open(const World& world) {
  auto made = std::make_unique<Inquiry>();
  made->session_.configure(TRY(parse_configuration(
      world.configuration.empty() ? helm_default_configuration() : world.configuration)));
  Cluster& cluster = made->cluster_;
  for (const model::PriorityClass& one : world.priority_classes) cluster.put(one);
  for (const auto& [kind, one] : world.companions) cluster.put(kind, one);
  for (const model::Node& one : world.nodes) cluster.put(one);
  for (const model::Queue& one : world.queues) cluster.put(one);
  for (const model::PodGroup& one : world.groups) cluster.put(one);
  for (const model::Pod& one : world.pods) cluster.put(one);
  for (const Job& job : cluster.jobs())
    made->before_.push_back({job.is_ready() && !job.tasks.empty(), job.ready(),
                             job.of(TaskStatus::pending), job.phase});
  made->clock_ = std::make_unique<StoppedClock>(world.now);
  made->decisions_ = made->session_.run(*made->clock_, "explain");
  return made;
}

std::string Inquiry::amount(const Resources& of, Dim dim) const {
  const std::string& name = cluster_.dimensions().name(dim);
  return readable(name, cluster_.dimensions().quantity(dim, of[dim])) + " " + name;
}

std::string Inquiry::amounts(const Resources& of) const {
  std::string out;
  each_dim(of.present & ~(1u << kPods | 1u << kUnknown), [&](Dim d) {
    if (of[d] > 0) out.append(out.empty() ? "" : ", ").append(amount(of, d));
  });
  return out.empty() ? "nothing" : out;
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
  if (std::string problem = session_.problem(); !problem.empty() && !job.implicit) {
    out.push_back({"queue-tree",
                   problem,
                   "correct spec.parent of the queues; jobs belong into queues without children",
                   {}});
    return out;
  }
  add_obstacle(id, out);
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
  add_network_findings(id, tasks, out);
  add_room_findings(id, tasks, out);
  if (const std::string* said = session_.first_fit_error(id); out.empty() && said != nullptr)
    out.push_back({"not-placed", "the scheduler found no node for it: " + *said, "", {}});
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
                   "open the queue: hekla queue operate --name " + queue.name + " --action open",
                   {{"queue", queue.name}}});
}

void Inquiry::add_obstacle(JobId id, std::vector<Finding>& out) {
  auto [obstacle, text] = session_.job_error(id);
  auto add = [&, &why = text](std::string code, std::string advice) {
    out.push_back({std::move(code), "it is not tried: " + why, std::move(advice), {}});
  };
  switch (obstacle) {
    case JobObstacle::none:
      break;
    case JobObstacle::fifo_head:
      add("behind-fifo-head",
          "the job ahead must start first: hekla explain podgroup says what it waits for");
      break;
    case JobObstacle::queue_job_limit:
      add("queue-job-limit", "a job of the queue must end");
      break;
    case JobObstacle::network:
      add("network-topology", "correct the HyperNodes, or the group's spec.networkTopology");
      break;
  }
}

// Groups wait outside until the plugins of enqueue let them in.
void Inquiry::add_admission_findings(JobId id, std::vector<Finding>& out) {
  const Job& job = cluster_.at(id);
  if (!job.is_pending() || !cluster_.at(job.queue).open) return;
  for (const EventDecision& event : decisions_.events) {
    if (event.job != id || event.task.valid() || event.warning) continue;
    Finding finding{"not-let-in", "", "", {}};
    finding.facts["minResources"] = amounts(job.min_resources);
    Resources lacking = excess(job.min_resources, cluster_.total());
    auto [names, unknown] = missing_resources(job.min_resources, job.min_unknown);
    if (!names.empty()) {
      finding.code = "missing-resource";
      finding.text = "no node offers " + names + ", and its pods together ask for " + unknown;
      finding.facts["resource"] = names;
      finding.advice = "add nodes with " + names + ", or do not ask for it";
    } else if (!lacking.is_empty()) {
      finding.code = "gang-too-big";
      finding.text = "it needs " + amounts(job.min_resources) + " for " +
                     plural(static_cast<std::size_t>(job.min_available), "pod") +
                     " at once, and all nodes together have " + amounts(cluster_.total()) + ": " +
                     amounts(lacking) + " short even when nothing else runs";
      finding.facts["short"] = amounts(lacking);
      finding.advice = "lower minAvailable or the requests, or add nodes";
    } else if (event.message.starts_with("queue")) {
      add_queue_limit(job, finding);
    } else if (event.message.starts_with("resource in cluster")) {
      finding.code = "cluster-full";
      Resources used;
      for (const Node& node : cluster_.nodes())
        if (node.live) used += node.used;
      finding.text = "the cluster has " + amounts(cluster_.total()) + ", " + amounts(used) +
                     " of it in use, and this group needs " + amounts(job.min_resources);
      finding.advice = "wait until other jobs end, or add nodes";
    }
    finding.text = finding.text.empty()
                       ? "it is not let in: " + event.message
                       : finding.text + ", so it is not let in (" + event.message + ")";
    out.push_back(std::move(finding));
  }
}

// What no node offers at all: the names, and how much of each is asked for.
std::pair<std::string, std::string> Inquiry::missing_resources(
    const Resources& wanted, const model::ResourceList& unknown) const {
  std::string names, asked;
  auto add = [&](const std::string& name, const std::string& amount) {
    names.append(names.empty() ? "" : ", ").append(name);
    asked.append(asked.empty() ? "" : ", ").append(amount);
  };
  if (cluster_.live_nodes() == 0) return {};
  each_dim(wanted.present & ~(1u << kPods | 1u << kUnknown), [&](Dim d) {
    if (wanted[d] > 0 && cluster_.total()[d] == 0)
      add(cluster_.dimensions().name(d), amount(wanted, d));
  });
  for (const auto& [name, quantity] : unknown)
    if (!cluster_.dimensions().find(name)) add(name, quantity.text() + " " + name);
  return {names, asked};
}

// Which level of the queue's branch has no room for the group, by the books of the plugin that said
// no.
void Inquiry::add_queue_limit(const Job& job, Finding& finding) const {
  finding.code = "queue-over-capability";
  const Queue& own = cluster_.at(job.queue);
  for (const QueueAccount& level : session_.accounts(job.queue)) {
    Resources wanted = level.allocated;
    wanted += level.inqueue;
    wanted -= level.elastic;
    wanted += job.min_resources;
    Resources limit = whole(level.limit), over;
    each_dim(exceeded(wanted, level.limit, job.min_resources),
             [&](Dim d) { over.set(d, wanted[d] - limit[d]); });
    if (over.is_empty()) continue;
    std::string name = level.queue.valid() ? cluster_.at(level.queue).name : "root";
    finding.text = "queue " + name + (level.queue == job.queue ? "" : ", above " + own.name + ",") +
                   " may hold " + amounts(limit) + ", holds " + amounts(level.allocated);
    if (Resources promised = excess(level.inqueue, Resources()); !promised.is_empty())
      finding.text += ", has promised " + amounts(promised) + " to groups that were let in";
    finding.text +=
        ", and this group needs " + amounts(job.min_resources) + ": " + amounts(over) + " too much";
    finding.facts["queue"] = name;
    finding.facts["short"] = amounts(over);
    finding.advice =
        has_capability(level.queue, over)
            ? "raise the capability of queue " + name + ", or wait until jobs of it end"
            : "wait until jobs of the queue end, or add nodes: the queue has no capability of its "
              "own, "
              "its limit is the cluster";
    return;
  }
}

// Of its own, in one of these dimensions.
bool Inquiry::has_capability(QueueId id, const Resources& in) const {
  bool found = false;
  if (id.valid() && cluster_.at(id).has_capability)
    each_dim(in.present, [&](Dim d) { found |= in[d] > 0 && cluster_.at(id).capability[d] > 0; });
  return found;
}

void Inquiry::add_share_findings(JobId id, const std::vector<TaskId>& tasks,
                                 std::vector<Finding>& out) {
  const Job& job = cluster_.at(id);
  const Queue& queue = cluster_.at(job.queue);
  const PodClass& pods = cluster_.class_of(cluster_.at(tasks[0]));
  // What no node has is found by looking at the nodes.
  if (!queue.open || !pods.unknown.empty() ||
      (!session_.overused(job.queue) && session_.allocatable(job.queue, tasks[0])))
    return;
  for (const QueueAccount& level : session_.accounts(job.queue)) {
    const Shares& bound = level.by_weight ? level.deserved : level.limit;
    Resources after = level.allocated;
    after += pods.request;
    Resources may = only_of(whole(bound), pods.request), over;
    each_dim(exceeded(after, bound, pods.request), [&](Dim d) { over.set(d, after[d] - may[d]); });
    if (over.is_empty()) continue;
    std::string held = amounts(only_of(level.allocated, pods.request));
    std::string name = level.queue.valid() ? cluster_.at(level.queue).name : "root";
    std::string text = level.queue == job.queue ? "its queue " + name
                                                : "queue " + name + ", above " + queue.name + ",";
    text += " holds " + held;
    if (level.by_weight)
      text += " and deserves " + amounts(may) + " by its weight " + std::to_string(queue.weight) +
              " among the queues that have jobs";
    else
      text += " and may hold " + amounts(may);
    out.push_back(
        {"queue-share",
         text + ": a pod with " + amounts(pods.request) + " would exceed that by " + amounts(over),
         std::string("jobs of the queue must end, or the queue needs more ") +
             (level.by_weight ? "weight or " : "") +
             (has_capability(level.queue, over) ? "capability"
                                                : "nodes: it has no capability of its own"),
         {{"queue", name}, {"allocated", held}, {"short", amounts(over)}}});
    return;
  }
}

void Inquiry::add_node_findings(JobId, const std::vector<TaskId>& tasks,
                                std::vector<Finding>& out) {
  if (cluster_.live_nodes() == 0)
    return out.push_back({"no-nodes", "the cluster has no nodes", "add nodes", {}});
  std::map<std::uint32_t, TaskId> classes;
  for (TaskId task : tasks) classes.try_emplace(cluster_.at(task).pod_class.value, task);
  for (const auto& [pods, task] : classes) add_size_findings(cluster_.at(ClassId(pods)), out);
  // Pods of one class may still differ in their volumes and devices. A look at some of a large gang
  // will do.
  struct Refused {
    std::size_t pods = 0;
    TaskId first;
  };
  std::map<Session::Refusal, Refused> refused;
  std::size_t looked_at = std::min(tasks.size(), kTasksAsked);
  for (std::size_t i = 0; i < looked_at; ++i)
    for (Session::Refusal& one : session_.refusals(tasks[i])) {
      Refused& known = refused[std::move(one)];
      if (known.pods++ == 0) known.first = tasks[i];
    }
  for (const auto& [refusal, by] : refused) {
    std::size_t count = by.pods == looked_at ? tasks.size() : by.pods;
    bool taint = refusal.reason.find("taint") != std::string::npos;
    bool affinity = !taint && refusal.reason.find("affinity") != std::string::npos;
    bool selector = affinity && refusal.reason.find("selector") != std::string::npos;
    out.push_back(
        {taint      ? "taints"
         : affinity ? "affinity"
                    : "nodes-refused",
         plural(refusal.nodes, "node") + " of " + std::to_string(cluster_.live_nodes()) +
             " refused by plugin " + refusal.plugin + " for " + plural(count, "pod") + ": " +
             refusal.reason +
             (selector ? selector_of(cluster_.class_of(cluster_.at(by.first))) : ""),
         advice_on(refusal.reason, taint, affinity),
         {{"plugin", refusal.plugin}, {"reason", refusal.reason}, {"nodes", refusal.nodes}}});
  }
}

// What the pods ask of a node's labels: " (it asks for zone=a)".
std::string Inquiry::selector_of(const PodClass& pods) const {
  std::string wanted;
  for (const auto& [key, value] : pods.node_selector)
    wanted.append(wanted.empty() ? "" : ", ")
        .append(cluster_.names().text(key) + "=" + cluster_.names().text(value));
  if (pods.has_required_terms)
    wanted.append(wanted.empty() ? "" : " and ").append("its required node affinity");
  return wanted.empty() ? "" : " (it asks for " + wanted + ")";
}

void Inquiry::add_size_findings(const PodClass& pods, std::vector<Finding>& out) const {
  Resources largest;
  for (NodeId node : cluster_.live())
    each_dim(cluster_.at(node).shape.allocatable.present, [&](Dim d) {
      largest.set(d, std::max(largest[d], cluster_.at(node).shape.allocatable[d]));
    });
  if (auto [names, asked] = missing_resources(pods.request, pods.unknown); !names.empty())
    out.push_back({"missing-resource",
                   "no node offers " + names + ", and each pod asks for " + asked,
                   "add nodes with " + names + ", or do not ask for it",
                   {{"resource", names}}});
  auto too_big = [&](Dim d, const std::string& asked) {
    out.push_back({"pod-too-big",
                   "a pod asks for " + asked + ", more than the largest node has (" +
                       amount(largest, d) + ")",
                   "ask for less per pod",
                   {{"resource", cluster_.dimensions().name(d)}}});
  };
  each_dim(pods.request.present & ~(1u << kPods | 1u << kUnknown), [&](Dim d) {
    if (pods.request[d] > largest[d] && cluster_.total()[d] != 0)
      too_big(d, amount(pods.request, d));
  });
  for (const auto& [name, quantity] : pods.unknown)
    if (std::optional<Dim> d = cluster_.dimensions().find(name))
      too_big(*d, quantity.text() + " " + name);
}

// A gang that must sit close together needs a hypernode that takes all of it.
void Inquiry::add_network_findings(JobId id, const std::vector<TaskId>& tasks,
                                   std::vector<Finding>& out) {
  const Job& job = cluster_.at(id);
  const HyperNodes& all = cluster_.hyper_nodes();
  if (!session_.configuration().has_plugin("network-topology-aware") || !all.problem().empty())
    return;
  std::map<std::int32_t, std::vector<TaskId>> parts;
  for (TaskId task : tasks) {
    std::int32_t part = job.topology.hard || job.sub_jobs.empty() ? -1 : cluster_.at(task).sub_job;
    if (job.topology_of(part).hard) parts[part].push_back(task);
  }
  for (const auto& [part, members] : parts) {
    std::int32_t allowed = all.allowed_tier(job.topology_of(part));
    if (allowed < 0) continue;
    std::size_t domains = 0, most = 0, most_empty = 0;
    std::string roomiest;
    for (const HyperNode& one : all.all()) {
      if (one.tier > allowed || !holds_all(one, job, part)) continue;
      ++domains;
      most_empty = std::max(most_empty, how_many_fit(members, one.nodes, true));
      if (std::size_t fit = how_many_fit(members, one.nodes, false);
          fit > most || roomiest.empty()) {
        most = fit;
        roomiest = one.name;
      }
    }
    if (domains > 0 && most == members.size()) continue;
    std::string text = "its " + plural(members.size(), "pod") +
                       " must sit in one hypernode of tier " + std::to_string(allowed) +
                       " or below: ";
    bool too_small = domains > 0 && most_empty < members.size();
    if (too_small)
      text += "none of " + std::to_string(domains) +
              " has room for them even empty, the largest has for " + std::to_string(most_empty);
    else if (domains == 0)
      text += job.allocated_tasks() > 0 ? "none has those of its pods that run" : "there is none";
    else
      text += "none of " + std::to_string(domains) + " has room for them now; " + roomiest +
              " has for " + std::to_string(most);
    out.push_back(
        {"network-topology",
         std::move(text),
         too_small ? "allow a higher tier, or lower minAvailable or the requests"
                   : "wait until jobs of such a hypernode end, or allow a higher tier",
         {{"tier", allowed}, {"hyperNodes", domains}, {"fit", most}, {"roomiest", roomiest}}});
    return;
  }
}

// Whether the pods of the part that have a node are all in this hypernode.
bool Inquiry::holds_all(const HyperNode& domain, const Job& job, std::int32_t part) const {
  return std::ranges::all_of(job.tasks, [&](TaskId id) {
    const Task& task = cluster_.at(id);
    if (!is_allocated(task.status) || (part >= 0 && task.sub_job != part)) return true;
    return std::binary_search(domain.nodes.begin(), domain.nodes.end(), task.node);
  });
}

// Of the tasks in their order, on these nodes alone.
std::size_t Inquiry::how_many_fit(std::span<const TaskId> tasks, std::span<const NodeId> nodes,
                                  bool empty) {
  std::vector<Resources> free(cluster_.nodes().size());
  for (NodeId node : nodes)
    free[node.index()] = empty ? cluster_.at(node).shape.allocatable : cluster_.at(node).idle;
  std::size_t low = 0, high = tasks.size();  // the answer lies in [low, high]
  while (low < high) {
    std::size_t middle = (low + high + 1) / 2;
    if (session_.pack(tasks.first(middle), free))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
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
  if (std::vector<QueueAccount> accounts = session_.accounts(id); !accounts.empty()) {
    Resources deserved = whole(accounts.front().deserved);
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
