#include "controllers/flow/flow_controller.h"

#include <algorithm>

#include "controllers/flow/flow_status.h"
#include "controllers/job/state_machine.h"
#include "json/patch.h"

namespace hekla::controllers {
namespace {

const std::string kByTemplate = "volcano.sh/createdByJobTemplate";
const std::string kByFlow = "volcano.sh/createdByJobFlow";

constexpr Nanos kProbePeriod = std::chrono::seconds(2);

std::string flow_job_name(const model::JobFlow& flow, const std::string& entry) {
  return flow.metadata.name + "-" + entry;
}

json::Value flow_job(const model::JobFlow& flow, const model::Flow& entry,
                     const model::JobTemplate& from) {
  json::Object origin{{kByTemplate, from.metadata.ns + "." + from.metadata.name},
                      {kByFlow, flow.metadata.ns + "." + flow.metadata.name}};
  json::Value owner = json::encode(model::controller_reference(
      kube::resources::job_flows.api_version(), kube::resources::job_flows.kind, flow.metadata));
  return json::Object{
      {"apiVersion", kube::resources::vcjobs.api_version()},
      {"kind", kube::resources::vcjobs.kind},
      {"metadata", json::Object{{"name", flow_job_name(flow, entry.name)},
                                {"namespace", flow.metadata.ns},
                                {"labels", origin},
                                {"annotations", origin},
                                {"ownerReferences", json::Array{std::move(owner)}}}},
      {"spec", entry.patch ? patched_job_spec(from.spec, entry.patch->jobSpec) : from.spec}};
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

FlowController::FlowController(kube::Client& client, Caches& caches, kube::EventRecorder& events,
                               Parts parts)
    : parts_(parts),
      caches_(caches),
      events_(events),
      flows_(client, kube::resources::job_flows),
      templates_(client, kube::resources::job_templates),
      executor_(client.executor()),
      flow_loop_(
          client, {.name = "jobflow-controller"},
          [this](const kube::Key& key, WallTime) { return reconcile_flow(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            caches_.overlay(write, result);
            controllers::overlay(flows_, write, result);
          }),
      template_loop_(
          client, {.name = "jobtemplate-controller"},
          [this](const kube::Key& key, WallTime) { return reconcile_template(key); },
          [this](const kube::Write& write, const kube::ObjectPtr& result) {
            controllers::overlay(templates_, write, result);
          }) {
  flows_.on_change([this](const auto& before, const auto& after) {
    if (after) return flow_loop_.add(kube::Key{after->metadata.ns, after->metadata.name});
    std::erase_if(probings_,
                  [&](const auto& one) { return one.first.first == before->metadata.uid; });
  });
  templates_.on_change([this](const auto& before, const auto& after) {
    if (before || !after) return;
    template_loop_.add(kube::Key{after->metadata.ns, after->metadata.name});
    // A flow may have been waiting for it.
    flows_.for_each([&](const auto& flow) {
      if (flow->metadata.ns == after->metadata.ns)
        flow_loop_.add(kube::Key{flow->metadata.ns, flow->metadata.name});
    });
  });
  flows_.on_settled([this] { try_enable(); });
  templates_.on_settled([this] { try_enable(); });
  caches_.jobs.on_change(
      [this](const auto& before, const auto& after) { job_changed(before, after); });
}

void FlowController::start() {
  flows_.start();
  templates_.start();
}

void FlowController::enable() {
  caches_ready_ = true;
  try_enable();
}

void FlowController::try_enable() {
  if (!caches_ready_ || !flows_.synced() || !templates_.synced()) return;
  if (parts_.flows) flow_loop_.enable();
  if (parts_.templates) template_loop_.enable();
}

void FlowController::job_changed(const JobRef& before, const JobRef& after) {
  const model::ObjectMeta& meta = (after ? after : before)->metadata;
  const std::string& by_template = meta.label(kByTemplate);
  if (by_template.starts_with(meta.ns + ".") && (!before || !after))
    template_loop_.add(kube::Key{meta.ns, by_template.substr(meta.ns.size() + 1)});
  const std::string& by_flow = meta.label(kByFlow);
  if (by_flow.starts_with(meta.ns + "."))
    flow_loop_.add(kube::Key{meta.ns, by_flow.substr(meta.ns.size() + 1)});
}

FlowController::JobRef FlowController::job_of(const model::JobFlow& flow,
                                              const std::string& entry) const {
  JobRef job = caches_.jobs.get(kube::Key{flow.metadata.ns, flow_job_name(flow, entry)});
  const model::OwnerReference* owner = job ? job->metadata.controller() : nullptr;
  return owner && owner->uid == flow.metadata.uid ? job : nullptr;
}

// Without a probe the targets must complete. With one it is enough that every role it names has
// come up as it asks; a target that has completed already counts as well.
bool FlowController::may_start(const model::JobFlow& flow, const model::Flow& entry) {
  if (!entry.dependsOn) return true;
  const std::optional<model::FlowProbe>& probe = entry.dependsOn->probe;
  const bool network = has_network_probes(entry), possible = !network || streams_ != nullptr;
  const bool probed = possible && (network || (probe && !probe->taskStatusList.empty()));
  if (!possible)
    record(flow, "Warning", "ProbeIgnored",
           "flow " + entry.name +
               ": http and tcp probes are not carried out; its targets must complete instead");
  bool completed = true;
  for (const std::string& target : entry.dependsOn->targets) {
    JobRef job = job_of(flow, target);
    if (!job) return false;
    if (job->status.state.phase == "Completed") continue;
    completed = false;
    if (std::string task = probed ? missing_task(*job, *probe) : ""; !task.empty())
      record(flow, "Warning", "ProbeTaskNotFound",
             "flow " + entry.name + " waits until job " + job->metadata.name +
                 " completes: it has no task " + task + ", which the probe names");
    if (!probed || !task_states_reached(*job, *probe)) return false;
  }
  return completed || !network || probes_passed(flow, entry);
}

// What to probe: the running pods of the roles that are named. Nothing while a role is not up.
std::optional<std::vector<PodProbe>> FlowController::probes_of(const model::JobFlow& flow,
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
      probes.push_back({pod->metadata.ns, pod->metadata.name, pod->metadata.uid,
                        static_cast<std::uint16_t>(json::int_at(wanted, {"port"})),
                        http ? http_request(wanted, pod->status.podIP) : ""});
    }
    return running >= needed;
  };
  const model::FlowProbe& probe = *entry.dependsOn->probe;
  for (const std::string& target : entry.dependsOn->targets) {
    JobRef job = job_of(flow, target);
    if (!job || job->status.state.phase == "Completed") continue;
    for (const json::Value& get : probe.httpGetList)
      if (!add(*job, get, true)) return std::nullopt;
    for (const json::Value& socket : probe.tcpSocketList)
      if (!add(*job, socket, false)) return std::nullopt;
  }
  return probes;
}

bool FlowController::probes_passed(const model::JobFlow& flow, const model::Flow& entry) {
  const std::pair<std::string, std::string> id{flow.metadata.uid, entry.name};
  Probing& probing = probings_[id];
  if (probing.passed || probing.under_way) return probing.passed;
  std::optional<std::vector<PodProbe>> probes = probes_of(flow, entry);
  if (!probes || probes->empty()) return false;  // the job's next change brings us here again
  probing.under_way = true;
  auto left = std::make_shared<std::size_t>(probes->size());
  auto passed = std::make_shared<bool>(true);
  const kube::Key key{flow.metadata.ns, flow.metadata.name};
  for (PodProbe& probe : *probes)
    probe_pod(*streams_, executor_, std::move(probe),
              [this, weak = std::weak_ptr(alive_), id, key, left, passed](bool good) {
                if (weak.expired()) return;
                *passed = *passed && good;
                if (--*left > 0) return;
                probings_[id] = {*passed, false};
                flow_loop_.add_after(key, *passed ? Nanos(0) : kProbePeriod);
              });
  return false;
}

void FlowController::create_jobs(const model::JobFlow& flow, kube::Round& round) {
  for (const model::Flow& entry : flow.spec.flows) {
    if (job_of(flow, entry.name) || !may_start(flow, entry)) continue;
    auto from = templates_.get(kube::Key{flow.metadata.ns, entry.name});
    if (!from) {
      record(flow, "Warning", "JobTemplateNotFound",
             "jobtemplate.flow.volcano.sh \"" + entry.name + "\" not found");
      continue;
    }
    round.writes.push_back(
        create(kube::resources::vcjobs, flow.metadata.ns, flow_job(flow, entry, *from)));
  }
}

kube::Round FlowController::reconcile_flow(const kube::Key& key) {
  kube::Round round;
  auto flow = flows_.get(key);
  if (!flow || flow->metadata.deletionTimestamp) return round;
  std::vector<JobRef> jobs;
  for (const model::Flow& entry : flow->spec.flows)
    if (JobRef job = job_of(*flow, entry.name)) jobs.push_back(std::move(job));
  std::string before(json::string_at(flow->status, {"state", "phase"}));
  json::Value status = flow_status(*flow, jobs);
  std::string phase(json::string_at(status, {"state", "phase"}));
  if (before == "Succeed" && flow->spec.jobRetainPolicy == "delete") {
    for (const JobRef& job : jobs)
      if (!job->metadata.deletionTimestamp)
        round.writes.push_back(remove(kube::resources::vcjobs,
                                      {job->metadata.ns, job->metadata.name}, job->metadata.uid));
  } else if (phase == "Pending" || phase == "Running") {
    create_jobs(*flow, round);
    // Nothing has begun, for want of a template. As upstream the flow has no status yet: whoever
    // created it may go on to update what the creation answered.
    if (before.empty() && jobs.empty() && round.writes.empty() && !flow->spec.flows.empty())
      return round;
  }
  json::Value change = json::diff_merge(
      flow->status.is_object() ? flow->status : json::Value(json::Object()), status);
  if (change.is_object() && !change.get_object().empty())
    round.writes.push_back(merge_patch(kube::resources::job_flows, key,
                                       json::Object{{"status", std::move(change)}}, "status"));
  if (round.writes.empty()) return round;
  auto sent = std::make_shared<std::vector<kube::Write>>(round.writes);
  round.settle = [this, flow, sent](const std::vector<kube::WriteResult>& results) -> Result<void> {
    std::optional<Error> first;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const kube::Write& write = (*sent)[i];
      bool creating = write.verb == kube::Write::Verb::create;
      if (results[i]) {
        if (creating)
          record(*flow, "Normal", "Created", "create a job named " + write.key.name + "!");
        continue;
      }
      const Error& error = results[i].error();
      if (!creating && error.code == Code::not_found) continue;
      if (creating)
        record(*flow, "Warning", "FailedCreate",
               "create job " + write.key.name + " failed: " + error.message);
      if (!first) first = error;
    }
    if (first) return std::unexpected(*first);
    return {};
  };
  return round;
}

kube::Round FlowController::reconcile_template(const kube::Key& key) {
  kube::Round round;
  auto from = templates_.get(key);
  if (!from || from->metadata.deletionTimestamp) return round;
  json::Array names;
  for (const JobRef& job : caches_.jobs_with(kByTemplate, key.ns + "." + key.name))
    names.push_back(json::Value(job->metadata.name));
  const json::Array* known = json::array_at(from->status, {"jobDependsOnList"});
  if (known ? json::equal(json::Value(*known), json::Value(names)) : names.empty()) return round;
  round.writes.push_back(merge_patch(
      kube::resources::job_templates, key,
      json::Object{{"status", json::Object{{"jobDependsOnList", std::move(names)}}}}, "status"));
  return round;
}

void FlowController::record(const model::JobFlow& flow, const char* type, const char* reason,
                            const std::string& message) {
  events_.record({kube::resources::job_flows.api_version(), kube::resources::job_flows.kind,
                  flow.metadata.ns, flow.metadata.name, flow.metadata.uid, 0},
                 type, reason, message);
}

}  // namespace hekla::controllers
