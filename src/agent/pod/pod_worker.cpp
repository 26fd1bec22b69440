#include "agent/pod/pod_worker.h"

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{500};
constexpr std::chrono::seconds kLongestRetry{122};
constexpr std::chrono::seconds kConfigRetry{10};
constexpr std::chrono::seconds kApiRetry{1};
constexpr int kStartErrorCode = 128;
const kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};
constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

Nanos retry_delay(int failures) {
  Nanos delay = kFirstRetry;
  for (int i = 1; i < failures && delay < kLongestRetry; ++i) delay *= 2;
  return std::min<Nanos>(delay, kLongestRetry);
}

// A command of the pod's replaces the image's entry point, and with it the arguments for that.
std::vector<std::string> command_line(const model::Container& spec, const ImageConfig& image,
                                      const Environment& env) {
  std::vector<std::string> out =
      spec.command.empty() ? image.entrypoint : expand_all(spec.command, env);
  std::vector<std::string> rest = expand_all(spec.args, env);
  if (spec.args.empty() && spec.command.empty()) rest = image.cmd;
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

bool is_over(const std::string& phase) { return phase == "Succeeded" || phase == "Failed"; }

// As in the kubelet: an unset name does not become a directory of that name, nor an empty one the
// whole volume.
Result<std::string> expand_sub_path(const std::string& text, const Environment& env) {
  std::string missing;
  std::string out = expand(text, [&](const std::string& name) -> const std::string* {
    auto found = std::ranges::find(env, name, &Environment::value_type::first);
    if (found != env.end() && !found->second.empty()) return &found->second;
    missing += (missing.empty() ? "" : ", ") + name;
    return nullptr;
  });
  if (!missing.empty()) return fail(Code::invalid, "missing value for " + missing);
  // What stands in the spec itself has been validated.
  if (out.starts_with('/'))
    return fail(Code::invalid, "error SubPath `" + out + "` must not be an absolute path");
  if (("/" + out + "/").contains("/../"))
    return fail(Code::invalid, "unable to provision SubPath `" + out + "`: must not contain '..'");
  return out;
}

// A profile that cannot be loaded must not become none.
Result<void> check_seccomp(const json::Value& pod_context, const json::Value& container_context) {
  for (const json::Value* context : {&container_context, &pod_context}) {
    const json::Value* profile = json::find(*context, "seccompProfile");
    if (!profile) continue;
    if (json::string_at(*profile, {"type"}) != "Localhost") return {};
    return fail(Code::invalid, "seccomp profile Localhost (" +
                                   std::string(json::string_at(*profile, {"localhostProfile"})) +
                                   ") is not supported: use RuntimeDefault or Unconfined");
  }
  return {};
}

}  // namespace

PodWorker::PodWorker(PodContext& context, PodRef pod, PodRecord record, bool adopted)
    : context_(context),
      pod_(std::move(pod)),
      record_(std::move(record)),
      inspected_(!adopted),
      policies_hold_(!context.await_policies || record_.host_network) {}

WallTime PodWorker::now() const { return context_.client.executor().clock().wall(); }

void PodWorker::start() {
  // An earlier process was about to end it.
  if (record_.reason == kEvicted && record_.outcome.empty()) ending_ = Ending::evicted;
  const bool adopted = !inspected_;
  if (!adopted && !pod_->metadata.deletionTimestamp) admit();
  step();
}

void PodWorker::update(PodRef pod) {
  for (const ContainerRecord& container : record_.containers) {
    const model::Container* before = container_spec(*pod_, container);
    const model::Container* after = container_spec(*pod, container);
    if (before && after && !resized(before->resources, after->resources).empty())
      resize_after_.reset();
    if (!before || !after || before->image == after->image) continue;
    holds_.erase(container.name);  // what was wrong with the old image
    pull_failures_.erase(container.name);
  }
  pod_ = std::move(pod);
  step();
}

void PodWorker::vanish() {
  ending_ = Ending::vanished;
  step();
}

void PodWorker::shut_down() {
  if (ending_ == Ending::no) ending_ = Ending::shutdown;
  step();
}

void PodWorker::look() {
  bool live = std::ranges::any_of(record_.containers, [](const ContainerRecord& container) {
    return container.current && container.current->is_live();
  });
  if (!live) return;
  inspected_ = false;
  look_again_ = true;  // work under way may have looked too early
  step();
}

bool PodWorker::has_run(const std::string& id) const {
  return std::ranges::any_of(record_.containers, [&](const ContainerRecord& container) {
    return container.current && container.current->id == id;
  });
}

std::optional<PodAddress> PodWorker::address() const {
  auto address = parse_ipv4(record_.address);
  if (!address || !record_.outcome.empty() || ending_ == Ending::vanished) return std::nullopt;
  return PodAddress{record_.ns,
                    record_.name,
                    pod_->spec.hostname,
                    pod_->spec.subdomain,
                    pod_->metadata.labels,
                    *address,
                    is_ready(status_) && !pod_->metadata.deletionTimestamp};
}

// Everything but the machine's answer to a kill waits for the work under way.
void PodWorker::step() {
  if (gone_) return;
  if (pod_->metadata.deletionTimestamp &&
      (ending_ == Ending::no || ending_ == Ending::deadline || ending_ == Ending::evicted))
    ending_ = Ending::deleted;
  if (pulling_ && ending_ == Ending::no && check_deadline()) ending_ = Ending::deadline;
  if (pulling_ && ending_ != Ending::no) {
    ++pulls_;  // the image may still come, for the next pod
    busy_ = pulling_ = false;
  }
  if (busy_) return;
  sync_ephemeral(record_, *pod_);
  if (!inspected_) {
    busy_ = true;
    look_again_ = false;
    context_.machine.inspect(pod_, record_, resume<PodRecord>([this](Result<PodRecord> found) {
                               if (found) record_ = std::move(*found);
                               inspected_ = !look_again_;
                               if (!found)
                                 log_warn("agent", "inspect a pod",
                                          {{"pod", described()}, {"error", found.error().message}});
                             }));
    return;
  }
  tend_probes();
  if (ending_ == Ending::no && check_deadline()) ending_ = Ending::deadline;
  if (ending_ != Ending::no) return step_end();
  if (record_.outcome.empty()) return step_run();
  // An earlier process may have decided the end and not lived to report it.
  if (!sent_status_ && !is_over(pod_->status.phase)) report();
  // Over, but still in the API: only logs and record are kept.
  if (remove_exited() || dismantled_) return;
  if (dismantle_after_ && *dismantle_after_ > now()) return wake_at(*dismantle_after_);
  busy_ = true;
  context_.machine.dismantle(record_, resume<void>([this](Result<void> done) {
                               if (!done) {
                                 log_warn("agent", "dismantle a pod",
                                          {{"pod", described()}, {"error", done.error().message}});
                                 dismantle_after_ = now() + kConfigRetry;
                                 return;
                               }
                               dismantled_ = true;
                               context_.machine.release_address(record_.address);
                               record_.address.clear();
                               record_.sandbox = false;
                             }));
}

void PodWorker::step_run() {
  if (remove_exited()) return;
  auto held_until = [this](std::size_t i) {
    auto held = holds_.find(record_.containers[i].name);
    return held == holds_.end() ? std::nullopt : std::optional<WallTime>(held->second.until);
  };
  PodDecision decision = decide(pod_->spec, record_, now(), held_until,
                                [this](std::size_t i) { return is_started(i); });
  note_backing_off(decision);
  stop_all(decision.stop);
  for (std::size_t i : decision.replace) replace(i, "definition changed");
  if (decision.finished) {
    record_.outcome = *decision.finished ? "Succeeded" : "Failed";
    report();
    return step();
  }
  report();
  kill_overdue();
  if (decision.wake) wake_at(*decision.wake);
  if (resize() || !decision.start) return;
  if (record_.sandbox && policies_hold_) return launch(*decision.start);
  auto held = holds_.find(kSandbox);
  if (held != holds_.end() && held->second.until > now()) return wake_at(held->second.until);
  if (!record_.sandbox) return make_sandbox();
  await_policies();
}

// A pod that policies select does not run a single instruction before they hold for its address.
void PodWorker::await_policies() {
  busy_ = true;
  context_.await_policies(*pod_, resume<void>([this](Result<void> done) {
    policies_hold_ = done.has_value();
    if (!done)
      sandbox_failed("FailedCreatePodSandBox",
                     Error{Code::unavailable,
                           "Failed to create pod sandbox: network policies are not in force: " +
                               done.error().message});
  }));
}

// Ends a run, so that another one begins as the spec says now.
void PodWorker::replace(std::size_t index, const std::string& why) {
  ContainerRecord& container = record_.containers[index];
  if (container.current->phase != run_phase::running) return;
  container.current->replaced = true;
  stop_run(index, "Container " + container.name + " " + why + ", will be restarted", grace());
}

void PodWorker::note_backing_off(const PodDecision& decision) {
  for (std::size_t i : decision.backing_off) {
    const ContainerRecord& container = record_.containers[i];
    if (holds_.contains(container.name)) continue;
    std::string delay = model::format_go_duration(restart_delay(backoff_steps(container)));
    hold(container.name,
         {"CrashLoopBackOff", "back-off " + delay + " restarting failed container=" +
                                  container.name + " pod=" + described()},
         restart_time(container) - now());
    event("Warning", "BackOff",
          "Back-off restarting failed container " + container.name + " in pod " + described());
  }
}

// One exited container's remains, if there are any; the rest follows when that is done.
bool PodWorker::remove_exited() {
  for (std::size_t i = 0; i < record_.containers.size(); ++i) {
    ContainerRecord& container = record_.containers[i];
    if (!container.current || container.current->is_live() || container.current->removed ||
        left_behind_.contains(container.current->id))
      continue;
    report();
    busy_ = true;
    context_.machine.remove_container(record_, i, resume<void>([this, i](Result<void> done) {
                                        ContainerRecord& container = record_.containers[i];
                                        if (!container.current) return;
                                        // What cannot be removed now is removed with the pod.
                                        container.current->removed = done.has_value();
                                        if (done) return;
                                        left_behind_.insert(container.current->id);
                                        log_warn("agent", "remove a container",
                                                 {{"pod", described()},
                                                  {"container", container.name},
                                                  {"error", done.error().message}});
                                      }));
    return true;
  }
  return false;
}

// What the node does not take: the scheduler knows nothing of sysctls, and pods that their maker
// has put here have passed it by. Asked once: what runs here stays.
void PodWorker::admit() {
  std::string why;
  if (!pod_->os.empty() && pod_->os != "linux") {
    record_.reason = "PodOSNotSupported";
    why = "Failed to admit pod as the OS field doesn't match node OS";
  } else if (auto sysctl = forbidden_sysctl(pod_->spec.securityContext, record_.host_network,
                                            pod_->spec.hostIPC)) {
    record_.reason = "SysctlForbidden";
    why = *sysctl;
  } else if (auto profile = missing_apparmor(*pod_, context_.apparmor)) {
    record_.reason = "AppArmor";
    why = *profile;
  } else if (auto lacking = context_.shortage ? context_.shortage(*pod_) : std::nullopt) {
    record_.reason = "OutOf" + lacking->resource;
    why = lacking->text();
  } else if (context_.host_port_taken && context_.host_port_taken(*pod_)) {
    record_.reason = "NodePorts";
    why = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  } else {
    return;
  }
  record_.outcome = "Failed";
  record_.rejected = true;
  record_.message = "Pod was rejected: " + why;
  event("Warning", record_.reason.c_str(), why);
}

void PodWorker::make_sandbox() {
  if (!record_.host_network && record_.address.empty()) {
    Result<std::string> address = context_.machine.take_address();
    if (!address)
      return sandbox_failed(
          "FailedCreatePodSandBox",
          Error{Code::unavailable, "Failed to create pod sandbox: " + address.error().message});
    record_.address = *address;
    policies_hold_ = !context_.await_policies;
  }
  report();
  busy_ = true;
  check_runtime_class([this](Result<void> checked) {
    if (checked) return fetch_and_plan();
    busy_ = false;
    sandbox_failed("FailedCreatePodSandBox",
                   Error{Code::invalid,
                         "Failed to create pod sandbox: failed to get sandbox "
                         "runtime: " +
                             checked.error().message});
    step();
  });
}

void PodWorker::fetch_and_plan() {
  fetch_volume_sources([this](Result<PodSources> sources) {
    busy_ = false;
    if (sources) return plan_sandbox(std::move(*sources));
    sandbox_failed("FailedMount", sources.error());
    step();
  });
}

// There is one runtime; a handler by another name, kata for one, is a promise that it could not
// keep.
void PodWorker::check_runtime_class(std::move_only_function<void(Result<void>)> next) {
  const std::string& name = pod_->spec.runtimeClassName;
  if (name.empty()) return next({});
  context_.client.get(
      kRuntimeClasses, kube::Key{"", name},
      [self = weak_from_this(), next = std::move(next)](Result<kube::ObjectPtr> found) mutable {
        auto worker = self.lock();
        if (!worker) return;
        if (!found) return next(std::unexpected(found.error()));
        Result<json::Value> object = json::parse(*(*found)->json);
        if (!object) return next(std::unexpected(object.error()));
        const std::string handler(json::string_at(*object, {"handler"}));
        if (handler.empty() || handler == worker->context_.runtime) return next({});
        next(fail(Code::invalid, "no runtime for \"" + handler + "\" is configured"));
      });
}

// What a kubelet says that lacks the same things.
std::optional<std::pair<const char*, std::string>> PodWorker::sandbox_refusal() const {
  using Refusal = std::pair<const char*, std::string>;
  if (pod_->own_users)
    return Refusal(
        "FailedCreatePodSandBox",
        "Failed to create pod sandbox: RuntimeClass handler \"\" does not support user namespaces");
  if (!pod_->block_volumes.empty())
    return Refusal("FailedMount",
                   "MountVolume.SetUp failed for volume \"" + *pod_->block_volumes.begin() +
                       "\" : volume " + *pod_->block_volumes.begin() +
                       " has volumeMode Filesystem, but is specified in volumeDevices");
  if (Result<std::string> name =
          kernel_hostname(*pod_, context_.node_name, context_.cluster_domain, pod_->fqdn_hostname);
      !name)
    return Refusal("FailedCreatePodSandBox",
                   "Failed to create pod sandbox: " + name.error().message);
  return std::nullopt;
}

void PodWorker::plan_sandbox(PodSources sources) {
  if (ending_ != Ending::no) return step();
  if (auto refusal = sandbox_refusal()) {
    sandbox_failed(refusal->first, Error{Code::invalid, refusal->second});
    return step();
  }
  Result<std::vector<VolumePlan>> volumes =
      plan_volumes(*pod_, facts(), sources, VolumePlanOptions{context_.ca_pem});
  if (!volumes) {
    sandbox_failed("FailedMount", volumes.error());
    return step();
  }
  if (record_.host_network && pod_->spec.dnsPolicy == "ClusterFirstWithHostNet")
    event("Warning", "MissingClusterDNS",
          "pod: \"" + described() +
              "\". The cluster's names and addresses do not exist on the host's network: cannot "
              "create Pod using \"ClusterFirstWithHostNet\" policy. Falling back to \"Default\" "
              "policy.");
  SandboxRequest request;
  request.record = record_;
  request.files = pod_files(
      *pod_, PodFilesInput{facts().pod_ip, context_.node_name, context_.cluster_domain,
                           context_.dns_address, context_.host_hosts, context_.host_resolv_conf,
                           kernel_hostname(*pod_, context_.node_name, context_.cluster_domain,
                                           pod_->fqdn_hostname)
                               .value_or("")});
  request.volumes = std::move(*volumes);
  request.host_ipc = pod_->spec.hostIPC;
  busy_ = true;
  context_.machine.make_sandbox(
      std::move(request), resume<void>([this](Result<void> done) {
        if (!done) {
          bool mount = done.error().message.starts_with("MountVolume");
          sandbox_failed(mount ? "FailedMount" : "FailedCreatePodSandBox",
                         mount ? done.error()
                               : Error{Code::internal,
                                       "Failed to create pod sandbox: " + done.error().message});
          return;
        }
        holds_.erase(kSandbox);
        record_.sandbox = true;
        report();
      }));
}

void PodWorker::sandbox_failed(const std::string& reason, const Error& error) {
  Hold& held = holds_[kSandbox];
  ++held.failures;
  held.until = now() + retry_delay(held.failures);
  event("Warning", reason.c_str(), error.message);
  report();
  wake_at(held.until);
}

void PodWorker::refresh_volumes() {
  if (!record_.sandbox || !record_.outcome.empty() || ending_ != Ending::no) return;
  if (volume_sources(*pod_).empty() && token_requests(*pod_).empty()) return;
  fetch_volume_sources([this](Result<PodSources> sources) {
    if (!sources || ending_ != Ending::no) return;
    Result<std::vector<VolumePlan>> volumes =
        plan_volumes(*pod_, facts(), *sources, VolumePlanOptions{context_.ca_pem});
    if (volumes) context_.machine.refresh_volumes(record_.uid, std::move(*volumes));
  });
}

// A token is used until four fifths of its life are over, a day at most.
void PodWorker::fetch_volume_sources(std::move_only_function<void(Result<PodSources>)> next) {
  SourceFetch fetch{record_.ns, volume_sources(*pod_), {}};
  for (const TokenRequest& request : token_requests(*pod_)) {
    auto known = tokens_.find(request);
    Nanos life = std::min<Nanos>(std::chrono::seconds(request.expiration_seconds) * 4 / 5,
                                 std::chrono::hours(24));
    if (known == tokens_.end() || now() - known->second.issued >= life)
      fetch.tokens.push_back(request);
  }
  fetch_sources(
      context_.client, context_.token_source, std::move(fetch),
      [self = weak_from_this(), next = std::move(next)](Result<PodSources> sources) mutable {
        auto worker = self.lock();
        if (!worker) return;
        if (sources) worker->keep_tokens(*sources);
        if (!sources || !worker->context_.claims) return next(std::move(sources));
        worker->add_claims(std::move(*sources), std::move(next));
      });
}

void PodWorker::add_claims(PodSources sources,
                           std::move_only_function<void(Result<PodSources>)> next) {
  context_.claims->resolve(*pod_,
                           [self = weak_from_this(), sources = std::move(sources),
                            next = std::move(next)](Result<ClaimStore::Claims> claims) mutable {
                             if (!self.lock()) return;
                             if (!claims) return next(std::unexpected(claims.error()));
                             sources.claims = std::move(*claims);
                             next(std::move(sources));
                           });
}

void PodWorker::keep_tokens(PodSources& sources) {
  for (const auto& [request, token] : sources.tokens) tokens_[request] = {token, now()};
  for (const auto& [request, token] : tokens_) sources.tokens.emplace(request, token.text);
}

void PodWorker::launch(std::size_t container) {
  const model::Container* spec = container_spec(*pod_, record_.containers[container]);
  if (!spec) {
    record_.outcome = "Failed";
    record_.message = "container " + record_.containers[container].name + " is not in the spec";
    report();
    return step();
  }
  image_.reset();
  pulled_message_ = "Container image \"" + spec->image + "\" already present on machine";
  if (!context_.images.is_host(spec->image)) return launch_from_registry(container);
  fetch_and_launch(container);
}

void PodWorker::fetch_and_launch(std::size_t container) {
  const model::Container& spec = *container_spec(*pod_, record_.containers[container]);
  busy_ = true;
  SourceFetch fetch{record_.ns, environment_sources(spec), {}};
  fetch_sources(context_.client, context_.token_source, std::move(fetch),
                [self = weak_from_this(), container](Result<PodSources> sources) {
                  auto worker = self.lock();
                  if (!worker) return;
                  worker->busy_ = false;
                  if (!sources) {
                    worker->hold(worker->record_.containers[container].name,
                                 {"CreateContainerConfigError", sources.error().message},
                                 kApiRetry);
                    return worker->step();
                  }
                  worker->launch_with(container, *sources);
                });
}

Result<LaunchRequest> PodWorker::launch_request(std::size_t index, const PodSources& sources) {
  const model::Container& spec = *container_spec(*pod_, record_.containers[index]);
  // Cluster IPs lead nowhere from the host's network.
  const bool links = pod_->spec.enableServiceLinks.value_or(true) && !record_.host_network;
  Environment services =
      service_environment(record_.host_network ? context_.host_api : context_.api, links,
                          context_.services(record_.ns));
  Environment env = TRY(container_environment(*pod_, spec, facts(), sources, services));
  LaunchRequest request;
  request.pod = pod_;
  request.container = index;
  request.spec = spec;
  for (model::VolumeMount& mount : request.spec.volumeMounts)
    if (!mount.subPathExpr.empty()) mount.subPath = TRY(expand_sub_path(mount.subPathExpr, env));
  BundleSpec& bundle = request.bundle;
  bundle.security = merge_security(pod_->spec.securityContext, spec.securityContext);
  bundle.security.grantable = context_.capabilities;
  if (!bundle.security.seccomp_given) bundle.security.default_seccomp = context_.default_seccomp;
  bundle.sysctls = sysctls_of(pod_->spec.securityContext);
  TRY(check_seccomp(pod_->spec.securityContext, spec.securityContext));
  if (const HostImageSpec* host = context_.images.find(spec.image); host && !image_)
    request.host_image = *host;
  const ImageConfig& defaults = image_ ? image_->config : request.host_image.config;
  TRY(check_non_root(bundle, defaults.user, spec.name));
  bundle.args = command_line(spec, defaults, env);
  if (bundle.args.empty())
    return fail(Code::invalid, image_ ? "no command specified"
                                      : "no command specified: the host image has none of its own");
  bundle.hostname =
      TRY(kernel_hostname(*pod_, context_.node_name, context_.cluster_domain, pod_->fqdn_hostname));
  bundle.apparmor =
      TRY(apparmor_profile(pod_->spec.securityContext, spec.securityContext, context_.apparmor));
  if (auto found = pod_->recursive_read_only.find(spec.name);
      found != pod_->recursive_read_only.end())
    request.recursive_read_only = found->second;
  auto given = [&](std::string_view name) {
    return std::ranges::any_of(env, [&](const auto& entry) { return entry.first == name; });
  };
  bool has_path = given("PATH");
  for (const std::string& entry : defaults.env) {
    if (given(entry.substr(0, entry.find('=')))) continue;
    has_path = has_path || entry.starts_with("PATH=");
    bundle.env.push_back(entry);
  }
  if (!has_path) bundle.env.push_back(std::string("PATH=") + kDefaultPath);
  if (!given("HOSTNAME")) bundle.env.push_back("HOSTNAME=" + bundle.hostname);
  if (spec.tty && !given("TERM")) bundle.env.emplace_back("TERM=xterm");
  for (const auto& [name, value] : env) bundle.env.push_back(name + "=" + value);
  add_gpus(record_.containers[index].gpus, given, bundle);
  if (!defaults.working_dir.empty()) bundle.cwd = defaults.working_dir;
  if (!spec.workingDir.empty()) bundle.cwd = spec.workingDir;
  request.image = image_;
  bundle.terminal = spec.tty;
  bundle.host_pid = pod_->spec.hostPID;
  bundle.host_ipc = pod_->spec.hostIPC;
  bundle.limits = limits_of(spec.resources, pod_->status.qosClass, context_.machine_memory_bytes);
  return request;
}

// A container that has the nodes of its own cards alone sees them numbered from 0 by CUDA.
void PodWorker::add_gpus(const std::vector<std::int32_t>& cards,
                         const std::function<bool(std::string_view)>& given,
                         BundleSpec& bundle) const {
  if (cards.empty()) return;
  const bool own_libraries = !image_ || image_->host;
  give_gpus(context_.gpu_driver, cards, own_libraries, bundle);
  std::vector<std::int32_t> seen = cards;
  if (!bundle.devices.empty() && !bundle.security.privileged) {
    const auto distinct = std::set<std::int32_t>(cards.begin(), cards.end()).size();
    seen.clear();
    for (std::size_t i = 0; i < distinct; ++i) seen.push_back(static_cast<std::int32_t>(i));
  }
  if (!given("NVIDIA_VISIBLE_DEVICES"))
    bundle.env.push_back("NVIDIA_VISIBLE_DEVICES=" + gpu_list(cards));
  if (!given("CUDA_VISIBLE_DEVICES"))
    bundle.env.push_back("CUDA_VISIBLE_DEVICES=" + gpu_list(seen));
}

// A container keeps its cards over its restarts.
Result<void> PodWorker::take_gpus(std::size_t index) {
  ContainerRecord& container = record_.containers[index];
  const model::ResourceList& limits = container_spec(*pod_, container)->resources.limits;
  auto wanted = limits.find(kGpuResource);
  if (wanted == limits.end() || !container.gpus.empty() || context_.gpus.cards == 0) return {};
  auto chosen =
      choose_gpus(context_.gpus, context_.gpus_in_use(), static_cast<int>(wanted->second.value()));
  if (!chosen)
    return fail(
        Code::unavailable,
        "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu");
  container.gpus = std::move(*chosen);
  return {};
}

void PodWorker::launch_with(std::size_t index, const PodSources& sources) {
  if (ending_ != Ending::no) return step();
  Result<void> gpus = take_gpus(index);
  Result<LaunchRequest> request =
      gpus ? launch_request(index, sources) : std::unexpected(gpus.error());
  ContainerRecord& container = record_.containers[index];
  if (!request) {
    event("Warning", "Failed", "Error: " + request.error().message);
    hold(container.name, {"CreateContainerConfigError", request.error().message}, kConfigRetry);
    return step();
  }
  event("Normal", "Pulled", pulled_message_);
  if (container.current) {
    const bool anew = container.current->replaced || is_superseded(pod_->spec, container);
    container.backoff = anew ? 0 : backoff_steps(container) + 1;
    container.previous = std::move(container.current);
  }
  ContainerRun run;
  run.attempt = container.attempts++;
  run.id = container_id(record_.uid, container.name, run.attempt);
  run.image = request->spec.image;
  run.resources = resizable(request->spec.resources);
  if (image_) {
    run.image_id = image_->id;
    run.stop_signal = signal_number(image_->config.stop_signal);
  }
  container.current = run;
  request->record = record_;
  busy_ = true;
  context_.machine.launch(std::move(*request),
                          resume<Launch>([this, index](Result<Launch> outcome) {
                            launched(index, std::move(outcome));
                          }));
}

void PodWorker::launched(std::size_t index, Result<Launch> outcome) {
  ContainerRecord& container = record_.containers[index];
  ContainerRun& run = *container.current;
  holds_.erase(container.name);
  if (outcome && !outcome->failure) {
    run.phase = run_phase::running;
    run.started_ns = to_ns(outcome->started);
    event("Normal", "Created", "Created container: " + container.name);
    event("Normal", "Started", "Started container " + container.name);
    if (context_.metrics) context_.metrics->count("hekla_agent_containers_started_total");
    post_start(index);
    return;
  }
  if (!outcome) {
    // Nothing has run: a look takes away what there is, and it is tried again, as by the kubelet.
    event("Warning", "Failed", "Error: " + outcome.error().message);
    inspected_ = false;
    return hold(container.name, {"CreateContainerConfigError", outcome.error().message},
                kConfigRetry);
  }
  // As containerd reports it: the run counts, with exit code 128.
  const std::string& why = *outcome->failure;
  run.phase = run_phase::exited;
  run.exit_code = kStartErrorCode;
  run.reason = "StartError";
  run.message = "failed to start container: " + why;
  run.finished_ns = to_ns(now());
  event("Warning", "Failed", "Error: failed to start container \"" + container.name + "\": " + why);
  report();
}

}  // namespace hekla::agent
