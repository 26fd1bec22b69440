#include "scheduler/explain/explain.h"

#include <algorithm>
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
  return fail(Code::bad_request,
              "\"" + kind + "\" cannot be explained: choose job, podgroup, pod or queue");
}

}  // namespace hekla::scheduler
