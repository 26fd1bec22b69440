#include "agent/pod/pod_admission.h"

namespace hekla::agent {

std::optional<Refusal> admission_refusal(const AgentPod& pod, const PodContext& context) {
  if (!pod.os.empty() && pod.os != "linux")
    return Refusal{"PodOSNotSupported",
                   "Failed to admit pod as the OS field doesn't match node OS"};
  if (auto sysctl =
          forbidden_sysctl(pod.spec.securityContext, pod.spec.hostNetwork, pod.spec.hostIPC))
    return Refusal{"SysctlForbidden", *sysctl};
  if (auto profile = missing_apparmor(pod, context.apparmor)) return Refusal{"AppArmor", *profile};
  if (auto lacking = context.node.shortage(pod))
    return Refusal{"OutOf" + lacking->resource, lacking->text()};
  if (context.node.host_port_taken(pod))
    return Refusal{"NodePorts",
                   "Predicate NodePorts failed: node(s) didn't have free ports for the requested "
                   "pod ports"};
  return std::nullopt;
}

}  // namespace hekla::agent
