#include "agent/agent.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>

#include "agent/image/masked_paths.h"
#include "agent/image/recipe.h"
#include "agent/machine/linux_machine.h"
#include "agent/node/node.h"
#include "agent/node/node_network.h"
#include "agent/node/node_pods.h"
#include "agent/node/node_storage.h"
#include "agent/node/node_upkeep.h"
#include "agent/os/oom_score.h"
#include "agent/os/user_namespace.h"
#include "agent/streams/node_streams.h"
#include "base/build_info.h"
#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"
#include "kube/informer.h"
#include "model/in_process.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kRelistPeriod{10};
constexpr std::chrono::seconds kRefreshPeriod{60};

bool is_terminal(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool is_in_process(const model::Pod& pod) {
  return pod.metadata.annotations.contains(model::kInProcess);
}

Result<void> check_machine(const std::string& data_dir) {
  if (::geteuid() != 0)
    return fail(Code::forbidden, "running pods needs root: start hekla with sudo");
  // Both separate things in overlayfs' mount options.
  if (data_dir.find_first_of(",:\\") != std::string::npos)
    return fail(Code::bad_request,
                "the data directory " + data_dir + " must not contain a comma, colon or backslash");
  return {};
}

Result<FileDescriptor> lock_data_dir(const std::string& data_dir) {
  std::string path = data_dir + "/agent.lock";
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!file) return errno_error("create " + path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::conflict, "another hekla runs pods from " + data_dir);
  return file;
}

std::string read_or_empty(const std::string& path) { return read_file(path).value_or(""); }

Result<std::vector<std::string>> hidden_from_pods(const Options& options) {
  std::vector<std::string> own = options.hidden_paths;
  if (std::string home = rootless_home(); !home.empty()) own.push_back(std::move(home));
  std::vector<std::string> out = TRY(remember_masked(options.data_dir, std::move(own)));
  const std::string registry = options.announced ? instance_registry() : "";
  if (registry.empty()) return out;
  for (std::string& other : TRY(remember_instance(registry, options.data_dir)))
    out.push_back(std::move(other));
  return out;
}

}  // namespace

// Lives on the client's executor, except for what create() sets up.
struct Agent::State final : PodObserver, std::enable_shared_from_this<Agent::State> {
  State(Options options, kube::Client& client, Metrics* metrics)
      : options(std::move(options)),
        client(client),
        metrics(metrics),
        events(client, "kubelet", this->options.node_name),
        pod_objects(
            client, kube::resources::pods,
            kube::ListOptions{.field_selector = "spec.nodeName=" + this->options.node_name}),
        services(client, kube::resources::services) {}

  Options options;
  kube::Client& client;
  Metrics* metrics;
  FileDescriptor lock;
  GpuPool gpus;
  GpuDriver gpu_driver;
  kube::EventRecorder events;
  kube::Informer<AgentPod> pod_objects;
  kube::Informer<model::Service> services;
  // Each part stands on those before it.
  std::unique_ptr<LinuxMachine> machine;
  std::unique_ptr<PodContext> context;
  std::unique_ptr<NodePods> pods;
  std::shared_ptr<NodeNetwork> network;
  std::unique_ptr<NodeStorage> storage;
  std::shared_ptr<StreamSource> stream_source;
  std::unique_ptr<NodeStreams> streams;
  std::unique_ptr<NodeRegistration> node;
  std::unique_ptr<NodeUpkeep> upkeep;
  bool adopted = false;  // the first list has been seen
  bool started = false;
  bool stopping = false;
  bool keeping = false;  // pods run on after the end
  std::move_only_function<void()> stopped;

  Result<void> open(const MachineFacts& facts);
  Result<void> open_gpus();
  Result<void> open_machine(const MachineFacts& facts);
  Result<void> open_network(const MachineFacts& facts);
  Result<void> open_streams();
  Result<void> make_context(const MachineFacts& facts, const model::ResourceList& capacity);
  void start();
  void settle();
  void pod_object_changed(const AgentPodPtr& before, const AgentPodPtr& after);
  void take_in(const AgentPodPtr& pod);
  void add_worker(const AgentPodPtr& pod, PodRecord record, bool adopt);
  void adopt_orphan(const PodRecord& record);
  void container_exited(const std::string& id);
  void every(Nanos period, void (PodWorker::*call)());
  void pod_changed() override;
  void pod_gone(const std::string& uid) override;
  void count_pods();
  void shut_down(bool keep_pods, std::move_only_function<void()> done);
  void end_pods();
  void finish_shutdown();
  void leave_machine();
};

Result<void> Agent::State::open(const MachineFacts& facts) {
  lock = TRY(lock_data_dir(options.data_dir));
  TRY(open_gpus());
  TRY(open_machine(facts));
  NodeOptions node_options{options.node_name, facts, options.node_resources, options.pod_cidr,
                           build_info().kubernetes};
  const model::ResourceList capacity = node_capacity(node_options);
  pods = std::make_unique<NodePods>(services, capacity);
  TRY(open_network(facts));
  storage = TRY(NodeStorage::open(client, *machine, *pods, options.data_dir, options.node_name));
  TRY(open_streams());
  TRY(make_context(facts, capacity));
  node = std::make_unique<NodeRegistration>(client, std::move(node_options));
  upkeep = TRY(NodeUpkeep::make({client, *machine, *node, events, *pods, options.node_name},
                                options.eviction, options.image_gc));
  return {};
}

// Cards that were found are offered, unless the options declare others.
Result<void> Agent::State::open_gpus() {
  gpu_driver = find_gpus();
  if (const auto found = static_cast<std::int64_t>(gpu_driver.cards.size()); found > 0)
    options.node_resources.try_emplace(kGpuResource, model::Quantity::of(found));
  auto declared = options.node_resources.find(kGpuResource);
  if (declared == options.node_resources.end()) return {};
  gpus = {static_cast<int>(declared->second.value()), std::max(1, options.gpu_replicas)};
  // Time slices are offered as if each were a card.
  declared->second = TRY(model::Quantity::parse(std::to_string(gpus.cards * gpus.replicas)));
  return {};
}

Result<void> Agent::State::open_machine(const MachineFacts& facts) {
  LinuxMachineOptions out;
  out.data_dir = options.data_dir;
  out.programs = TRY(find_programs(options.runtime, program_directories()));
  out.subnet = TRY(Subnet::parse(options.pod_cidr));
  out.hidden_paths = TRY(hidden_from_pods(options));
  out.own_ranges = TRY(net::OwnRanges::parse({options.pod_cidr, options.service_cidr}));
  out.registries = {options.insecure_registries, TRY(parse_mirrors(options.registry_mirrors)),
                    TRY(parse_authorities(options.registry_authorities))};
  out.registries.own_ranges = out.own_ranges;
  out.pod_max_pids = options.pod_max_pids;
  out.outside = options.outside;
  out.link_local = options.link_local;
  out.pod_cidr = options.pod_cidr;
  out.service_cidr = options.service_cidr;
  out.threads = std::max(4, facts.cpus);
  auto exited = [self = weak_from_this()](const std::string& id) {
    if (auto state = self.lock()) state->container_exited(id);
  };
  machine = TRY(LinuxMachine::open(std::move(out), client.executor(), std::move(exited)));
  return {};
}

Result<void> Agent::State::open_network(const MachineFacts& facts) {
  NodeNetwork::Options out;
  out.pods = TRY(Subnet::parse(options.pod_cidr));
  out.services = TRY(Subnet::parse(options.service_cidr));
  out.service_cidr = options.service_cidr;
  out.node_address = facts.address;
  out.cluster_domain = options.cluster_domain;
  out.resolv_conf = options.resolv_conf;
  network = TRY(NodeNetwork::open({client, events, *machine, *pods, services}, std::move(out)));
  return {};
}

Result<void> Agent::State::open_streams() {
  stream_source = std::make_shared<StreamSource>(client, *pods, *machine, options.node_name);
  streams = TRY(NodeStreams::open(client.executor(), *machine, *stream_source));
  return {};
}

Result<void> Agent::State::make_context(const MachineFacts& facts,
                                        const model::ResourceList& capacity) {
  context = std::make_unique<PodContext>(PodContext{client, events, *machine, *pods, *this});
  context->policies = &network->policies();
  context->claims = &storage->claims();
  context->metrics = metrics;
  context->token_source = options.token_source;
  context->images = TRY(ImageMap::parse(options.image_map));
  context->usual_images = TRY(ImageMap::parse(default_image_map()));
  context->api = {options.api_host, options.api_port};
  context->host_api = options.host_api;
  context->runtime = machine->runtime_name();
  context->node_name = options.node_name;
  context->host_ip = facts.address;
  context->cluster_domain = options.cluster_domain;
  context->dns_address = network->dns_address();
  context->ca_pem = options.ca_pem;
  context->launcher = options.launcher;
  context->host_hosts = read_or_empty("/etc/hosts");
  context->host_resolv_conf = read_or_empty(options.resolv_conf);
  context->allocatable = capacity;
  context->machine_memory_bytes = facts.memory_bytes;
  context->capabilities = grantable_capabilities();
  context->gpus = gpus;
  context->gpu_driver = gpu_driver;
  context->apparmor = read_apparmor();
  context->default_seccomp = options.default_seccomp;
  return {};
}

void Agent::State::start() {
  if (stopping) return;
  started = true;
  pod_objects.on_change([this](const auto& before, const auto& after) {
    if (adopted) pod_object_changed(before, after);
  });
  // Services first: environment variables and names are computed from them.
  pod_objects.on_settled([this] { settle(); });
  services.on_change([this](const auto&, const auto&) {
    if (network)
      network->services_changed();  // events come until the loop stops, after the end too
  });
  services.on_settled([this] { settle(); });
  services.start();
  network->start();
  pod_objects.start();
  node->start();
  storage->start();
  every(kRelistPeriod, &PodWorker::look);
  every(kRefreshPeriod, &PodWorker::refresh_volumes);
}

// Once both lists are there: pods found on disk meet the API's.
void Agent::State::settle() {
  if (adopted || !pod_objects.synced() || !services.synced()) return;
  if (stopping && (keeping || machine->found().empty())) return;
  adopted = true;
  std::map<std::string, AgentPodPtr> wanted;
  pod_objects.for_each([&](const AgentPodPtr& pod) { wanted.emplace(pod->metadata.uid, pod); });
  for (const PodRecord& record : machine->found()) {
    auto found = wanted.find(record.uid);
    if (found == wanted.end()) {
      adopt_orphan(record);
      continue;
    }
    log_info("agent", "adopt a pod", {{"namespace", record.ns}, {"pod", record.name}});
    add_worker(found->second, record, true);
    wanted.erase(found);
  }
  if (stopping) return end_pods();  // the others are left to the next start
  for (const auto& [uid, pod] : wanted) pod_object_changed(nullptr, pod);
  network->make_dns_service();
  upkeep->start();  // now that it is known who runs here
}

void Agent::State::adopt_orphan(const PodRecord& record) {
  log_info("agent", "remove what is left of a pod that is gone",
           {{"namespace", record.ns}, {"pod", record.name}});
  auto pod = std::make_shared<AgentPod>();
  pod->metadata.uid = record.uid;
  pod->metadata.ns = record.ns;
  pod->metadata.name = record.name;
  add_worker(pod, record, true);
  if (PodWorker* worker = pods->find(record.uid)) worker->vanish();
}

void Agent::State::add_worker(const AgentPodPtr& pod, PodRecord record, bool adopt) {
  pods->add(std::make_shared<PodWorker>(*context, pod, std::move(record), adopt));
  count_pods();
}

void Agent::State::pod_object_changed(const AgentPodPtr& before, const AgentPodPtr& after) {
  const bool replaced = before && (!after || before->metadata.uid != after->metadata.uid);
  if (replaced)
    if (PodWorker* old = pods->find(before->metadata.uid)) old->vanish();
  if (!after || after->metadata.uid.empty() || after->spec.nodeName != options.node_name) return;
  if (is_in_process(*after)) return;
  if (PodWorker* known = pods->find(after->metadata.uid)) {
    const model::ObjectMeta& old = known->pod()->metadata;
    const bool renamed = old.labels != after->metadata.labels ||
                         old.deletionTimestamp != after->metadata.deletionTimestamp;
    known->update(after);
    if (renamed) pod_changed();
    return;
  }
  if (!stopping && !is_terminal(*after)) take_in(after);
}

// A pod that is new here.
void Agent::State::take_in(const AgentPodPtr& pod) {
  PodRecord record = new_record(*pod, client.executor().clock().wall());
  mark_lost(record, *pod);
  sync_ephemeral(record, *pod);
  add_worker(pod, std::move(record), false);
  if (auto refusal = upkeep->refusal(*pod))
    if (PodWorker* worker = pods->find(pod->metadata.uid)) worker->evict(*refusal, Nanos(0));
}

void Agent::State::container_exited(const std::string& id) {
  for (const auto& [uid, worker] : pods->workers())
    if (id.empty() || worker->has_run(id)) worker->look();
}

void Agent::State::every(Nanos period, void (PodWorker::*call)()) {
  client.executor().post_after(period, [self = weak_from_this(), period, call] {
    auto state = self.lock();
    if (!state || state->stopping) return;
    const NodePods::Workers workers = state->pods->workers();  // a worker may go while we walk
    for (const auto& [uid, worker] : workers) (*worker.*call)();
    state->every(period, call);
  });
}

void Agent::State::pod_changed() {
  if (network) network->changed();
}

void Agent::State::pod_gone(const std::string& uid) {
  pods->remove(uid);
  count_pods();
  pod_changed();
  if (stopping && pods->empty()) finish_shutdown();
}

void Agent::State::count_pods() {
  if (metrics) metrics->gauge("hekla_agent_pods", static_cast<double>(pods->workers().size()));
}

void Agent::State::shut_down(bool keep_pods, std::move_only_function<void()> done) {
  CHECK(!stopping, "an agent is shut down once");
  stopping = true;
  keeping = keep_pods;
  stopped = std::move(done);
  node->stop();
  machine->stop_pulling();
  upkeep.reset();
  if (keep_pods || (!started && !machine->found().empty())) {
    pods->clear();
    return stopped();
  }
  // Pods that were found are compared with the API first: settle() goes on.
  if (started && !adopted && !machine->found().empty()) return;
  end_pods();
}

void Agent::State::end_pods() {
  if (pods->empty()) return finish_shutdown();
  const NodePods::Workers all = pods->workers();
  for (const auto& [uid, worker] : all) worker->shut_down();
}

void Agent::State::finish_shutdown() {
  leave_machine();
  stopped();
}

void Agent::State::leave_machine() {
  network.reset();
  if (storage) storage->stop();
  if (Result<void> removed = machine->remove_instance(); !removed)
    log_warn("agent", "leave the machine clean", {{"error", removed.error().message}});
}

Result<std::unique_ptr<Agent>> Agent::create(Options options, kube::Client& client,
                                             Metrics* metrics) {
  std::error_code error;
  options.data_dir = std::filesystem::absolute(options.data_dir, error).lexically_normal().string();
  while (options.data_dir.size() > 1 && options.data_dir.back() == '/') options.data_dir.pop_back();
  TRY(check_machine(options.data_dir));
  TRY(make_directories(options.data_dir));
  if (options.protect_from_oom && oom_score(::getpid()) > kNodeOomScore)
    TRY(set_oom_score(::getpid(), kNodeOomScore));  // monitors inherit it
  MachineFacts facts = read_machine_facts(options.data_dir);
  if (options.node_name.empty()) options.node_name = facts.hostname;
  auto state = std::make_shared<State>(std::move(options), client, metrics);
  if (Result<void> opened = state->open(facts); !opened) {
    // A start that failed leaves the machine as it was, but never pods without their namespaces.
    if (state->machine && state->machine->found().empty()) state->leave_machine();
    return std::unexpected(std::move(opened).error());
  }
  return std::make_unique<Agent>(Private{}, std::move(state));
}

Agent::Agent(Private, std::shared_ptr<State> state) : state_(std::move(state)) {}

// Everything in State belongs to the loop, so it ends there. A loop that has ended drops the task,
// and the broken promise wakes us all the same.
Agent::~Agent() {
  Executor& executor = state_->client.executor();
  std::promise<void> promise;
  std::future<void> ended = promise.get_future();
  executor.post([state = std::move(state_), promise = std::move(promise)]() mutable {
    state.reset();
    promise.set_value();
  });
  ended.wait();
}

void Agent::start() {
  state_->client.executor().post([state = state_] { state->start(); });
}

net::Socket Agent::take_api_socket() { return state_->network->take_api_socket(); }
Result<net::Socket> Agent::listen_for_pods(std::uint16_t port) {
  return state_->network->listen_for_pods(port);
}
std::string Agent::gateway_address() const { return state_->network->dns_address(); }

void Agent::forward_to(const std::string& address, std::uint16_t port,
                       std::shared_ptr<kube::ForwardClient> client,
                       kube::PodStreams::ForwardReady ready) {
  state_->streams->forward_to(address, port, std::move(client), std::move(ready));
}
kube::PodStreams& Agent::streams() { return *state_->streams; }

const std::string& Agent::node_name() const { return state_->options.node_name; }

void Agent::shutdown(bool keep_pods, std::move_only_function<void()> done) {
  state_->client.executor().post([state = state_, keep_pods, done = std::move(done)]() mutable {
    state->shut_down(keep_pods, std::move(done));
  });
}

}  // namespace hekla::agent
