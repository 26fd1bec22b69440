#include "controllers/volcano_controllers.h"

#include "controllers/volcano/caches.h"
#include "controllers/volcano/commands.h"
#include "controllers/volcano/cron/cron_controller.h"
#include "controllers/volcano/flow/flow_controller.h"
#include "controllers/volcano/gc/job_ttl.h"
#include "controllers/volcano/hypernode/hyper_node_controller.h"
#include "controllers/volcano/job/job_controller.h"
#include "controllers/volcano/phase_metrics.h"
#include "controllers/volcano/podgroup/pod_group_controller.h"
#include "controllers/volcano/queue/queue_controller.h"
#include "framework/kind_controller.h"
#include "kube/events.h"

namespace hekla::controllers {

struct VolcanoControllers::Parts {
  Caches caches;
  kube::EventRecorder events;
  std::optional<JobController> jobs;
  std::optional<QueueController> queues;
  std::optional<PodGroupController> groups;
  std::optional<JobTtlController> ttl;
  std::optional<framework::KindController> crons;
  std::optional<FlowController> flows;
  std::optional<HyperNodeController> hyper_nodes;
  CommandBus bus;
  std::optional<PhaseMetrics> phases;

  Parts(kube::Client& client, const Options& options, Metrics* metrics)
      : caches(client), events(client, "vc-controller-manager"), bus(caches) {
    auto runs = [&](const char* name) { return !options.disabled.contains(name); };
    if (runs("job-controller"))
      jobs.emplace(client, caches, events, metrics, options.max_requeue, options.plugin_defaults);
    if (runs("queue-controller")) queues.emplace(caches, events, options.max_requeue);
    if (runs("pg-controller"))
      groups.emplace(caches, PodGroupController::Options{options.scheduler_names,
                                                         options.inherit_owner_annotations,
                                                         options.follow_owners});
    if (runs("gc-controller")) ttl.emplace(caches);
    if (runs("cronjob-controller")) crons.emplace(caches.set, cron_kind());
    FlowController::Parts flow_parts{runs("jobflow-controller"), runs("jobtemplate-controller")};
    flows.emplace(caches, flow_parts);
    if (runs("hyperNode-controller")) hyper_nodes.emplace(client);
    if (metrics) phases.emplace(caches, flow_parts.flows || flow_parts.templates, *metrics);
    if (jobs)
      bus.on_command("Job", [this](const model::Command& command) { jobs->command(command); });
    if (queues && options.queue_commands)
      bus.on_command("Queue", [this](const model::Command& command) { queues->command(command); });
    caches.set.on_synced([this] { enable(); });
  }

  void enable() {
    if (jobs) jobs->enable();
    if (queues) queues->enable();
    if (ttl) ttl->enable();
    bus.enable();
  }
};

VolcanoControllers::VolcanoControllers(kube::Client& client, Options options, Metrics* metrics)
    : parts_(std::make_unique<Parts>(client, options, metrics)) {}

VolcanoControllers::~VolcanoControllers() = default;

const std::vector<std::string>& VolcanoControllers::names() {
  static const std::vector<std::string> names = {
      "job-controller",     "queue-controller",   "pg-controller",          "gc-controller",
      "cronjob-controller", "jobflow-controller", "jobtemplate-controller", "hyperNode-controller"};
  return names;
}

void VolcanoControllers::start() {
  parts_->caches.set.start();
  if (parts_->hyper_nodes) parts_->hyper_nodes->start();
}

void VolcanoControllers::set_pod_streams(kube::PodStreams* streams) {
  if (parts_->flows) parts_->flows->set_pod_streams(streams);
}

bool VolcanoControllers::synced() const { return parts_->caches.set.synced(); }

}  // namespace hekla::controllers
