#include "agent/pod/worker/pod_sandbox.h"

#include <algorithm>

#include "agent/pod/pod_files.h"
#include "json/parse.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{500};
constexpr std::chrono::seconds kLongestRetry{122};
const kube::Resource kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};

Nanos retry_delay(int failures) {
  Nanos delay = kFirstRetry;
  for (int i = 1; i < failures && delay < kLongestRetry; ++i) delay *= 2;
  return std::min<Nanos>(delay, kLongestRetry);
}

Refusal sandbox_failure(const std::string& why) {
  return {"FailedCreatePodSandBox", "Failed to create pod sandbox: " + why};
}

Refusal mount_failure(const std::string& why) { return {"FailedMount", why}; }

}  // namespace

PodSandbox::PodSandbox(PodState& state)
    : state_(state),
      objects_(state),
      policies_hold_(!state.context.policies || state.record.host_network) {}

void PodSandbox::advance() {
  if (failures_ > 0 && retry_at_ > state_.now()) return state_.wake_at(retry_at_);
  if (!state_.record.sandbox) return make();
  await_policies();
}

// A pod that policies select does not run a single instruction before they hold for its address.
void PodSandbox::await_policies() {
  CHECK(state_.context.policies, "without policies they hold from the beginning");
  auto done = state_.work<void>([this](const Result<void>& held) {
    policies_hold_ = held.has_value();
    if (!held)
      on_failure(sandbox_failure("network policies are not in force: " + held.error().message));
  });
  state_.context.policies->await(*state_.pod, std::move(done));
}

void PodSandbox::make() {
  PodRecord& record = state_.record;
  CHECK(record.outcome.empty(), "a pod that is over needs no network");
  if (!record.host_network && record.address.empty()) {
    Result<std::string> address = state_.context.machine.take_address();
    if (!address) return on_failure(sandbox_failure(address.error().message));
    record.address = *address;
    policies_hold_ = !state_.context.policies;
  }
  state_.report();
  state_.begin_work();
  check_runtime_class([this](const Result<void>& checked) {
    if (checked) return fetch_and_plan();
    state_.end_work();
    on_failure(sandbox_failure("failed to get sandbox runtime: " + checked.error().message));
    state_.step();
  });
}

// There is one runtime; a handler by another name, kata for one, is a promise that it could not
// keep.
void PodSandbox::check_runtime_class(Done<void> done) {
  const std::string& name = state_.pod->spec.runtimeClassName;
  if (name.empty()) return done({});
  auto check = [this, done = std::move(done)](Result<kube::ObjectPtr> found) mutable {
    if (!found) return done(std::unexpected(found.error()));
    Result<json::Value> object = json::parse(*(*found)->json);
    if (!object) return done(std::unexpected(object.error()));
    const std::string handler(json::string_at(*object, {"handler"}));
    if (handler.empty() || handler == state_.context.runtime) return done({});
    done(fail(Code::invalid, "no runtime for \"" + handler + "\" is configured"));
  };
  state_.context.client.get(kRuntimeClasses, kube::Key{"", name}, state_.guarded(std::move(check)));
}

void PodSandbox::fetch_and_plan() {
  objects_.fetch([this](const Result<PodSources>& sources) {
    state_.end_work();
    if (sources) return plan(*sources);
    on_failure(mount_failure(sources.error().message));
    state_.step();
  });
}

// In the words of a kubelet that lacks the same things.
std::optional<Refusal> PodSandbox::refusal() const {
  const AgentPod& pod = *state_.pod;
  if (pod.own_users)
    return sandbox_failure("RuntimeClass handler \"\" does not support user namespaces");
  if (!pod.block_volumes.empty()) {
    const std::string& volume = *pod.block_volumes.begin();
    return mount_failure("MountVolume.SetUp failed for volume \"" + volume + "\" : volume " +
                         volume + " has volumeMode Filesystem, but is specified in volumeDevices");
  }
  Result<std::string> name = kernel_hostname(pod, state_.context.node_name,
                                             state_.context.cluster_domain, pod.fqdn_hostname);
  if (!name) return sandbox_failure(name.error().message);
  return std::nullopt;
}

Result<std::vector<VolumePlan>> PodSandbox::volumes(const PodSources& sources) const {
  return plan_volumes(*state_.pod, state_.facts(), sources,
                      VolumePlanOptions{state_.context.ca_pem, state_.context.launcher});
}

void PodSandbox::plan(const PodSources& sources) {
  if (state_.ending != Ending::no) return state_.step();
  std::optional<Refusal> why = refusal();
  Result<std::vector<VolumePlan>> planned = volumes(sources);
  if (!why && !planned) why = mount_failure(planned.error().message);
  if (why) {
    on_failure(*why);
    return state_.step();
  }
  const AgentPod& pod = *state_.pod;
  const PodContext& context = state_.context;
  if (state_.record.host_network && pod.spec.dnsPolicy == "ClusterFirstWithHostNet")
    state_.event("Warning", "MissingClusterDNS",
                 "pod: \"" + state_.described() +
                     "\". The cluster's names and addresses do not exist on the host's network: "
                     "cannot create Pod using \"ClusterFirstWithHostNet\" policy. Falling back to "
                     "\"Default\" policy.");
  SandboxRequest request;
  request.record = state_.record;
  request.files = pod_files(
      pod, PodFilesInput{
               state_.facts().pod_ip, context.node_name, context.cluster_domain,
               context.dns_address, context.host_hosts, context.host_resolv_conf,
               kernel_hostname(pod, context.node_name, context.cluster_domain, pod.fqdn_hostname)
                   .value_or("")});
  request.volumes = std::move(*planned);
  request.host_ipc = pod.spec.hostIPC;
  auto made = [this](const Result<void>& done) {
    if (!done) {
      const std::string& message = done.error().message;
      return on_failure(message.starts_with("MountVolume") ? mount_failure(message)
                                                           : sandbox_failure(message));
    }
    failures_ = 0;
    state_.record.sandbox = true;
    state_.report();
  };
  state_.context.machine.make_sandbox(std::move(request), state_.work<void>(std::move(made)));
}

void PodSandbox::on_failure(const Refusal& why) {
  retry_at_ = state_.now() + retry_delay(++failures_);
  state_.event("Warning", why.reason.c_str(), why.message);
  state_.report();
  state_.wake_at(retry_at_);
}

void PodSandbox::refresh_volumes() {
  if (!state_.record.sandbox || !state_.record.outcome.empty() || state_.ending != Ending::no)
    return;
  if (volume_sources(*state_.pod).empty() && token_requests(*state_.pod).empty()) return;
  objects_.fetch([this](const Result<PodSources>& sources) {
    if (!sources || state_.ending != Ending::no) return;
    Result<std::vector<VolumePlan>> planned = volumes(*sources);
    if (planned) state_.context.machine.refresh_volumes(state_.record.uid, std::move(*planned));
  });
}

}  // namespace hekla::agent
