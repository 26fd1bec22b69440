#include "controllers/volcano/job/sync.h"

#include <charconv>
#include <map>
#include <set>

#include "controllers/volcano/job/dependencies.h"
#include "controllers/volcano/job/names.h"
#include "controllers/volcano/job/pod_group.h"
#include "controllers/volcano/job/pods.h"
#include "controllers/volcano/job/reason.h"
#include "controllers/volcano/job/status.h"
#include "controllers/volcano/job/volumes.h"

namespace hekla::controllers {
namespace {

constexpr Nanos kClaimRetry = std::chrono::seconds(5);
// What the pods made in one round may come to as JSON: some five thousand.
constexpr std::size_t kRoundBytes = std::size_t{16} << 20;
const std::string kForwarding = "volcano.sh/job-forwarding";

// namespace and owner of an object a plugin wants.
json::Value owned(const model::VcJob& job, json::Value body) {
  json::at_path(body, {"metadata", "namespace"}) = job.metadata.ns;
  json::at_path(body, {"metadata", "ownerReferences"}) =
      json::Array{json::encode(model::controller_reference(
          kube::resources::vcjobs.api_version(), kube::resources::vcjobs.kind, job.metadata))};
  return body;
}

// Makes what plugins want when the job starts; once made, only what follows a change of scale is
// updated.
Result<void> plan_plugins(const JobView& view, model::VcJobStatus& status, Plan& plan) {
  const model::VcJob& job = *view.job;
  // The group is brought up to the job's generation only after these: it remembers for us.
  std::string scale_mark = "generation-" + std::to_string(job.metadata.generation);
  bool scaled = view.pod_group ? is_behind(job, *view.pod_group) : job.metadata.generation > 1;
  scaled = scaled && !view.prepared.contains(scale_mark);
  bool followed = false;
  for (const ActivePlugin& active : view.plugins) {
    std::string mark = plugin_mark(active);
    bool made = status.controlledResources.contains(mark) || view.prepared.contains(mark);
    if (made) status.controlledResources[mark] = active.name;
    if (made && !scaled) continue;
    std::vector<PluginObject> objects = TRY(active.plugin->objects(job));
    for (PluginObject& object : objects) {
      json::Value body = owned(job, std::move(object.body));
      if (made && !object.follows) continue;
      followed |= made;
      // Whatever an earlier job of this name has left is taken over; but keys must not change under
      // running pods.
      plan.add(Purpose::plugin,
               object.resource == kube::resources::secrets
                   ? create(object.resource, job.metadata.ns, std::move(body))
                   : apply_patch(object.resource, job.metadata.ns, std::move(body)));
    }
    if (objects.empty())
      status.controlledResources[mark] = active.name;
    else if (!made)
      plan.prepares.push_back(mark);
  }
  if (followed) {
    plan.prepares.push_back(scale_mark);
    plan.again_after = Nanos(0);
  }
  return {};
}

// Jobs of a queue that spans clusters are marked for whoever forwards them.
void plan_forwarding(const JobView& view, Plan& plan) {
  const model::VcJob& job = *view.job;
  if (view.queue->spec.extendClusters.empty() || job.metadata.annotation(kForwarding) == "true")
    return;
  json::Object annotations{{kForwarding, "true"}};
  plan.add(Purpose::spec,
           merge_patch(
               kube::resources::vcjobs, kube::Key{job.metadata.ns, job.metadata.name},
               json::Object{{"metadata", json::Object{{"annotations", std::move(annotations)}}}}));
}

void delete_pod(const PodRef& pod, PodCounts& counts, Plan& plan) {
  plan.add(Purpose::pod_delete,
           remove(kube::resources::pods, kube::Key{pod->metadata.ns, pod->metadata.name},
                  pod->metadata.uid));
  plan.killed.push_back(pod->metadata.uid);
  ++counts.terminating;
}

// A kill that was cut short may leave pods behind: marked, or of an older version and not yet
// ended.
bool is_left_over(const model::VcJob& job, const model::Pod& pod) {
  if (is_out_of_sync(pod)) return true;
  if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") return false;
  std::optional<std::int32_t> version = pod_version(pod);
  return version && *version < job.status.version;
}

// Which pods the job wants, without a list of them all: replicas may be many.
class WantedPods {
 public:
  explicit WantedPods(const model::VcJob& job) {
    for (const model::TaskSpec& task : job.spec.tasks)
      replicas_[pod_name(job.metadata.name, task.name, 0)] = task.replicas;
  }
  bool contains(const std::string& name) const {
    std::size_t digits = name.rfind('-') + 1;
    std::int32_t index = -1;
    const char* end = name.data() + name.size();
    auto [stop, error] = std::from_chars(name.data() + digits, end, index);
    if (error != std::errc() || stop != end || (name[digits] == '0' && index != 0)) return false;
    auto found = replicas_.find(name.substr(0, digits) + "0");
    return found != replicas_.end() && index < found->second;
  }

 private:
  std::map<std::string, std::int32_t> replicas_;  // of each task, by the name of its first pod
};

// Pods that exist: count them, and end those beyond the scale or left over. Returns the names that
// are taken.
std::set<std::string> plan_existing(const JobView& view, PodCounts& counts, Plan& plan) {
  std::set<std::string> taken;
  WantedPods wanted(*view.job);
  for (const PodRef& pod : view.pods) {
    taken.insert(pod->metadata.name);
    bool surplus = !wanted.contains(pod->metadata.name);
    if (!pod->metadata.deletionTimestamp && (surplus || is_left_over(*view.job, *pod)))
      delete_pod(pod, counts, plan);
    else
      counts.add(*pod);
  }
  return taken;
}

// As many as a round may carry; the next one goes on. The status counts pods that exist, not these:
// their creation may be refused.
Result<void> plan_missing(const JobView& view, const std::set<std::string>& taken, Plan& plan) {
  std::size_t bytes = 0;
  for (const model::TaskSpec& task : view.job->spec.tasks) {
    if (!dependencies_ready(view, task)) continue;
    std::size_t each = 0;  // the pods of a task are alike
    for (std::int32_t i = 0; i < task.replicas; ++i) {
      if (taken.contains(pod_name(view.job->metadata.name, task.name, i))) continue;
      if (bytes > kRoundBytes) {
        plan.goes_on = true;
        return {};
      }
      json::Value pod = TRY(make_pod(view, task, i));
      if (each == 0) each = json::serialize(pod).size();
      bytes += each;
      plan.add(Purpose::pod_create,
               create(kube::resources::pods, view.job->metadata.ns, std::move(pod)));
    }
  }
  return {};
}

// A new job as it is first seen, before anything of it is made.
Plan first_status(const JobView& view) {
  model::VcJobStatus status = with_counts(view.job->status, view.job->spec, {});
  status.state.phase = text(Phase::pending);
  stamp(status, view.now);
  Plan plan;
  plan.phase_changed = true;
  plan.add(Purpose::status, status_patch(*view.job, status));
  plan.goes_on = true;
  return plan;
}

// The round that cannot go on. A job without a status gets one first and fails in the next round.
Plan failed(const JobView& view, const char* reason, const std::string& what, const Error& error) {
  if (view.job->status.state.phase.empty()) return first_status(view);
  Plan plan;
  plan.events.push_back({"Warning", reason, what + error.message});
  plan.error = error;
  return plan;
}

}  // namespace

Plan sync_job(const JobView& view, Rule rule) {
  const model::VcJob& job = *view.job;
  Plan plan;
  if (!view.queue) {
    plan.error = Error{Code::not_found, "queue \"" + job.spec.queue + "\" not found"};
    return plan;
  }
  if (auto naming = name_claims(job)) {
    plan.add(Purpose::spec, std::move(*naming));
  } else {
    plan_forwarding(view, plan);
  }
  if (!plan.writes.empty()) {  // the job's revision moves; the next round goes on from there
    plan.again_after = Nanos(0);
    return plan;
  }

  model::VcJobStatus status = job.status;
  bool claims_ready = true;
  Result<void> made =
      view.plugin_error ? std::unexpected(*view.plugin_error) : plan_plugins(view, status, plan);
  if (!made)
    return failed(view, "PluginError", "Execute plugin when job add failed, err: ", made.error());
  if (plan.again_after) return plan;
  if (Result<void> made = make_claims(view, status, plan); !made) {
    plan.events.push_back(
        {"Warning", "PVCError", "Failed to create PVC, err: " + made.error().message});
    plan.again_after = kClaimRetry;
    claims_ready = false;
  }
  if (claims_ready)
    if (Result<bool> planned = plan_pod_group(view, plan); !planned)
      return failed(view, "PodGroupError", "Failed to create PodGroup, err: ", planned.error());

  PodCounts counts;
  bool open = claims_ready && may_create_pods(view.pod_group.get());
  std::set<std::string> taken = plan_existing(view, counts, plan);
  if (open && !plan.prepares.empty()) {
    plan.goes_on = true;  // no pod before what the plugins make is there
  } else if (open) {
    if (Result<void> made = plan_missing(view, taken, plan); !made)
      return failed(view, "FailedCreate", "Error creating pods: ", made.error());
  }

  model::VcJobStatus after = with_counts(status, job.spec, counts);
  after.runningDuration.clear();
  plan.phase_changed = apply_rule(rule, job.spec, after);
  if (plan.phase_changed) give_reason(view, Action::sync, Request{}, after);
  mark_plugin_objects(view, job.status, after);
  plan.clears_prepared = !may_make_objects(after);
  if (same(after, job.status)) return plan;
  stamp(after, view.now);
  plan.add(Purpose::status, status_patch(job, after));
  return plan;
}

}  // namespace hekla::controllers
