#include "agent/pod/launch_request.h"

#include <algorithm>
#include <functional>
#include <set>

#include "agent/pod/pod_files.h"
#include "base/check.h"

namespace hekla::agent {
namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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
  // Paths of the spec itself have been validated.
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

bool is_all_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// `where`: the words for pod and container.
Result<void> check_non_root(const Security& security, const std::string& image_user,
                            const std::string& where) {
  if (!security.non_root_required) return {};
  const std::string user = image_user.substr(0, image_user.find(':'));
  if (!security.uid_given && !user.empty()) {
    if (!is_all_digits(user))
      return fail(Code::invalid, "container has runAsNonRoot and image has non-numeric user (" +
                                     user + "), cannot verify user is non-root" + where);
    if (user.find_first_not_of('0') != std::string::npos) return {};
  } else if (security.uid != 0) {
    return {};
  }
  if (security.uid_given)
    return fail(Code::invalid, "container's runAsUser breaks non-root policy" + where);
  return fail(Code::invalid, "container has runAsNonRoot and image will run as root" + where);
}

bool has_variable(const Environment& env, std::string_view name) {
  return std::ranges::any_of(env, [&](const auto& entry) { return entry.first == name; });
}

// The image's variables that the pod does not set, those that every container has, the pod's.
std::vector<std::string> variables(const Environment& env, const ImageConfig& image,
                                   const std::string& hostname, bool terminal) {
  std::vector<std::string> out;
  bool has_path = has_variable(env, "PATH");
  for (const std::string& entry : image.env) {
    if (has_variable(env, std::string_view(entry).substr(0, entry.find('=')))) continue;
    has_path = has_path || entry.starts_with("PATH=");
    out.push_back(entry);
  }
  if (!has_path) out.push_back(std::string("PATH=") + kDefaultPath);
  if (!has_variable(env, "HOSTNAME")) out.push_back("HOSTNAME=" + hostname);
  if (terminal && !has_variable(env, "TERM")) out.emplace_back("TERM=xterm");
  for (const auto& [name, value] : env) out.push_back(name + "=" + value);
  return out;
}

// A container that has the nodes of its own cards alone sees them numbered from 0 by CUDA.
void add_gpus(const LaunchInput& input, const Environment& env, BundleSpec& bundle) {
  const std::vector<std::int32_t>& cards = input.record.containers[input.container].gpus;
  if (cards.empty()) return;
  const bool own_libraries = !input.image || input.image->host;
  give_gpus(input.context.gpu_driver, cards, own_libraries, bundle);
  std::vector<std::int32_t> seen = cards;
  if (!bundle.devices.empty() && !bundle.security.privileged) {
    const auto distinct = std::set<std::int32_t>(cards.begin(), cards.end()).size();
    seen.clear();
    for (std::size_t i = 0; i < distinct; ++i) seen.push_back(static_cast<std::int32_t>(i));
  }
  if (!has_variable(env, "NVIDIA_VISIBLE_DEVICES"))
    bundle.env.push_back("NVIDIA_VISIBLE_DEVICES=" + gpu_list(cards));
  if (!has_variable(env, "CUDA_VISIBLE_DEVICES"))
    bundle.env.push_back("CUDA_VISIBLE_DEVICES=" + gpu_list(seen));
}

Result<Environment> environment_of(const LaunchInput& input, const model::Container& spec) {
  const PodRecord& record = input.record;
  // Cluster IPs lead nowhere from the host's network.
  const bool links = input.pod->spec.enableServiceLinks.value_or(true) && !record.host_network;
  const auto kept = input.context.node.services(record.ns);
  std::vector<const model::Service*> services;
  for (const auto& service : kept) services.push_back(service.get());
  return container_environment(
      *input.pod, spec, input.facts, input.sources,
      service_environment(record.host_network ? input.context.host_api : input.context.api, links,
                          services));
}

Result<Security> security_of(const LaunchInput& input, const model::Container& spec,
                             const ImageConfig& image) {
  const json::Value& of_pod = input.pod->spec.securityContext;
  Security security = merge_security(of_pod, spec.securityContext);
  security.grantable = input.context.capabilities;
  if (!security.seccomp_given) security.default_seccomp = input.context.default_seccomp;
  TRY(check_seccomp(of_pod, spec.securityContext));
  const PodRecord& record = input.record;
  TRY(check_non_root(security, image.user,
                     " (pod: \"" + record.name + "_" + record.ns + "(" + record.uid +
                         ")\", container: " + spec.name + ")"));
  return security;
}

}  // namespace

Result<LaunchRequest> make_launch_request(const LaunchInput& input) {
  const PodContext& context = input.context;
  const AgentPod& pod = *input.pod;
  const ContainerRecord& container = input.record.containers[input.container];
  const model::Container* found = container_spec(pod, container);
  CHECK(found, "a container that is launched is in the spec");
  const model::Container& spec = *found;
  const Environment env = TRY(environment_of(input, spec));
  LaunchRequest request;
  request.pod = input.pod;
  request.container = input.container;
  request.spec = spec;
  request.image = input.image;
  for (model::VolumeMount& mount : request.spec.volumeMounts)
    if (!mount.subPathExpr.empty()) mount.subPath = TRY(expand_sub_path(mount.subPathExpr, env));
  if (auto listed = pod.recursive_read_only.find(spec.name);
      listed != pod.recursive_read_only.end())
    request.recursive_read_only = listed->second;
  if (const HostImageSpec* host = context.images.find(spec.image);
      host && host->is_host() && !input.image)
    request.host_image = *host;
  const ImageConfig& image = input.image ? input.image->config : request.host_image.config;

  BundleSpec& bundle = request.bundle;
  bundle.security = TRY(security_of(input, spec, image));
  bundle.sysctls = sysctls_of(pod.spec.securityContext);
  bundle.args = command_line(spec, image, env);
  if (bundle.args.empty())
    return fail(Code::invalid, input.image
                                   ? "no command specified"
                                   : "no command specified: the host image has none of its own");
  bundle.hostname =
      TRY(kernel_hostname(pod, context.node_name, context.cluster_domain, pod.fqdn_hostname));
  bundle.apparmor =
      TRY(apparmor_profile(pod.spec.securityContext, spec.securityContext, context.apparmor));
  bundle.env = variables(env, image, bundle.hostname, spec.tty);
  add_gpus(input, env, bundle);
  if (!image.working_dir.empty()) bundle.cwd = image.working_dir;
  if (!spec.workingDir.empty()) bundle.cwd = spec.workingDir;
  bundle.terminal = spec.tty;
  bundle.host_pid = pod.spec.hostPID;
  bundle.host_ipc = pod.spec.hostIPC;
  bundle.limits = limits_of(spec.resources, pod.status.qosClass, context.machine_memory_bytes);
  return request;
}

}  // namespace hekla::agent
