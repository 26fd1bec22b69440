#include "controllers/volcano_controllers.h"

#include "controllers/cron/cron_controller.h"
#include "controllers/flow/flow_controller.h"
#include "controllers/framework/caches.h"
#include "controllers/framework/commands.h"
#include "controllers/gc/job_ttl.h"
#include "controllers/hypernode/hyper_node_controller.h"
#include "controllers/job/job_controller.h"
#include "controllers/podgroup/pod_group_controller.h"
#include "controllers/queue/queue_controller.h"
#include "kube/events.h"

namespace hekla::controllers {

struct VolcanoControllers::Parts {
  Caches caches;
  kube::EventRecorder events;
  JobController jobs;
  QueueController queues;
  PodGroupController groups;
  JobTtlController ttl;
  CronController crons;
  FlowController flows;
  HyperNodeController hyper_nodes;
  CommandBus bus;

  Parts(kube::Client& client, const Options& options, Metrics* metrics)
      : caches(client),
        events(client, "vc-controller-manager"),
        jobs(client, caches, events, metrics),
        queues(client, caches, events),
        groups(client, caches, {options.scheduler_names, options.inherit_owner_annotations}),
        ttl(client, caches),
        crons(client, caches, events),
        flows(client, caches, events),
        hyper_nodes(client),
        bus(client, caches) {
    bus.on_command("Job", [this](const model::Command& command) { jobs.command(command); });
    bus.on_command("Queue", [this](const model::Command& command) { queues.command(command); });
    caches.on_synced([this] {
      jobs.enable();
      queues.enable();
      groups.enable();
      ttl.enable();
      crons.enable();
      flows.enable();
      bus.enable();
    });
  }
};

VolcanoControllers::VolcanoControllers(kube::Client& client, Options options, Metrics* metrics)
    : parts_(std::make_unique<Parts>(client, options, metrics)) {}

VolcanoControllers::~VolcanoControllers() = default;

void VolcanoControllers::start() {
  parts_->caches.start();
  parts_->crons.start();
  parts_->flows.start();
  parts_->hyper_nodes.start();
}

void VolcanoControllers::set_pod_streams(kube::PodStreams* streams) {
  parts_->flows.set_pod_streams(streams);
}

bool VolcanoControllers::synced() const { return parts_->caches.synced(); }

}  // namespace hekla::controllers
