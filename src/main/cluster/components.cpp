#include "main/cluster/components.h"

#include <algorithm>

#include "base/disk.h"
#include "base/log.h"
#include "cli/component_flags.h"
#include "cli/verb.h"
#include "main/cluster/admission_front.h"
#include "main/cluster/cluster_process.h"
#include "model/time.h"

namespace hekla {
namespace {

// Gangs are mostly placed within it, and what they waited for is then nobody's concern.
constexpr Nanos kConditionDelay = std::chrono::seconds(1);

// Gates that switch something here; others are logged.
void apply_gates(const std::map<std::string, bool>& gates,
                 controllers::VolcanoControllers::Options& chosen) {
  for (const auto& [name, on] : gates) {
    if (name == "WorkLoadSupport")
      chosen.follow_owners = on;
    else if (name == "QueueCommandSync")
      chosen.queue_commands = on;
    else if (name == "VolcanoJobSupport" && !on)
      chosen.disabled.insert("job-controller");
    else if ((name == "CronVolcanoJobSupport" || name == "VolcanoCronJobSupport") && !on)
      chosen.disabled.insert("cronjob-controller");
    else
      log_info("vc-controller-manager", "a feature gate changes nothing here",
               {{"gate", name}, {"value", on ? "true" : "false"}});
  }
}

}  // namespace

Result<controllers::VolcanoControllers::Options> controllers_options(
    const cli::ControllersOptions& options) {
  // Volcano has them, this binary does not.
  static const std::vector<std::string> absent = {"sharding-controller",
                                                  "colocation-config-controller"};
  controllers::VolcanoControllers::Options chosen;
  chosen.scheduler_names = options.scheduler_names;
  chosen.inherit_owner_annotations = options.inherit_owner_annotations;
  chosen.max_requeue = options.max_requeue;
  std::vector<std::string> disabled = TRY(cli::disabled_controllers(
      options.controllers, controllers::VolcanoControllers::names(), absent));
  chosen.disabled.insert(disabled.begin(), disabled.end());
  for (const std::string& name : absent)
    for (const std::string& wanted : {name, "+" + name})
      if (std::find(options.controllers.begin(), options.controllers.end(), wanted) !=
          options.controllers.end())
        log_warn("vc-controller-manager", "a controller is not there", {{"controller", name}});
  apply_gates(TRY(cli::parse_feature_gates(options.feature_gates)), chosen);
  return chosen;
}

Result<SchedulerWork> make_scheduler(const cli::SchedulerOptions& options, kube::Client& client,
                                     scheduler::Options chosen, Metrics* metrics) {
  SchedulerWork work;
  if (!options.configuration.empty())
    chosen.read_configuration = [path = options.configuration] { return read_file(path); };
  chosen.period = TRY(model::parse_go_duration(options.period));
  chosen.default_queue = options.default_queue;
  // Pods of the default scheduler belong to the cluster's own.
  chosen.scheduler_names = options.scheduler_names;
  chosen.single_pod_schedulers.clear();
  chosen.condition_delay = kConditionDelay;
  chosen.events_by_gang = true;
  const NodeLabels nodes = TRY(parse_node_selector(options.node_selector));
  for (const auto& [name, on] : TRY(cli::parse_feature_gates(options.feature_gates)))
    log_info("vc-scheduler", "a feature gate changes nothing here",
             {{"gate", name}, {"value", on ? "true" : "false"}});
  if (!nodes.empty()) work.some_nodes = std::make_unique<NodeFilter>(client, nodes);
  work.http = TRY(kube::make_http());
  chosen.http = work.http.get();
  work.scheduler = TRY(scheduler::Scheduler::create(
      std::move(chosen), work.some_nodes ? *work.some_nodes : client, metrics));
  return work;
}

int run_controllers(const cli::ControllersOptions& options) {
  Result<controllers::VolcanoControllers::Options> chosen = controllers_options(options);
  if (!chosen) return complain_of(chosen.error());
  ClusterProcess process(options, "vc-controller-manager");
  if (Result<void> opened = process.open(); !opened) return complain_of(opened.error());
  auto controllers = std::make_unique<controllers::VolcanoControllers>(process.client(), *chosen,
                                                                       process.metrics());
  return process.run(options.leader_elect, {[&controllers] { controllers->start(); }});
}

int run_scheduler(const cli::SchedulerOptions& options) {
  ClusterProcess process(options, options.scheduler_names.front());
  if (Result<void> opened = process.open(); !opened) return complain_of(opened.error());
  Result<SchedulerWork> work = make_scheduler(options, process.client(), {}, process.metrics());
  if (!work) return complain_of(work.error());
  return process.run(options.leader_elect, {[&work] { work->scheduler->start(); }});
}

int run_webhook(const cli::WebhookOptions& options) {
  if (Result<void> checked = AdmissionFront::check(options); !checked)
    return complain_of(checked.error());
  ClusterProcess process(options, "vc-webhook-manager");
  if (Result<void> opened = process.open(); !opened) return complain_of(opened.error());
  Result<std::unique_ptr<AdmissionFront>> front = AdmissionFront::create(options, process.client());
  if (!front) return complain_of(front.error());
  process.ready_when([&front] { return (*front)->ready(); });
  return process.run(false, {[&front] { (*front)->start(); }});
}

}  // namespace hekla
