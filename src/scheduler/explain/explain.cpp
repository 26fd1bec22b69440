#include "scheduler/explain/explain.h"

#include <algorithm>
#include <optional>
#include <set>

#include "scheduler/explain/inquiry.h"
#include "scheduler/explain/job_findings.h"

namespace hekla::scheduler {

namespace {

constexpr std::size_t kLongestLine = 10;

std::string first_or(const std::vector<Finding>& findings, const std::string& otherwise) {
  return findings.empty() ? otherwise : findings.front().text;
}

template <class T>
const T* named(const std::vector<T>& objects, const std::string& ns, const std::string& name) {
  for (const T& object : objects)
    if (object.metadata.name == name && object.metadata.ns == ns) return &object;
  return nullptr;
}

std::unexpected<Error> missing_object(const std::string& kind, const std::string& ns,
                                      const std::string& name) {
  return fail(Code::not_found,
              kind + " " + (ns.empty() ? "" : ns + "/") + name + " does not exist");
}

// Counts, then what keeps it, if anything does.
void describe_group(Inquiry& inquiry, const World& world, const model::PodGroup& group,
                    Explanation& out) {
  JobId id = inquiry.cluster().find_job(group.metadata.ns, group.metadata.name);
  const Job& job = inquiry.cluster().at(id);
  const Inquiry::Before& before = inquiry.before(id);
  std::string counts = job.tasks.empty()
                           ? "no pods exist yet"
                           : std::to_string(before.ready_pods) + " of " +
                                 std::to_string(job.tasks.size()) + " pods are placed";
  counts += ", at least " + std::to_string(job.min_available) +
            (job.min_available == 1 ? " is" : " are") + " needed";
  add_lost_nodes(world, group, out.findings);
  if (before.phase == Phase::completed || (before.ready && before.pending_pods == 0)) {
    out.summary = counts + (out.findings.empty() ? ": the gang is complete" : "");
    return;
  }
  if (before.ready) {
    for (Finding& finding : inquiry.why_waiting(id)) out.findings.push_back(std::move(finding));
    out.summary = counts + ": the gang is complete; " + std::to_string(before.pending_pods) +
                  " more " + (before.pending_pods == 1 ? "pod waits: " : "pods wait: ") +
                  first_or(out.findings, "nothing in sight keeps them from starting");
    return;
  }
  add_missing_priority_class(world, group, out.findings);
  if (job.valid() < job.min_available) add_missing_pods(world, group, job, out.findings);
  for (Finding& finding : inquiry.why_waiting(id)) out.findings.push_back(std::move(finding));
  out.summary = counts + "; " + first_or(out.findings, "nothing in sight keeps it from starting");
}

Explanation explain_group(Inquiry& inquiry, const World& world, const model::PodGroup& group) {
  Explanation out{"podgroup", group.metadata.ns, group.metadata.name, group.status.phase, "", {}};
  if (out.state.empty()) out.state = "Pending";
  describe_group(inquiry, world, group, out);
  return out;
}

Explanation explain_job(Inquiry& inquiry, const World& world, const model::VcJob& job) {
  Explanation out{"job", job.metadata.ns, job.metadata.name, job.status.state.phase, "", {}};
  if (out.state.empty()) out.state = "Pending";
  const model::PodGroup* group = group_of(world, job);
  std::set<std::string> over{"Completed", "Failed", "Aborted", "Terminated"};
  if (over.contains(out.state)) {
    out.summary = "the job is over" +
                  (job.status.state.reason.empty() ? "" : ": " + job.status.state.reason) +
                  (job.status.state.message.empty() ? "" : ", " + job.status.state.message);
    return out;
  }
  if (group == nullptr) {
    out.summary = "it has no PodGroup yet: the job controller makes it as soon as it sees the job";
    out.findings.push_back({"no-group",
                            "the job controller has not made a PodGroup for it",
                            "look at the log of the controllers",
                            {}});
    return out;
  }
  add_endless_run(world, job, out.findings);
  describe_group(inquiry, world, *group, out);
  if (const Finding* endless = out.find("no-complete-policy")) out.summary = endless->text;
  return out;
}

void conclude(Explanation& out, Finding finding) {
  out.summary = finding.text;
  out.findings.push_back(std::move(finding));
}

// Nobody can make a group, or a pod has named one that nobody makes.
void explain_without_group(const World& world, const model::Pod& pod, Explanation& out) {
  const std::string& queue = pod.metadata.annotation(model::keys::queue_name);
  if (!queue.empty() && named(world.queues, "", queue) == nullptr)
    return conclude(out, {"queue-missing",
                          "its annotation " + model::keys::queue_name + " names queue " + queue +
                              ", which does not exist, so no PodGroup can be made for it",
                          "create the queue or name another one",
                          {{"queue", queue}}});
  if (const std::string& group = pod.metadata.annotation(model::keys::group_name); !group.empty())
    return conclude(
        out, {"group-missing",
              "its annotation " + model::keys::group_name + " names PodGroup " + pod.metadata.ns +
                  "/" + group + ", which does not exist, so the scheduler leaves it out",
              "create the PodGroup or name another one",
              {{"group", group}}});
  conclude(out, {"no-group",
                 "it names no PodGroup, and pods of schedulerName " + pod.spec.schedulerName +
                     " need one",
                 "the PodGroup controller makes one; is it running?",
                 {}});
}

Explanation explain_pod(Inquiry& inquiry, const World& world, const model::Pod& pod) {
  Explanation out{"pod", pod.metadata.ns, pod.metadata.name, pod.status.phase, "", {}};
  if (!pod.spec.nodeName.empty()) {
    out.summary = "it was placed on node " + pod.spec.nodeName;
    if (std::string lost = loss_of_node(world, pod.spec.nodeName); !lost.empty())
      conclude(out, {"node-lost",
                     out.summary + ", which " + lost,
                     "bring the node back, or delete the pod to have it placed elsewhere",
                     {{"node", pod.spec.nodeName}}});
    return out;
  }
  TaskId id = inquiry.cluster().find_task(pod.metadata.ns, pod.metadata.name);
  if (!id.valid()) {
    out.summary = "no scheduler here answers to its schedulerName " + pod.spec.schedulerName;
    out.findings.push_back({"foreign-scheduler",
                            out.summary,
                            "set schedulerName to volcano, or run that scheduler",
                            {}});
    return out;
  }
  JobId job = inquiry.cluster().at(id).job;
  if (!job.valid()) {
    explain_without_group(world, pod, out);
    return out;
  }
  const Job& gang = inquiry.cluster().at(job);
  const model::PodGroup* group = named(world.groups, gang.ns, gang.name);
  if (group != nullptr) {
    describe_group(inquiry, world, *group, out);
    out.summary = "it is a member of PodGroup " + gang.ns + "/" + gang.name + "; " + out.summary;
    return out;
  }
  if (!gang.implicit) {
    explain_without_group(world, pod, out);
    return out;
  }
  out.findings = inquiry.why_waiting(job);
  out.summary = first_or(out.findings, "nothing in sight keeps it from starting");
  return out;
}

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

// The last condition of a job that holds.
const json::Value* standing_of(const OtherJob& job) {
  const json::Array* conditions = json::array_at(job.status, {"conditions"});
  const json::Value* last = nullptr;
  for (std::size_t i = 0; conditions && i < conditions->size(); ++i)
    if (json::string_at((*conditions)[i], {"status"}) == "True") last = &(*conditions)[i];
  return last;
}

bool is_pod_of(const OtherJob& job, const model::Pod& pod) {
  const model::OwnerReference* owner = pod.metadata.controller();
  if (owner != nullptr && owner->uid == job.metadata.uid) return true;
  // Pods that Jobs make for it.
  return owner != nullptr && owner->kind == "Job" && pod.metadata.ns == job.metadata.ns &&
         (pod.metadata.label("training.kubeflow.org/job-name") == job.metadata.name ||
          pod.metadata.label("jobset.sigs.k8s.io/jobset-name") == job.metadata.name);
}

// Why a job makes no pods at all, whatever the scheduler says.
std::optional<Finding> why_idle(const World& world, const OtherJob& job) {
  const bool in_policy = json::bool_at(job.spec, {"runPolicy", "suspend"});
  if (in_policy || json::bool_at(job.spec, {"suspend"})) {
    const std::string field = in_policy ? "spec.runPolicy.suspend" : "spec.suspend";
    return Finding{"suspended", "it is suspended: it has no pods until " + field + " is false",
                   "set " + field + " to false", json::Object{}};
  }
  std::string manager = std::string(json::string_at(job.spec, {"runPolicy", "managedBy"}));
  if (manager.empty()) manager = json::string_at(job.spec, {"managedBy"});
  if (manager.ends_with("/multikueue"))
    return Finding{"managed-elsewhere",
                   "its managedBy is " + manager + ": it is left to that",
                   "leave managedBy away to have it run here",
                   {{"managedBy", manager}}};
  const std::string wrong = event_text(world, job.kind, job.metadata.ns, job.metadata.name,
                                       {job.kind + "FailedValidation", "ValidationError"});
  if (!wrong.empty())
    return Finding{"invalid-job", "it was not begun: " + wrong, "correct the job", json::Object{}};
  return std::nullopt;
}

// A job without a gang: each of its pods is placed by itself.
void describe_pods(Inquiry& inquiry, const World& world, const OtherJob& job, Explanation& out) {
  std::size_t placed = 0, all = 0;
  const model::Pod* waiting = nullptr;
  for (const model::Pod& pod : world.pods) {
    if (!is_pod_of(job, pod)) continue;
    ++all;
    placed += !pod.spec.nodeName.empty();
    if (pod.spec.nodeName.empty() && waiting == nullptr) waiting = &pod;
  }
  if (all == 0)
    return conclude(out, {"no-pods",
                          "it has neither a PodGroup nor pods: no controller has begun with it",
                          "look at the log of the controllers (training-operator)",
                          {}});
  out.summary = std::to_string(placed) + " of " + std::to_string(all) + " pods are placed";
  if (waiting == nullptr) return;
  Explanation why = explain_pod(inquiry, world, *waiting);
  out.findings = std::move(why.findings);
  out.summary += "; " + waiting->metadata.name + " waits: " + why.summary;
}

Explanation explain_other_job(Inquiry& inquiry, const World& world, const OtherJob& job) {
  const json::Value* standing = standing_of(job);
  Explanation out{lowered(job.kind), job.metadata.ns, job.metadata.name, "Pending", "", {}};
  if (standing != nullptr) out.state = json::string_at(*standing, {"type"});
  static const std::set<std::string> over{"Succeeded", "Failed", "Complete", "Completed"};
  if (over.contains(out.state)) {
    out.summary = "the job is over: " + std::string(json::string_at(*standing, {"reason"})) + ", " +
                  std::string(json::string_at(*standing, {"message"}));
    return out;
  }
  if (std::optional<Finding> idle = why_idle(world, job)) {
    conclude(out, std::move(*idle));
    return out;
  }
  const model::PodGroup* group = nullptr;
  for (const model::PodGroup& one : world.groups) {
    const model::OwnerReference* owner = one.metadata.controller();
    const bool own = owner != nullptr && owner->uid == job.metadata.uid;
    if (own && one.metadata.ns == job.metadata.ns) group = &one;
  }
  if (group != nullptr)
    describe_group(inquiry, world, *group, out);
  else
    describe_pods(inquiry, world, job, out);
  return out;
}

Explanation explain_queue(Inquiry& inquiry, const model::Queue& queue) {
  Explanation out{"queue", "", queue.metadata.name, queue.status.state, "", {}};
  if (out.state.empty()) out.state = "Open";
  QueueId id = inquiry.cluster().find_queue(queue.metadata.name);
  Finding figures = inquiry.queue_figures(id);
  out.summary = figures.text;
  std::vector<JobId> line = inquiry.line_of(id);
  out.findings.push_back(std::move(figures));
  for (std::size_t i = 0; i < line.size() && i < kLongestLine; ++i) {
    const Job& job = inquiry.cluster().at(line[i]);
    std::string why = first_or(inquiry.why_waiting(line[i]), "nothing in sight keeps it");
    out.findings.push_back({"waits",
                            job.ns + "/" + job.name + " waits: " + why,
                            "",
                            {{"group", job.ns + "/" + job.name}}});
  }
  if (line.size() > kLongestLine)
    out.findings.push_back(
        {"more-wait", std::to_string(line.size() - kLongestLine) + " more groups wait", "", {}});
  return out;
}

}  // namespace

Result<std::vector<Explanation>> explain_groups(
    const World& world, std::span<const std::pair<std::string, std::string>> groups) {
  std::unique_ptr<Inquiry> inquiry = TRY(Inquiry::open(world));
  std::vector<Explanation> out;
  for (const auto& [ns, name] : groups) {
    const model::PodGroup* group = named(world.groups, ns, name);
    if (group == nullptr) return missing_object("podgroup", ns, name);
    out.push_back(explain_group(*inquiry, world, *group));
  }
  return out;
}

Result<Explanation> explain(const World& world, const std::string& kind, const std::string& ns,
                            const std::string& name) {
  std::unique_ptr<Inquiry> inquiry = TRY(Inquiry::open(world));
  if (kind == "job") {
    const model::VcJob* job = named(world.jobs, ns, name);
    if (job == nullptr) return missing_object("job", ns, name);
    return explain_job(*inquiry, world, *job);
  }
  if (kind == "podgroup") {
    const model::PodGroup* group = named(world.groups, ns, name);
    if (group == nullptr) return missing_object("podgroup", ns, name);
    return explain_group(*inquiry, world, *group);
  }
  if (kind == "pod") {
    const model::Pod* pod = named(world.pods, ns, name);
    if (pod == nullptr) return missing_object("pod", ns, name);
    return explain_pod(*inquiry, world, *pod);
  }
  if (kind == "queue") {
    const model::Queue* queue = named(world.queues, "", name);
    if (queue == nullptr) return missing_object("queue", "", name);
    return explain_queue(*inquiry, *queue);
  }
  for (const OtherJob& job : world.other_jobs)
    if (lowered(job.kind) == kind && job.metadata.ns == ns && job.metadata.name == name)
      return explain_other_job(*inquiry, world, job);
  if (kind.ends_with("job") || kind == "jobset") return missing_object(kind, ns, name);
  return fail(Code::bad_request,
              "\"" + kind + "\" cannot be explained: choose a job, podgroup, pod or queue");
}

}  // namespace hekla::scheduler
