#include "agent/node/node.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sstream>

#include "agent/network/address_pool.h"
#include "agent/os/user_namespace.h"
#include "base/disk.h"
#include "base/log.h"
#include "json/codec.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kLeasePeriod{10};
constexpr std::int64_t kLeaseSeconds = 40;
constexpr std::chrono::minutes kStatusPeriod{5};
constexpr std::chrono::seconds kRetry{1};
constexpr int kMaxPods = 110;
constexpr const char* kLeaseNamespace = "kube-node-lease";

std::string first_line(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

std::string pretty_os_name() {
  Result<std::string> text = read_file("/etc/os-release");
  if (!text) return "Linux";
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    line = line.substr(std::string_view("PRETTY_NAME=").size());
    std::erase(line, '"');
    return line;
  }
  return "Linux";
}

std::string first_address() {
  ifaddrs* all = nullptr;
  std::string found = "127.0.0.1";
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* entry = all; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || (entry->ifa_flags & IFF_UP) == 0) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    found = ipv4_text(ntohl(address->sin_addr.s_addr));
    break;
  }
  ::freeifaddrs(all);
  return found;
}

json::Object condition(const char* type, bool value, const char* reason, const char* message,
                       WallTime since, WallTime now) {
  json::Object out;
  out["type"] = type;
  out["status"] = value ? "True" : "False";
  out["reason"] = reason;
  out["message"] = message;
  out["lastHeartbeatTime"] = model::format_rfc3339(now);
  out["lastTransitionTime"] = model::format_rfc3339(since);
  return out;
}

// The pressures of a node, with the kubelet's words for both cases.
struct Shortage {
  const char* condition;
  bool NodePressure::* felt;
  WallTime NodeOptions::* since;
  const char *reason, *message;
  const char *reason_if_not, *message_if_not;
};
constexpr Shortage kShortages[] = {
    {"MemoryPressure", &NodePressure::memory, &NodeOptions::memory_since,
     "KubeletHasInsufficientMemory", "kubelet has insufficient memory available",
     "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", &NodePressure::disk, &NodeOptions::disk_since, "KubeletHasDiskPressure",
     "kubelet has disk pressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", &NodePressure::pids, &NodeOptions::pids_since, "KubeletHasInsufficientPID",
     "kubelet has insufficient PID available", "KubeletHasSufficientPID",
     "kubelet has sufficient PID available"},
};

json::Array node_conditions(const NodeOptions& options, WallTime since, WallTime now) {
  json::Array out;
  for (const Shortage& one : kShortages) {
    const bool felt = options.pressure.*one.felt;
    const WallTime changed = options.*one.since;
    out.emplace_back(condition(one.condition, felt, felt ? one.reason : one.reason_if_not,
                               felt ? one.message : one.message_if_not,
                               changed == WallTime{} ? since : changed, now));
  }
  out.emplace_back(
      condition("Ready", true, "KubeletReady", "kubelet is posting ready status", since, now));
  return out;
}

json::Object labels(const NodeOptions& options) {
  json::Object out;
  for (const char* prefix : {"", "beta."}) {
    out[std::string(prefix) + "kubernetes.io/arch"] = options.facts.architecture;
    out[std::string(prefix) + "kubernetes.io/os"] = "linux";
  }
  out["kubernetes.io/hostname"] = options.name;
  if (is_rootless()) out["hekla.io/rootless"] = "true";
  return out;
}

}  // namespace

MachineFacts read_machine_facts(const std::string& data_dir) {
  MachineFacts facts;
  utsname names{};
  ::uname(&names);
  facts.hostname = names.nodename;
  for (char& c : facts.hostname) c = static_cast<char>(::tolower(static_cast<unsigned char>(c)));
  facts.kernel = names.release;
  std::string machine = names.machine;
  facts.architecture = machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine;
  facts.os_image = pretty_os_name();
  facts.machine_id = first_line("/etc/machine-id");
  facts.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  facts.address = first_address();
  facts.cpus = std::max(1, ::get_nprocs());
  struct sysinfo memory{};
  if (::sysinfo(&memory) == 0)
    facts.memory_bytes = static_cast<std::int64_t>(memory.totalram) * memory.mem_unit;
  struct statvfs disk{};
  if (::statvfs(data_dir.c_str(), &disk) == 0)
    facts.disk_bytes =
        static_cast<std::int64_t>(disk.f_blocks) * static_cast<std::int64_t>(disk.f_frsize);
  return facts;
}

model::ResourceList node_capacity(const NodeOptions& options) {
  using model::Quantity;
  model::ResourceList out;
  out["cpu"] = Quantity::of(options.facts.cpus);
  out["memory"] = Quantity::of(options.facts.memory_bytes, Quantity::Format::binary_si);
  out["ephemeral-storage"] = Quantity::of(options.facts.disk_bytes, Quantity::Format::binary_si);
  out["pods"] = Quantity::of(kMaxPods);
  out["hugepages-1Gi"] = Quantity::of(0);
  out["hugepages-2Mi"] = Quantity::of(0);
  for (const auto& [name, amount] : options.resources) out[name] = amount;
  return out;
}

json::Value node_object(const NodeOptions& options) {
  json::Object metadata;
  metadata["name"] = options.name;
  metadata["labels"] = labels(options);
  json::Object spec;
  if (!options.pod_cidr.empty()) {
    spec["podCIDR"] = options.pod_cidr;
    spec["podCIDRs"] = json::Array{json::Value(options.pod_cidr)};
  }
  json::Object node;
  node["apiVersion"] = "v1";
  node["kind"] = "Node";
  node["metadata"] = std::move(metadata);
  node["spec"] = std::move(spec);
  return node;
}

json::Value node_status(const NodeOptions& options, WallTime since, WallTime now) {
  json::Object status;
  json::Value capacity = json::encode(node_capacity(options));
  status["capacity"] = capacity;
  status["allocatable"] = capacity;
  status["conditions"] = node_conditions(options, since, now);
  json::Array images;
  for (const NodeImage& image : options.images) {
    json::Array names;
    for (const std::string& name : image.names) names.emplace_back(name);
    json::Object entry;
    entry["names"] = std::move(names);
    entry["sizeBytes"] = image.size;
    images.emplace_back(std::move(entry));
  }
  status["images"] = std::move(images);
  json::Array addresses;
  auto address = [&](const char* type, const std::string& text) {
    json::Object entry;
    entry["type"] = type;
    entry["address"] = text;
    addresses.emplace_back(std::move(entry));
  };
  address("InternalIP", options.facts.address);
  address("Hostname", options.name);
  status["addresses"] = std::move(addresses);
  json::Object info;
  info["architecture"] = options.facts.architecture;
  info["bootID"] = options.facts.boot_id;
  info["containerRuntimeVersion"] = "hekla://" + options.version;
  info["kernelVersion"] = options.facts.kernel;
  info["kubeProxyVersion"] = "";
  info["kubeletVersion"] = options.version;
  info["machineID"] = options.facts.machine_id;
  info["operatingSystem"] = "linux";
  info["osImage"] = options.facts.os_image;
  info["systemUUID"] = options.facts.machine_id;
  status["nodeInfo"] = std::move(info);
  json::Object patch;
  patch["status"] = std::move(status);
  return patch;
}

struct NodeRegistration::State : std::enable_shared_from_this<NodeRegistration::State> {
  State(kube::Client& client, NodeOptions options) : client(client), options(std::move(options)) {}
  kube::Client& client;
  NodeOptions options;
  WallTime since = client.executor().clock().wall();  // ready since then
  bool stopped = false;
  bool registered = false;
  bool writing = false, again = false;  // a status is on its way; another shall follow
  std::uint64_t written = 0;            // statuses, to tell the latest timer from older ones

  WallTime now() const { return client.executor().clock().wall(); }

  void later(Nanos delay, void (State::*next)()) {
    client.executor().post_after(delay, [self = weak_from_this(), next] {
      auto state = self.lock();
      if (state && !state->stopped) (*state.*next)();
    });
  }

  void write(kube::Write one, void (State::*next)(kube::WriteResult)) {
    client.write(std::move(one), [self = weak_from_this(), next](kube::WriteResult result) {
      auto state = self.lock();
      if (state && !state->stopped) (*state.*next)(std::move(result));
    });
  }

  void create_node() {
    kube::Write one;
    one.verb = kube::Write::Verb::create;
    one.resource = kube::resources::nodes;
    one.key = {"", options.name};
    one.body = node_object(options);
    write(std::move(one), &State::node_created);
  }
  void node_created(kube::WriteResult result) {
    if (result) return patch_status();
    if (result.error().code != Code::already_exists) {
      log_warn("agent", "register the node", {{"error", result.error().message}});
      return later(kRetry, &State::create_node);
    }
    // Labels may have been added by hand: ours are merged in.
    json::Object metadata;
    metadata["labels"] = labels(options);
    json::Object patch;
    patch["metadata"] = std::move(metadata);
    kube::Write one;
    one.verb = kube::Write::Verb::patch;
    one.resource = kube::resources::nodes;
    one.key = {"", options.name};
    one.body = std::move(patch);
    write(std::move(one), &State::labels_patched);
  }
  void labels_patched(kube::WriteResult result) {
    if (!result) return later(kRetry, &State::create_node);
    patch_status();
  }
  void changed() {
    if (!registered) return;
    again = writing;
    if (!writing) patch_status();
  }
  void patch_status() {
    registered = writing = true;
    kube::Write one;
    one.verb = kube::Write::Verb::patch;
    one.resource = kube::resources::nodes;
    one.key = {"", options.name};
    one.subresource = "status";
    one.patch_type = kube::PatchType::strategic;
    one.body = node_status(options, since, now());
    write(std::move(one), &State::status_patched);
  }
  void status_patched(kube::WriteResult result) {
    writing = false;
    if (result && std::exchange(again, false)) return patch_status();
    if (result) {
      client.executor().post_after(kStatusPeriod, [self = weak_from_this(), mine = ++written] {
        auto state = self.lock();
        if (state && !state->stopped && !state->writing && state->written == mine)
          state->patch_status();
      });
      return;
    }
    log_warn("agent", "write the node's status", {{"error", result.error().message}});
    // Somebody deleted the node: it comes back, as a kubelet's does after its restart.
    later(kRetry,
          result.error().code == Code::not_found ? &State::create_node : &State::patch_status);
  }

  json::Object lease_spec() const {
    json::Object spec;
    spec["holderIdentity"] = options.name;
    spec["leaseDurationSeconds"] = kLeaseSeconds;
    spec["renewTime"] = model::format_rfc3339_micro(now());
    return spec;
  }
  void renew_lease() {
    json::Object patch;
    patch["spec"] = lease_spec();
    kube::Write one;
    one.verb = kube::Write::Verb::patch;
    one.resource = kube::resources::leases;
    one.key = {kLeaseNamespace, options.name};
    one.body = std::move(patch);
    write(std::move(one), &State::lease_renewed);
  }
  void lease_renewed(kube::WriteResult result) {
    if (result || result.error().code != Code::not_found)
      return later(result ? Nanos(kLeasePeriod) : Nanos(kRetry), &State::renew_lease);
    json::Object metadata;
    metadata["name"] = options.name;
    metadata["namespace"] = kLeaseNamespace;
    json::Object lease;
    lease["apiVersion"] = "coordination.k8s.io/v1";
    lease["kind"] = "Lease";
    lease["metadata"] = std::move(metadata);
    lease["spec"] = lease_spec();
    kube::Write one;
    one.verb = kube::Write::Verb::create;
    one.resource = kube::resources::leases;
    one.key = {kLeaseNamespace, options.name};
    one.body = std::move(lease);
    write(std::move(one), &State::lease_created);
  }
  void lease_created(kube::WriteResult result) {
    later(result ? Nanos(kLeasePeriod) : Nanos(kRetry), &State::renew_lease);
  }
};

NodeRegistration::NodeRegistration(kube::Client& client, NodeOptions options)
    : state_(std::make_shared<State>(client, std::move(options))) {}

NodeRegistration::~NodeRegistration() { stop(); }

void NodeRegistration::start() {
  state_->create_node();
  state_->renew_lease();
}

void NodeRegistration::set_pressure(const NodePressure& pressure) {
  NodeOptions& options = state_->options;
  if (pressure == options.pressure) return;
  for (const Shortage& one : kShortages)
    if (pressure.*one.felt != options.pressure.*one.felt) options.*one.since = state_->now();
  options.pressure = pressure;
  state_->changed();
}

void NodeRegistration::set_images(std::vector<NodeImage> images) {
  if (images == state_->options.images) return;
  state_->options.images = std::move(images);
  state_->changed();
}

void NodeRegistration::stop() { state_->stopped = true; }

}  // namespace hekla::agent
