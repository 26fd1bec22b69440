#include "cli/jobs/why_waiting.h"

#include "base/clock.h"
#include "base/disk.h"
#include "cli/cluster.h"
#include "scheduler/loop/companion_resources.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::seconds kFirst{2}, kLongest{30};

Result<std::string> cluster_configuration(ApiSession& session) {
  Result<json::Value> map =
      session.call("GET", ApiSession::path_of(kube::resources::config_maps, "volcano-system",
                                              "volcano-scheduler-configmap"));
  if (!map) {
    if (map.error().code == Code::not_found || map.error().code == Code::forbidden)
      return std::string();
    return std::unexpected(map.error());
  }
  return std::string(json::string_at(*map, {"data", "volcano-scheduler.conf"}));
}

// A job that has pods that run, or has ended, is past waiting.
bool waits(const JobState& state) {
  return !state.ended && state.word != "Running" && state.word != "Completing";
}

}  // namespace

Result<scheduler::World> read_world(ApiSession& session, const std::string& scheduler_conf) {
  scheduler::World world;
  world.now = real_clock().wall();
  for (const kube::Resource& resource :
       {kube::resources::nodes, kube::resources::pods, kube::resources::pod_groups,
        kube::resources::queues, kube::resources::priority_classes, kube::resources::vcjobs})
    for (const json::Value& object : TRY(list_objects(session, resource))) TRY(world.add(object));
  for (const JobKind& kind : job_kinds())
    if (kind.resource->group != kube::resources::vcjobs.group)
      for (const json::Value& object : TRY(list_objects(session, *kind.resource, true)))
        TRY(world.add(object));
  for (const json::Value& object : TRY(list_objects(session, kube::resources::events, true)))
    TRY(world.add(object));
  for (const kube::Resource& resource : scheduler::companion_resources())
    for (const json::Value& object : TRY(list_objects(session, resource, true)))
      TRY(world.add(object));
  world.configuration =
      scheduler_conf.empty() ? TRY(cluster_configuration(session)) : TRY(read_file(scheduler_conf));
  return world;
}

WhyWaiting::WhyWaiting(const kube::ClusterAccess& access, std::vector<JobRef> jobs, Tell tell)
    : access_(access),
      jobs_(std::move(jobs)),
      tell_(std::move(tell)),
      told_(jobs_.size()),
      pause_(kFirst) {
  loop_.post_after(pause_, [this] { look(); });
}

WhyWaiting::~WhyWaiting() { loop_.stop(); }

// A job that cannot be explained, for want of rights or because it has gone meanwhile, is left
// unsaid.
void WhyWaiting::look() {
  if (!session_)
    if (Result<std::unique_ptr<ApiSession>> opened = ApiSession::open(access_); opened)
      session_ = std::move(*opened);
  for (const JobRef& job : jobs_)
    if (session_) (void)explain(job);
  pause_ = std::min<Nanos>(pause_ * 2, kLongest);
  loop_.post_after(pause_, [this] { look(); });
}

Result<void> WhyWaiting::explain(const JobRef& job) {
  const json::Value object = TRY(
      session_->call("GET", ApiSession::path_of(*job.kind->resource, job.key.ns, job.key.name)));
  if (!waits(state_of(*job.kind, object))) return {};
  const scheduler::World world = TRY(read_world(*session_));
  const scheduler::Explanation made =
      TRY(scheduler::explain(world, std::string(job.kind->title), job.key.ns, job.key.name));
  std::string text;
  for (const scheduler::Finding& finding : made.findings) {
    text += (text.empty() ? "" : "\n") + finding.text;
    if (!finding.advice.empty()) text += "\n-> " + finding.advice;
  }
  std::string& told = told_[static_cast<std::size_t>(&job - jobs_.data())];
  if (!text.empty() && text != told) tell_(job, text);
  told = std::move(text);
  return {};
}

}  // namespace hekla::cli
