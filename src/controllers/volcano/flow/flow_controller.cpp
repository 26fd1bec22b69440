#include "controllers/volcano/flow/flow_controller.h"

#include <algorithm>

#include "controllers/volcano/flow/flow_status.h"
#include "controllers/volcano/job/state_machine.h"
#include "framework/held.h"
#include "json/patch.h"

namespace hekla::controllers {
namespace {

const std::string kByTemplate = "volcano.sh/createdByJobTemplate";
const std::string kByFlow = "volcano.sh/createdByJobFlow";

constexpr Nanos kProbePeriod = std::chrono::seconds(2);

std::string flow_job_name(const AnyObject& flow, const std::string& entry) {
  return flow.metadata.name + "-" + entry;
}

Child flow_job(const AnyObject& flow, const model::Flow& entry, const model::JobTemplate& from) {
  json::Object origin{{kByTemplate, from.metadata.ns + "." + from.metadata.name},
                      {kByFlow, flow.metadata.ns + "." + flow.metadata.name}};
  return {
      .resource = kube::resources::vcjobs,
      .body = json::Object{{"metadata", json::Object{{"name", flow_job_name(flow, entry.name)},
                                                     {"labels", origin},
                                                     {"annotations", origin}}},
                           {"spec", entry.patch ? patched_job_spec(from.spec, entry.patch->jobSpec)
                                                : from.spec}},
      .care = Care::create_once};
}

// Every role the probe names has enough pods in the phase it asks for.
bool task_states_reached(const model::VcJob& job, const model::FlowProbe& probe) {
  return std::all_of(probe.taskStatusList.begin(), probe.taskStatusList.end(),
                     [&](const model::FlowTaskStatus& wanted) {
                       auto counted = job.status.taskStatusCount.find(wanted.taskName);
                       if (counted == job.status.taskStatusCount.end()) return false;
                       auto phase = counted->second.phase.find(wanted.phase);
                       if (phase == counted->second.phase.end()) return false;
                       for (const model::TaskSpec& task : job.spec.tasks)
                         if (task.name == wanted.taskName)
                           return phase->second >= role_min_available(task);
                       return false;
                     });
}

bool has_task(const model::VcJob& job, std::string_view name) {
  return std::any_of(job.spec.tasks.begin(), job.spec.tasks.end(),
                     [&](const model::TaskSpec& task) { return task.name == name; });
}

// The first role a probe names that the job does not have; empty when it has them all.
std::string missing_task(const model::VcJob& job, const model::FlowProbe& probe) {
  for (const model::FlowTaskStatus& wanted : probe.taskStatusList)
    if (!has_task(job, wanted.taskName)) return wanted.taskName;
  for (const auto* list : {&probe.httpGetList, &probe.tcpSocketList})
    for (const json::Value& wanted : *list)
      if (std::string name(json::string_at(wanted, {"taskName"})); !has_task(job, name))
        return name;
  return {};
}

bool has_network_probes(const model::Flow& entry) {
  const std::optional<model::FlowProbe>& probe = entry.dependsOn->probe;
  return probe && !(probe->httpGetList.empty() && probe->tcpSocketList.empty());
}

std::string http_request(const json::Value& get, const std::string& host) {
  std::string path(json::string_at(get, {"path"}));
  if (!path.starts_with('/')) path.insert(0, "/");
  std::string header(json::string_at(get, {"httpHeader", "name"}));
  std::string request = "GET " + path + " HTTP/1.1\r\nConnection: close\r\n";
  if (header != "Host") request += "Host: " + host + "\r\n";
  if (!header.empty())
    request += header + ": " + std::string(json::string_at(get, {"httpHeader", "value"})) + "\r\n";
  return request + "\r\n";
}

}  // namespace

json::Value patched_job_spec(const json::Value& from, const json::Value& patch) {
  json::Value spec = from;
  if (!patch.is_object()) return spec;
  json::Object rest = patch.get_object();
  json::Value tasks = nullptr;
  if (json::Value* given = rest.if_contains("tasks")) {
    tasks = std::move(*given);
    rest.erase("tasks");
  }
  json::apply_merge_patch(spec, json::Value(std::move(rest)));
  if (!tasks.is_array()) return spec;
  json::Value& merged = json::at_path(spec, {"tasks"});
  if (!merged.is_array()) merged = json::Array();
  for (const json::Value& task : tasks.get_array()) {
    std::string_view name = json::string_at(task, {"name"});
    auto found = std::find_if(
        merged.get_array().begin(), merged.get_array().end(),
        [&](const json::Value& one) { return json::string_at(one, {"name"}) == name; });
    if (found == merged.get_array().end())
      merged.get_array().push_back(task);
    else
      json::apply_merge_patch(*found, task);
  }
  return spec;
}

FlowController::FlowController(Caches& caches, Parts parts)
    : caches_(caches), executor_(caches.set.client().executor()) {
  if (parts.flows) flows_.emplace(caches.set, flow_kind());
  if (parts.templates) templates_.emplace(caches.set, template_kind());
}

KindDescription FlowController::flow_kind() {
  KindDescription kind{.name = "jobflow-controller",
                       .event_source = "vc-controller-manager",
                       .resource = kube::resources::job_flows,
                       .optional = true};
  const std::string failed = "create job {name} failed: {error}";
  kind.owns = {{.resource = kube::resources::vcjobs,
                .words = {.created = {{"Normal", "Created", "create a job named {name}!"}},
                          .create_failed = {{"Warning", "FailedCreate", failed}},
                          .taken = {{"Warning", "FailedCreate", failed}}},
                .hold = held_as<model::VcJob>}};
  // A flow may have been waiting for a template.
  kind.follows = {follow<model::JobTemplate>(
      kube::resources::job_templates,
      [](const model::JobTemplate* before, const model::JobTemplate* after, const Wake& wake) {
        if (!before && after) wake.all_in(after->metadata.ns);
      },
      {.optional = true})};
  kind.reconcile = [this](const AnyObject& flow, const View& view) {
    return reconcile_flow(flow, view);
  };
  kind.observe = [this](const AnyObject* before, const AnyObject* after) {
    if (after) return;
    std::erase_if(probings_,
                  [&](const auto& one) { return one.first.first == before->metadata.uid; });
  };
  return kind;
}

// The list of jobs that came from each template.
KindDescription FlowController::template_kind() {
  KindDescription kind{.name = "jobtemplate-controller",
                       .resource = kube::resources::job_templates,
                       .optional = true};
  kind.follows = {follow<model::VcJob>(
      kube::resources::vcjobs,
      [](const model::VcJob* before, const model::VcJob* after, const Wake& wake) {
        if (before && after) return;
        const model::ObjectMeta& meta = (after ? after : before)->metadata;
        const std::string& from = meta.label(kByTemplate);
        if (from.starts_with(meta.ns + ".")) wake({meta.ns, from.substr(meta.ns.size() + 1)});
      })};
  kind.concerns = [](const AnyObject* before, const AnyObject&) { return !before; };
  kind.reconcile = [this](const AnyObject& from, const View&) -> Result<Outcome> {
    json::Array names;
    for (const JobRef& job :
         caches_.jobs_with(kByTemplate, from.metadata.ns + "." + from.metadata.name))
      names.push_back(json::Value(job->metadata.name));
    Outcome outcome;
    if (names.empty() && !json::array_at(from.status, {"jobDependsOnList"})) return outcome;
    outcome.status = from.status.is_object() ? from.status.get_object() : json::Object();
    (*outcome.status)["jobDependsOnList"] = std::move(names);
    return outcome;
  };
  return kind;
}

FlowController::JobRef FlowController::job_of(const FlowLook& look,
                                              const std::string& entry) const {
  return look.view.child<model::VcJob>(kube::resources::vcjobs, flow_job_name(look.flow, entry));
}

// Without a probe the targets must complete. With one it is enough that every role it names has
// come up as it asks; a target that has completed already counts as well.
bool FlowController::may_start(FlowLook& look, const model::Flow& entry) {
  if (!entry.dependsOn) return true;
  const std::optional<model::FlowProbe>& probe = entry.dependsOn->probe;
  const bool network = has_network_probes(entry), possible = !network || streams_ != nullptr;
  const bool probed = possible && (network || (probe && !probe->taskStatusList.empty()));
  if (!possible)
    look.outcome.tell(
        "Warning", "ProbeIgnored",
        "flow " + entry.name +
            ": http and tcp probes are not carried out; its targets must complete instead");
  bool completed = true;
  for (const std::string& target : entry.dependsOn->targets) {
    JobRef job = job_of(look, target);
    if (!job) return false;
    if (job->status.state.phase == "Completed") continue;
    completed = false;
    if (std::string task = probed ? missing_task(*job, *probe) : ""; !task.empty())
      look.outcome.tell("Warning", "ProbeTaskNotFound",
                        "flow " + entry.name + " waits until job " + job->metadata.name +
                            " completes: it has no task " + task + ", which the probe names");
    if (!probed || !task_states_reached(*job, *probe)) return false;
  }
  return completed || !network || probes_passed(look, entry);
}

// What to probe: the running pods of the roles that are named. Nothing while a role is not up.
std::optional<std::vector<PodProbe>> FlowController::probes_of(FlowLook& look,
                                                               const model::Flow& entry) const {
  std::vector<PodProbe> probes;
  auto add = [&](const model::VcJob& job, const json::Value& wanted, bool http) {
    std::string role(json::string_at(wanted, {"taskName"}));
    std::int32_t running = 0, needed = 1;
    for (const model::TaskSpec& task : job.spec.tasks)
      if (task.name == role) needed = std::max(1, role_min_available(task));
    for (const auto& pod : caches_.pods_of(job.metadata.uid)) {
      if (pod->metadata.annotation(model::keys::task_spec) != role ||
          pod->status.phase != "Running")
        continue;
      ++running;
      probes.push_back({{pod->metadata.ns, pod->metadata.name, pod->metadata.uid},
                        static_cast<std::uint16_t>(json::int_at(wanted, {"port"})),
                        http ? http_request(wanted, pod->status.podIP) : ""});
    }
    return running >= needed;
  };
  const model::FlowProbe& probe = *entry.dependsOn->probe;
  for (const std::string& target : entry.dependsOn->targets) {
    JobRef job = job_of(look, target);
    if (!job || job->status.state.phase == "Completed") continue;
    for (const json::Value& get : probe.httpGetList)
      if (!add(*job, get, true)) return std::nullopt;
    for (const json::Value& socket : probe.tcpSocketList)
      if (!add(*job, socket, false)) return std::nullopt;
  }
  return probes;
}

bool FlowController::probes_passed(FlowLook& look, const model::Flow& entry) {
  const std::pair<std::string, std::string> id{look.flow.metadata.uid, entry.name};
  Probing& probing = probings_[id];
  if (probing.passed || probing.under_way) return probing.passed;
  std::optional<std::vector<PodProbe>> probes = probes_of(look, entry);
  if (!probes || probes->empty()) return false;  // the job's next change brings us here again
  probing.under_way = true;
  auto left = std::make_shared<std::size_t>(probes->size());
  auto passed = std::make_shared<bool>(true);
  const kube::Key key = key_of(look.flow.metadata);
  for (PodProbe& probe : *probes)
    probe_pod(*streams_, executor_, std::move(probe),
              [this, weak = std::weak_ptr(alive_), id, key, left, passed](bool good) {
                if (weak.expired()) return;
                *passed = *passed && good;
                if (--*left > 0) return;
                probings_[id] = {*passed, false};
                flows_->wake().after(key, *passed ? Nanos(0) : kProbePeriod);
              });
  return false;
}

void FlowController::create_jobs(FlowLook& look) {
  for (const model::Flow& entry : look.spec.flows) {
    if (job_of(look, entry.name) || !may_start(look, entry)) continue;
    auto from = look.view.find<model::JobTemplate>(kube::resources::job_templates,
                                                   {look.flow.metadata.ns, entry.name});
    if (from)
      look.outcome.children.push_back(flow_job(look.flow, entry, *from));
    else
      look.outcome.tell("Warning", "JobTemplateNotFound",
                        "jobtemplate.flow.volcano.sh \"" + entry.name + "\" not found");
  }
}

Result<Outcome> FlowController::reconcile_flow(const AnyObject& flow, const View& view) {
  FlowLook look{flow, TRY(json::decode<model::JobFlowSpec>(flow.spec)), view, {}};
  std::vector<JobRef> jobs;
  for (const model::Flow& entry : look.spec.flows)
    if (JobRef job = job_of(look, entry.name)) jobs.push_back(std::move(job));
  const std::string_view before = json::string_at(flow.status, {"state", "phase"});
  json::Value status = flow_status(look.spec, before, jobs);
  const std::string_view phase = json::string_at(status, {"state", "phase"});
  if (before == "Succeed" && look.spec.jobRetainPolicy == "delete") {
    for (const JobRef& job : jobs)
      if (!job->metadata.deletionTimestamp)
        look.outcome.removals.push_back(
            removal_of(kube::resources::vcjobs, job->metadata, "the flow has succeeded"));
  } else if (phase == "Pending" || phase == "Running") {
    create_jobs(look);
    // Nothing has begun, for want of a template. As upstream the flow has no status yet: whoever
    // created it may go on to update what the creation answered.
    if (before.empty() && jobs.empty() && look.outcome.children.empty() && !look.spec.flows.empty())
      return std::move(look.outcome);
  }
  look.outcome.status = std::move(status.get_object());
  return std::move(look.outcome);
}

}  // namespace hekla::controllers
