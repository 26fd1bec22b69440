#include "agent/agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <sstream>

#include "agent/dns/dns_service.h"
#include "agent/dns/server.h"
#include "agent/image/masked_paths.h"
#include "agent/logs/kept_log_expiry.h"
#include "agent/logs/log_choice.h"
#include "agent/machine/linux_machine.h"
#include "agent/network/network_policies.h"
#include "agent/network/service_routing.h"
#include "agent/node/node.h"
#include "agent/node/node_upkeep.h"
#include "agent/os/user_namespace.h"
#include "agent/pod/pod_worker.h"
#include "agent/pressure/usage.h"
#include "agent/record/pod_paths.h"
#include "agent/streams/node_streams.h"
#include "base/build_info.h"
#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"
#include "kube/informer.h"

namespace hekla::agent {
namespace {

constexpr std::uint16_t kApiPort = 6443;  // in the pods' network, on the bridge's address
constexpr std::chrono::seconds kRelistPeriod{10};
constexpr std::chrono::seconds kRefreshPeriod{60};

bool is_terminal(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool is_in_process(const model::Pod& pod) {
  return pod.metadata.annotations.contains(kInProcessAnnotation);
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

// Of a text like /etc/resolv.conf.
std::vector<std::string> name_servers(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, address;
    words >> word >> address;
    if (word == "nameserver" && !address.empty()) out.push_back(address);
  }
  return out;
}

std::string read_or_empty(const std::string& path) { return read_file(path).value_or(""); }

Result<std::vector<std::string>> hidden_from_pods(const Options& options) {
  std::vector<std::string> own = options.hidden_paths;
  if (std::string home = rootless_home(); !home.empty()) own.push_back(std::move(home));
  std::vector<std::string> out = TRY(remember_hidden(options.data_dir, std::move(own)));
  const std::string registry = options.announced ? instance_registry() : "";
  if (registry.empty()) return out;
  for (std::string& other : TRY(remember_instance(registry, options.data_dir)))
    out.push_back(std::move(other));
  return out;
}

Result<net::Socket> listen_in_parent(LinuxMachine& machine, std::uint32_t address) {
  FileDescriptor socket = TRY(machine.parent_socket(SOCK_STREAM | SOCK_NONBLOCK));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(address);
  name.sin_port = htons(kApiPort);
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), 1024) != 0)
    return errno_error("listen for pods that talk to the API server");
  return net::Socket(socket.release());
}

}  // namespace

// Lives on the client's executor, except for what create() sets up.
struct Agent::State : std::enable_shared_from_this<Agent::State> {
  State(Options options, kube::Client& client, Metrics* metrics)
      : options(std::move(options)),
        client(client),
        metrics(metrics),
        events(client, "kubelet", this->options.node_name),
        pods(client, kube::resources::pods,
             kube::ListOptions{.field_selector = "spec.nodeName=" + this->options.node_name}),
        services(client, kube::resources::services) {}

  Options options;
  kube::Client& client;
  Metrics* metrics;
  FileDescriptor lock;
  std::unique_ptr<LinuxMachine> machine;
  std::unique_ptr<DnsServer> dns;
  std::vector<std::string> outside_servers;          // that it asks
  std::vector<Subnet> own_ranges;                    // of pods and services
  std::unique_ptr<HostPorts> host_ports, pod_ports;  // of services, of pods
  std::vector<HostPort> pod_ports_wanted;
  std::unique_ptr<ServiceRouting> routing;
  std::unique_ptr<NetworkPolicies> policies;
  net::Socket api_socket;
  std::unique_ptr<NodeStreams> streams;
  std::shared_ptr<KeptLogExpiry> kept_log_expiry;
  kube::EventRecorder events;
  kube::Informer<AgentPod> pods;
  kube::Informer<model::Service> services;
  std::unique_ptr<ClaimStore> claims;
  std::unique_ptr<PodContext> context;
  std::unique_ptr<NodeRegistration> node;
  std::map<std::string, std::shared_ptr<PodWorker>> workers;  // by uid
  GpuPool gpus;
  GpuDriver gpu_driver;
  std::unique_ptr<NodeUpkeep> upkeep;
  UsageMeter usage;
  bool adopted = false;  // the first list has been seen
  bool zone_pending = false;
  bool started = false;
  bool stopping = false;
  bool keeping = false;  // pods run on after the end
  std::move_only_function<void()> stopped;

  Result<void> open(const MachineFacts& facts);
  void make_context(const MachineFacts& facts, const model::ResourceList& capacity);
  void start();
  void settle();
  void pod_changed(const PodWorker::PodRef& before, const PodWorker::PodRef& after);
  void add_worker(const PodWorker::PodRef& pod, PodRecord record, bool adopt);
  void adopt_orphan(const PodRecord& record);
  void container_exited(const std::string& id);
  void every(Nanos period, void (PodWorker::*call)());
  void tend_outside();
  void make_dns_service();
  void zone_changed();
  std::vector<PolicyInput::Pod> policy_pods() const;
  void policy_refused(const NetworkPolicy& policy, const std::string& why);
  void publish_zone();
  void publish_pod_ports();
  std::optional<PodShortage> shortage_for(const AgentPod& pod) const;
  std::optional<std::pair<std::string, std::string>> resize_refusal(const AgentPod& pod) const;
  void worker_gone(const std::string& uid);
  void shut_down(bool keep_pods, std::move_only_function<void()> done);
  void end_pods();
  void finish_shutdown();
  void leave_machine();
  const PodWorker* find_worker(const std::string& ns, const std::string& pod,
                               const std::string& uid) const;
  Result<StreamTarget> find_target(const std::string& ns, const std::string& pod,
                                   const std::string& uid, const std::string& container);
  Result<LogTarget> find_log(const std::string& ns, const std::string& pod, const std::string& uid,
                             const kube::LogOptions& options);
  void measure(std::move_only_function<void(Result<kube::NodeUsage>)> done);
};

Result<void> Agent::State::open(const MachineFacts& facts) {
  lock = TRY(lock_data_dir(options.data_dir));
  gpu_driver = find_gpus();
  if (const auto found = static_cast<std::int64_t>(gpu_driver.cards.size()); found > 0)
    options.node_resources.try_emplace(kGpuResource, model::Quantity::of(found));
  if (auto declared = options.node_resources.find(kGpuResource);
      declared != options.node_resources.end()) {
    gpus = {static_cast<int>(declared->second.value()), std::max(1, options.gpu_replicas)};
    // Time slices are offered as if each were a card.
    declared->second = TRY(model::Quantity::parse(std::to_string(gpus.cards * gpus.replicas)));
  }
  ImageMap images = TRY(ImageMap::parse(options.image_map));
  LinuxMachineOptions machine_options;
  machine_options.data_dir = options.data_dir;
  machine_options.programs = TRY(find_programs(options.runtime, program_directories()));
  machine_options.subnet = TRY(Subnet::parse(options.pod_cidr));
  machine_options.hidden_paths = TRY(hidden_from_pods(options));
  machine_options.registries = {options.insecure_registries,
                                TRY(parse_mirrors(options.registry_mirrors)),
                                TRY(parse_authorities(options.registry_authorities))};
  machine_options.own_ranges = TRY(net::OwnRanges::parse({options.pod_cidr, options.service_cidr}));
  machine_options.registries.own_ranges = machine_options.own_ranges;
  machine_options.pod_max_pids = options.pod_max_pids;
  machine_options.outside = options.outside;
  machine_options.pod_cidr = options.pod_cidr;
  machine_options.service_cidr = options.service_cidr;
  machine_options.threads = std::max(4, facts.cpus);
  std::weak_ptr<State> self = weak_from_this();
  machine =
      TRY(LinuxMachine::open(machine_options, client.executor(), [self](const std::string& id) {
        if (auto state = self.lock()) state->container_exited(id);
      }));
  dns = TRY(DnsServer::start(TRY(machine->parent_socket(SOCK_DGRAM)),
                             TRY(machine->parent_socket(SOCK_STREAM)),
                             machine_options.subnet.gateway()));
  own_ranges = {machine_options.subnet, TRY(Subnet::parse(options.service_cidr))};
  api_socket = TRY(listen_in_parent(*machine, machine_options.subnet.gateway()));
  routing = std::make_unique<ServiceRouting>(
      client, services,
      ServiceRouting::Options{
          options.service_cidr,
          facts.address,
          {ipv4_text(machine_options.subnet.gateway()), kApiPort},
          [this](std::string rules, Done<void> done) {
            machine->set_rules("services", std::move(rules), std::move(done));
          },
          [this](auto ports, auto held) { host_ports->set(std::move(ports), std::move(held)); },
          [this] { zone_changed(); }});
  auto dial = [this](bool udp, Done<FileDescriptor> done) {
    machine->dial_parent(udp ? SOCK_DGRAM : SOCK_STREAM, std::move(done));
  };
  host_ports = TRY(HostPorts::open(client.executor(), dial));
  pod_ports = TRY(HostPorts::open(client.executor(), dial));
  policies = std::make_unique<NetworkPolicies>(
      client, NetworkPolicies::Options{
                  [this] { return policy_pods(); },
                  [this](std::string rules, Done<void> done) {
                    machine->set_rules("policies", std::move(rules), std::move(done));
                  },
                  [this](std::string rules, Done<void> done) {
                    machine->check_rules("policy-check", std::move(rules), std::move(done));
                  },
                  [this](const NetworkPolicy& policy, const std::string& why) {
                    policy_refused(policy, why);
                  },
                  ipv4_text(machine_options.subnet.gateway()), machine->is_new()});
  LogSource source;
  source.find = [self](const std::string& ns, const std::string& pod, const std::string& uid,
                       const kube::LogOptions& log_options) -> Result<LogTarget> {
    auto state = self.lock();
    if (!state) return fail(Code::unavailable, "the agent is stopping");
    return state->find_log(ns, pod, uid, log_options);
  };
  source.is_live = [self](const LogTarget& target) {
    auto state = self.lock();
    if (!state) return false;
    auto worker = state->workers.find(target.pod_uid);
    if (worker == state->workers.end()) return false;
    for (const ContainerRecord& container : worker->second->record().containers)
      if (container.current && container.current->id == target.container_id)
        return container.current->is_live();
    return false;
  };
  auto find = [self](const std::string& ns, const std::string& pod, const std::string& uid,
                     const std::string& container) -> Result<StreamTarget> {
    auto state = self.lock();
    if (!state) return fail(Code::unavailable, "the agent is stopping");
    return state->find_target(ns, pod, uid, container);
  };
  source.kept = [self](const std::string& ns) -> Result<std::vector<KeptPod>> {
    auto state = self.lock();
    if (!state) return fail(Code::unavailable, "the agent is stopping");
    return state->machine->kept_logs().list(ns);
  };
  auto measure = [self](std::move_only_function<void(Result<kube::NodeUsage>)> done) {
    if (auto state = self.lock()) return state->measure(std::move(done));
    done(fail(Code::unavailable, "the agent is stopping"));
  };
  streams = TRY(NodeStreams::open(client.executor(), *machine, std::move(source), find, measure));
  NodeOptions node_options{options.node_name, facts, options.node_resources, options.pod_cidr,
                           build_info().kubernetes};
  make_context(facts, node_capacity(node_options));
  const std::string storage = options.data_dir + "/storage";
  TRY(make_directories(storage));
  auto remove = [raw = machine.get()](const std::string& path, auto done) {
    raw->remove_storage(path, std::move(done));
  };
  auto in_use = [this](const std::string& ns, const std::string& claim) {
    return std::ranges::any_of(workers, [&](const auto& entry) {
      const PodWorker& worker = *entry.second;
      return worker.record().ns == ns && worker.record().outcome.empty() &&
             std::ranges::count(claim_names(*worker.pod()), claim) > 0;
    });
  };
  claims = std::make_unique<ClaimStore>(
      ClaimStoreOptions{storage, options.node_name, remove, in_use}, client);
  context->claims = claims.get();
  context->images = std::move(images);
  context->dns_address = ipv4_text(machine_options.subnet.gateway());
  node = std::make_unique<NodeRegistration>(client, std::move(node_options));
  upkeep = TRY(NodeUpkeep::make({client, *machine, *node, events, workers, options.node_name},
                                options.eviction, options.image_gc));
  return {};
}

void Agent::State::make_context(const MachineFacts& facts, const model::ResourceList& capacity) {
  context = std::make_unique<PodContext>(PodContext{client, events, *machine});
  context->token_source = options.token_source;
  context->api = {options.api_host, options.api_port};
  context->host_api = options.host_api;
  context->runtime = machine->runtime_name();
  context->node_name = options.node_name;
  context->host_ip = facts.address;
  context->cluster_domain = options.cluster_domain;
  context->ca_pem = options.ca_pem;
  context->host_hosts = read_or_empty("/etc/hosts");
  context->host_resolv_conf = read_or_empty(options.resolv_conf);
  context->allocatable = capacity;
  context->machine_memory_bytes = facts.memory_bytes;
  context->capabilities = grantable_capabilities();
  context->metrics = metrics;
  context->services = [this](const std::string& ns) {
    std::vector<const model::Service*> found;
    for (const auto& service : services.in_namespace(ns)) found.push_back(service.get());
    return found;
  };
  context->gpus = gpus;
  context->gpu_driver = gpu_driver;
  context->apparmor = read_apparmor();
  context->default_seccomp = options.default_seccomp;
  context->gpus_in_use = [this] {
    std::vector<std::int32_t> used;
    for (const auto& [uid, worker] : workers)
      if (worker->record().outcome.empty())
        for (const ContainerRecord& container : worker->record().containers)
          if (holds_gpus(container))
            used.insert(used.end(), container.gpus.begin(), container.gpus.end());
    return used;
  };
  context->shortage = [this](const AgentPod& pod) { return shortage_for(pod); };
  context->host_port_taken = [this](const AgentPod& pod) {
    return std::ranges::any_of(workers, [&](const auto& entry) {
      const PodWorker& other = *entry.second;
      return other.pod()->metadata.uid != pod.metadata.uid && other.record().outcome.empty() &&
             host_ports_clash(other.pod()->spec, pod.spec);
    });
  };
  context->await_policies = [this](const AgentPod& pod, Done<void> done) {
    if (policies) policies->await(pod, std::move(done));
  };
  context->resize_refusal = [this](const AgentPod& pod) { return resize_refusal(pod); };
  context->on_change = [this] { zone_changed(); };
  context->on_gone = [this](const std::string& uid) { worker_gone(uid); };
}

void Agent::State::start() {
  if (stopping) return;
  started = true;
  pods.on_change([this](const auto& before, const auto& after) {
    if (adopted) pod_changed(before, after);
  });
  // Services first: environment variables and names are computed from them.
  pods.on_settled([this] { settle(); });
  services.on_change([this](const auto&, const auto&) {
    zone_changed();
    if (routing) routing->changed();  // events come until the loop stops, after the shutdown too
  });
  services.on_settled([this] { settle(); });
  services.start();
  routing->start();
  policies->start();
  pods.start();
  node->start();
  claims->start();
  kept_log_expiry = std::make_shared<KeptLogExpiry>(
      client, machine->kept_logs(),
      KeptLogWork{[this](const std::string& job) { machine->remove_kept_logs(job); },
                  [this] { machine->trim_kept_logs(); }});
  kept_log_expiry->look();
  tend_outside();
  every(kRelistPeriod, &PodWorker::look);
  every(kRefreshPeriod, &PodWorker::refresh_volumes);
}

// Once both lists are there: pods found on disk meet the API's.
void Agent::State::settle() {
  if (adopted || !pods.synced() || !services.synced()) return;
  if (stopping && (keeping || machine->found().empty())) return;
  adopted = true;
  std::map<std::string, PodWorker::PodRef> wanted;
  pods.for_each([&](const PodWorker::PodRef& pod) { wanted.emplace(pod->metadata.uid, pod); });
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
  for (const auto& [uid, pod] : wanted) pod_changed(nullptr, pod);
  make_dns_service();
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
  if (auto worker = workers.find(record.uid); worker != workers.end()) worker->second->vanish();
}

void Agent::State::add_worker(const PodWorker::PodRef& pod, PodRecord record, bool adopt) {
  auto worker = std::make_shared<PodWorker>(*context, pod, std::move(record), adopt);
  workers[pod->metadata.uid] = worker;
  worker->start();
}

void Agent::State::pod_changed(const PodWorker::PodRef& before, const PodWorker::PodRef& after) {
  bool replaced = before && (!after || before->metadata.uid != after->metadata.uid);
  if (replaced)
    if (auto old = workers.find(before->metadata.uid); old != workers.end()) old->second->vanish();
  if (!after || after->metadata.uid.empty() || after->spec.nodeName != options.node_name) return;
  if (is_in_process(*after)) return;
  if (auto known = workers.find(after->metadata.uid); known != workers.end()) {
    const model::ObjectMeta& old = known->second->pod()->metadata;
    bool renamed = old.labels != after->metadata.labels ||
                   old.deletionTimestamp != after->metadata.deletionTimestamp;
    known->second->update(after);
    if (renamed) zone_changed();
    return;
  }
  if (stopping || is_terminal(*after)) return;
  PodRecord record = new_record(*after, client.executor().clock().wall());
  mark_lost(record, *after);
  sync_ephemeral(record, *after);
  add_worker(after, std::move(record), false);
  if (auto refusal = upkeep->refusal(*after))
    if (auto worker = workers.find(after->metadata.uid); worker != workers.end())
      worker->second->evict(*refusal, Nanos(0));
}

void Agent::State::container_exited(const std::string& id) {
  for (const auto& [uid, worker] : workers)
    if (id.empty() || worker->has_run(id)) worker->look();
}

void Agent::State::every(Nanos period, void (PodWorker::*call)()) {
  client.executor().post_after(period, [self = weak_from_this(), period, call] {
    auto state = self.lock();
    if (!state || state->stopping) return;
    auto workers = state->workers;  // a worker may go while we walk
    for (const auto& [uid, worker] : workers) (*worker.*call)();
    state->every(period, call);
  });
}

void Agent::State::tend_outside() {
  machine->tend_outside();
  if (machine->reaches_outside() && dns) {
    std::vector<std::string> servers = name_servers(read_or_empty(options.resolv_conf));
    if (servers != outside_servers) dns->use_name_servers(outside_servers = std::move(servers));
  }
  client.executor().post_after(kRelistPeriod, [self = weak_from_this()] {
    auto state = self.lock();
    if (state && !state->stopping) state->tend_outside();
  });
}

void Agent::State::make_dns_service() {
  const bool known = services.get({"kube-system", "kube-dns"}) != nullptr;
  auto writes = dns_service_writes(own_ranges[1], context->dns_address, known);
  client.batch(std::move(writes), [](const std::vector<kube::WriteResult>& done) {
    for (const kube::WriteResult& result : done)
      if (!result && result.error().code != Code::already_exists)
        log_warn("agent", "make the service kube-system/kube-dns",
                 {{"error", result.error().message}});
  });
}

// Many changes in one turn of the loop are one new zone.
void Agent::State::zone_changed() {
  if (std::exchange(zone_pending, true)) return;
  client.executor().post([self = weak_from_this()] {
    if (auto state = self.lock()) state->publish_zone();
  });
}

void Agent::State::publish_zone() {
  zone_pending = false;
  if (policies) policies->changed();
  if (!dns) return;  // shut down
  publish_pod_ports();
  std::vector<PodAddress> addresses;
  for (const auto& [uid, worker] : workers)
    if (auto address = worker->address()) addresses.push_back(std::move(*address));
  std::vector<const model::Service*> all;
  services.for_each([&](const auto& service) { all.push_back(service.get()); });
  Zone zone =
      make_zone(options.cluster_domain, all, addresses,
                [this](const model::Service& service) { return routing->endpoints_of(service); });
  zone.ranges = own_ranges;
  dns->publish(std::move(zone));
  if (metrics) metrics->gauge("hekla_agent_pods", static_cast<double>(workers.size()));
}

std::optional<PodShortage> Agent::State::shortage_for(const AgentPod& pod) const {
  std::vector<const model::PodSpec*> others;
  for (const auto& [uid, worker] : workers)
    if (uid != pod.metadata.uid && worker->record().outcome.empty())
      others.push_back(&worker->pod()->spec);
  return find_shortage(pod.spec, others, context->allocatable);
}

// In the kubelet's words.
std::optional<std::pair<std::string, std::string>> Agent::State::resize_refusal(
    const AgentPod& pod) const {
  const std::optional<PodShortage> lacking = shortage_for(pod);
  if (!lacking || (lacking->resource != "cpu" && lacking->resource != "memory"))
    return std::nullopt;
  if (lacking->requested <= lacking->capacity) return std::pair("Deferred", lacking->text());
  return std::pair("Infeasible", "Node didn't have enough capacity: " + lacking->resource +
                                     ", requested: " + std::to_string(lacking->requested) +
                                     ", capacity: " + std::to_string(lacking->capacity));
}

void Agent::State::publish_pod_ports() {
  std::vector<HostPort> wanted;
  for (const auto& [uid, worker] : workers)
    if (worker->address())
      for (HostPort& one : host_ports_of(worker->pod()->spec, worker->record().address))
        wanted.push_back(std::move(one));
  if (wanted == pod_ports_wanted) return;
  pod_ports_wanted = wanted;
  pod_ports->set(std::move(wanted), [self = weak_from_this()](const std::vector<PortKey>& ours) {
    auto state = self.lock();
    if (!state || ours.size() >= state->pod_ports_wanted.size()) return;
    state->client.executor().post_after(kRelistPeriod, [self] {
      auto later = self.lock();
      if (!later) return;
      later->pod_ports_wanted.clear();  // somebody else's port may be free by now
      later->zone_changed();
    });
  });
}

void Agent::State::policy_refused(const NetworkPolicy& policy, const std::string& why) {
  const model::ObjectMeta& meta = policy.metadata;
  const std::string said =
      "its rules cannot be set, so that it lets nothing through to or from the pods it selects: " +
      why;
  log_error("agent", "network policy " + meta.ns + "/" + meta.name + ": " + said, {});
  events.record({"networking.k8s.io/v1", "NetworkPolicy", meta.ns, meta.name, meta.uid, 0},
                "Warning", "NetworkPolicyRefused", said);
}

std::vector<PolicyInput::Pod> Agent::State::policy_pods() const {
  std::vector<PolicyInput::Pod> found;
  for (const auto& [uid, worker] : workers)
    if (auto address = worker->address())
      found.push_back({ipv4_text(address->address), worker->pod().get()});
  return found;
}

void Agent::State::worker_gone(const std::string& uid) {
  workers.erase(uid);
  zone_changed();
  if (stopping && workers.empty()) finish_shutdown();
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
    workers.clear();
    return stopped();
  }
  // Pods that were found are compared with the API first: settle() goes on.
  if (started && !adopted && !machine->found().empty()) return;
  end_pods();
}

void Agent::State::end_pods() {
  if (workers.empty()) return finish_shutdown();
  auto all = workers;
  for (const auto& [uid, worker] : all) worker->shut_down();
}

void Agent::State::finish_shutdown() {
  leave_machine();
  stopped();
}

void Agent::State::leave_machine() {
  dns.reset();
  routing.reset();
  policies.reset();
  host_ports.reset();
  pod_ports.reset();
  kept_log_expiry.reset();
  if (Result<void> removed = machine->remove_instance(); !removed)
    log_warn("agent", "leave the machine clean", {{"error", removed.error().message}});
}

const PodWorker* Agent::State::find_worker(const std::string& ns, const std::string& pod,
                                           const std::string& uid) const {
  const PodWorker* worker = nullptr;
  for (const auto& [key, candidate] : workers)
    if (candidate->record().ns == ns && candidate->record().name == pod &&
        (uid.empty() || key == uid))
      worker = candidate.get();
  return worker;
}

Result<StreamTarget> Agent::State::find_target(const std::string& ns, const std::string& pod,
                                               const std::string& uid,
                                               const std::string& container) {
  const PodWorker* worker = find_worker(ns, pod, uid);
  if (!worker) return fail(Code::not_found, "pods \"" + pod + "\" not found");
  StreamTarget target{worker->record(), 0};
  if (container.empty()) return target;
  target.container = TRY(choose_log_container(target.record, container));
  return target;
}

Result<LogTarget> Agent::State::find_log(const std::string& ns, const std::string& pod,
                                         const std::string& uid,
                                         const kube::LogOptions& log_options) {
  const PodWorker* worker = find_worker(ns, pod, uid);
  std::optional<KeptPod> kept;
  if (!worker) kept = machine->kept_logs().find(ns, pod, uid);
  if (!worker && !kept) return fail(Code::not_found, "pods \"" + pod + "\" not found");
  const PodRecord& record = worker ? worker->record() : kept->record;
  const ContainerRecord& container =
      record.containers[TRY(choose_log_container(record, log_options.container))];
  const ContainerRun* run = TRY(choose_log_run(
      record, container, worker ? worker->status() : model::PodStatus{}, log_options.previous));
  const std::string containers = worker ? machine->paths().pod(record.uid) + "/containers"
                                        : machine->kept_logs().containers_dir(record.uid);
  return LogTarget{log_path(containers, container.name, run->attempt), record.uid, run->id};
}

void Agent::State::measure(std::move_only_function<void(Result<kube::NodeUsage>)> done) {
  std::vector<MeasuredPod> pods;
  std::vector<std::string> cgroups;
  for (const auto& [uid, worker] : workers) {
    const PodRecord& record = worker->record();
    MeasuredPod pod{record.ns, record.name, uid, {}};
    for (const ContainerRecord& container : record.containers) {
      if (!container.current || container.current->phase != run_phase::running) continue;
      pod.containers.push_back(
          {container.name, container.current->id, from_ns(container.current->started_ns)});
      cgroups.push_back(machine->cgroup_of(record, *container.current));
    }
    if (!pod.containers.empty()) pods.push_back(std::move(pod));
  }
  machine->measure(std::move(cgroups), [self = weak_from_this(), pods = std::move(pods),
                                        done = std::move(done)](Result<UsageReading> read) mutable {
    auto state = self.lock();
    if (!state) return done(fail(Code::unavailable, "the agent is stopping"));
    if (!read) return done(std::unexpected(read.error()));
    kube::NodeUsage usage =
        state->usage.report(pods, *read, state->client.executor().clock().wall());
    usage.node = state->options.node_name;
    done(std::move(usage));
  });
}

Result<std::unique_ptr<Agent>> Agent::create(Options options, kube::Client& client,
                                             Metrics* metrics) {
  std::error_code error;
  options.data_dir = std::filesystem::absolute(options.data_dir, error).lexically_normal().string();
  while (options.data_dir.size() > 1 && options.data_dir.back() == '/') options.data_dir.pop_back();
  TRY(check_machine(options.data_dir));
  TRY(make_directories(options.data_dir));
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

net::Socket Agent::take_api_socket() { return std::move(state_->api_socket); }

kube::PodStreams& Agent::streams() { return *state_->streams; }

const std::string& Agent::node_name() const { return state_->options.node_name; }

void Agent::shutdown(bool keep_pods, std::move_only_function<void()> done) {
  state_->client.executor().post([state = state_, keep_pods, done = std::move(done)]() mutable {
    state->shut_down(keep_pods, std::move(done));
  });
}

}  // namespace hekla::agent
