#include "cli/cluster_install/readiness.h"

#include <poll.h>

#include <cstdio>
#include <set>

#include "kube/client.h"

namespace hekla::cli {
namespace {

constexpr int kLookEveryMs = 300;

Result<json::Value> listed(ApiSession& session, const kube::Resource& resource,
                           const std::string& ns, const std::string& selector) {
  return session.call(
      "GET", ApiSession::path_of(resource, ns) + "?labelSelector=" + net::url_encode(selector));
}

// Why a pod does not run, in the kubelet's words; empty where it says nothing.
std::string reason_of(const json::Value& pod) {
  for (const char* member : {"containerStatuses", "initContainerStatuses"})
    if (const json::Array* all = json::array_at(pod, {"status", member}))
      for (const json::Value& one : *all)
        if (const std::string_view reason = json::string_at(one, {"state", "waiting", "reason"});
            !reason.empty() && reason != "ContainerCreating") {
          const std::string_view message = json::string_at(one, {"state", "waiting", "message"});
          return std::string(reason) + (message.empty() ? "" : ": " + std::string(message));
        }
  if (const json::Array* all = json::array_at(pod, {"status", "conditions"}))
    for (const json::Value& one : *all)
      if (json::string_at(one, {"type"}) == "PodScheduled" &&
          json::string_at(one, {"status"}) == "False")
        return std::string(json::string_at(one, {"message"}));
  return {};
}

Result<std::string> reason_in(ApiSession& session, const std::string& ns,
                              const std::string& deployment) {
  const json::Value pods = TRY(listed(session, kube::resources::pods, ns, "app=" + deployment));
  if (const json::Array* items = json::array_at(pods, {"items"}))
    for (const json::Value& pod : *items)
      if (std::string reason = reason_of(pod); !reason.empty()) return " (" + reason + ")";
  return std::string();
}

// Empty: nothing is missing.
Result<std::string> missing_of(ApiSession& session, const std::string& ns,
                               const json::Value& deployment) {
  const std::int64_t wanted = json::int_at(deployment, {"spec", "replicas"}, 1);
  const std::int64_t updated = json::int_at(deployment, {"status", "updatedReplicas"});
  const std::int64_t available = json::int_at(deployment, {"status", "availableReplicas"});
  const bool seen = json::int_at(deployment, {"status", "observedGeneration"}) >=
                    json::int_at(deployment, {"metadata", "generation"});
  if (seen && updated >= wanted && available >= wanted) return std::string();
  const std::string name(json::string_at(deployment, {"metadata", "name"}));
  return "deployment/" + name + ": " + std::to_string(std::min(updated, available)) + " of " +
         std::to_string(wanted) + " ready" + TRY(reason_in(session, ns, name));
}

}  // namespace

Result<void> wait_until_ready(ApiSession& session, const std::string& ns, Nanos timeout) {
  const MonoTime end = real_clock().mono() + timeout;
  std::set<std::string> said;
  while (true) {
    const json::Value deployments =
        TRY(listed(session, kube::resources::deployments, ns,
                   "app.kubernetes.io/name=hekla,app.kubernetes.io/instance=hekla"));
    std::string last;
    if (const json::Array* items = json::array_at(deployments, {"items"}))
      for (const json::Value& one : *items) {
        const std::string missing = TRY(missing_of(session, ns, one));
        if (missing.empty()) continue;
        last = missing;
        if (said.insert(missing).second) std::printf("%s\n", missing.c_str());
        std::fflush(stdout);
      }
    if (last.empty()) return {};
    if (real_clock().mono() >= end) return fail(Code::timeout, "still waiting for " + last);
    ::poll(nullptr, 0, kLookEveryMs);
  }
}

}  // namespace hekla::cli
