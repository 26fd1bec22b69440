#include "main/cluster/operator.h"

#include <cstdlib>

#include "base/log.h"
#include "controllers/training_controllers.h"
#include "controllers/workbench_controllers.h"
#include "main/cluster/admission_front.h"
#include "main/cluster/cluster_process.h"
#include "main/cluster/components.h"
#include "main/training_runtimes.h"
#include "model/time.h"

namespace hekla {
namespace {

constexpr const char* kUsualNamespace = "hekla-system";
// The steps by which a part answers reviews, by what their paths begin with. Steps about every pod
// of the cluster (/pods/...) serve only whom --enabled-admission names them: with the operator gone
// nobody could create pods.
struct AdmissionPaths {
  const char* part;
  std::vector<std::string_view> begins;
};
const AdmissionPaths kAdmission[] = {
    {"volcano", {"/jobs/", "/podgroups/", "/queues/", "/hypernodes/", "/cronjobs/", "/jobflows/"}},
    {"training",
     {"/validate-kubeflow-org-", "/mpijobs/", "/jobversions/", "/validate-trainer-",
      "/mutate-trainer-", "/validate-jobset-", "/mutate-jobset-"}},
    {"workbench", {"/apply-poddefault"}},
};

std::vector<std::string> admission_paths(const cli::OperatorOptions& options) {
  std::vector<std::string> paths;
  for (const AdmissionPaths& of : kAdmission) {
    if (!options.has(of.part)) continue;
    for (const admission::Step* step : admission::all_steps())
      if (std::ranges::any_of(of.begins, [&](auto begin) { return step->path.starts_with(begin); }))
        paths.emplace_back(step->path);
  }
  return paths;
}

// The namespace of the process's own objects: as told, else where its pod is.
std::string namespace_of(const cli::OperatorOptions& options) {
  if (!options.ns.empty()) return options.ns;
  if (!options.kubeconfig.empty() || !options.master.empty()) return kUsualNamespace;
  Result<kube::ClusterAccess> pod = kube::in_cluster_access();
  return pod ? pod->default_namespace : kUsualNamespace;
}

// Settings that the parts share are given once.
cli::OperatorOptions completed(cli::OperatorOptions options) {
  options.ns = namespace_of(options);
  options.lease_namespace = options.ns;
  options.webhook.ns = options.ns;
  for (cli::ComponentOptions* part : std::initializer_list<cli::ComponentOptions*>{
           &options.scheduler, &options.controllers, &options.webhook}) {
    part->scheduler_names = options.scheduler_names;
    part->feature_gates = options.feature_gates;
  }
  if (options.webhook.enabled.empty()) options.webhook.enabled = admission_paths(options);
  return options;
}

controllers::TrainingControllers::Options training_options(const cli::TrainingFlags& flags) {
  controllers::TrainingControllers::Options options;
  options.kinds.insert(flags.kinds.begin(), flags.kinds.end());
  options.jobs.gang_scheduler = flags.gang_scheduler;
  options.jobs.pytorch_init_image = flags.pytorch_init_image;
  options.jobs.pytorch_init_tries = flags.pytorch_init_tries;
  if (!flags.kubectl_image.empty()) options.jobs.kubectl_delivery_image = flags.kubectl_image;
  if (const char* domain = std::getenv("CUSTOM_CLUSTER_DOMAIN"))
    options.jobs.cluster_domain = domain;
  return options;
}

// Members are destroyed in reverse order: loops last, and stopped by then.
struct Operator {
  explicit Operator(ClusterProcess& of) : process(of) {}
  ~Operator() { stop(); }
  Result<void> make(const cli::OperatorOptions& options);
  Result<void> make_controllers(const cli::OperatorOptions& options);
  void start();
  // From here on nothing is decided any more; admission goes on.
  void stop();

  ClusterProcess& process;
  Loop scheduler_loop{"scheduler"}, controllers_loop{"controllers"};
  std::unique_ptr<kube::Client> scheduler_client, volcano_client, training_client, workbench_client;
  SchedulerWork scheduling;
  std::unique_ptr<controllers::VolcanoControllers> volcano;
  std::unique_ptr<controllers::TrainingControllers> training;
  std::unique_ptr<controllers::WorkbenchControllers> workbench;
  bool with_runtimes = false;  // those that the Trainer brings along
};

Result<void> Operator::make(const cli::OperatorOptions& options) {
  if (options.has("scheduler")) {
    scheduler_client = TRY(process.make_client(scheduler_loop, {options.scheduler_names.front()}));
    scheduler::Options chosen;
    chosen.configuration_map.ns = options.ns;
    chosen.event_client = &process.client();
    scheduling = TRY(
        make_scheduler(options.scheduler, *scheduler_client, std::move(chosen), process.metrics()));
  }
  return make_controllers(options);
}

Result<void> Operator::make_controllers(const cli::OperatorOptions& options) {
  if (options.has("volcano")) {
    volcano_client = TRY(process.make_client(controllers_loop, {"vc-controller-manager"}));
    volcano = std::make_unique<controllers::VolcanoControllers>(
        *volcano_client, TRY(controllers_options(options.controllers)), process.metrics());
  }
  if (options.has("training")) {
    training_client = TRY(process.make_client(controllers_loop, {"training-operator"}));
    training = std::make_unique<controllers::TrainingControllers>(
        *training_client, training_options(options.training), process.metrics());
    with_runtimes = options.training.kinds.empty();
  }
  if (options.has("workbench")) {
    workbench_client = TRY(process.make_client(controllers_loop, {"hekla-workbench"}));
    workbench = std::make_unique<controllers::WorkbenchControllers>(
        *workbench_client, controllers::workbench::WorkbenchOptions());
  }
  return {};
}

void Operator::start() {
  if (scheduling.scheduler) scheduler_loop.post([this] { scheduling.scheduler->start(); });
  controllers_loop.post([this] {
    if (volcano) volcano->start();
    if (training) {
      training->start();
      if (with_runtimes) install_training_runtimes(*training_client);
    }
    if (workbench) workbench->start();
  });
}

void Operator::stop() {
  scheduler_loop.stop();
  controllers_loop.stop();
}

}  // namespace

int run_operator(const cli::OperatorOptions& given) {
  const cli::OperatorOptions options = completed(given);
  Result<Nanos> linger = model::parse_go_duration(options.linger);
  if (!linger) return complain_of(linger.error());
  if (Result<void> checked = AdmissionFront::check(options.webhook); !checked)
    return complain_of(checked.error());
  ClusterProcess process(options, options.name);
  if (Result<void> opened = process.open(); !opened) return complain_of(opened.error());
  Operator all(process);
  if (Result<void> made = all.make(options); !made) return complain_of(made.error());
  std::unique_ptr<AdmissionFront> admission;
  if (options.has("webhook")) {
    Result<std::unique_ptr<AdmissionFront>> front =
        AdmissionFront::create(options.webhook, process.client());
    if (!front) return complain_of(front.error());
    admission = std::move(*front);
    process.loop().post([&admission] { admission->start(); });
    process.ready_when([&admission] { return admission->ready(); });
  }
  const int code = process.run(
      options.leader_elect,
      {.start = [&all] { all.start(); }, .stop = [&all] { all.stop(); }, .linger = *linger});
  all.stop();
  return code;
}

}  // namespace hekla
