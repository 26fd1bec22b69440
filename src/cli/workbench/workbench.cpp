#include "cli/workbench/workbench.h"

#include <poll.h>

#include <cstdio>

#include "base/clock.h"
#include "cli/web/page_link.h"
#include "model/time.h"

namespace hekla::cli {

const kube::Resource kNotebookKind{"kubeflow.org", "v1", "notebooks", "Notebook"};
const kube::Resource kTensorboardKind{"tensorboard.kubeflow.org", "v1alpha1", "tensorboards",
                                      "Tensorboard"};
const kube::Resource kProfileKind{"kubeflow.org", "v1", "profiles", "Profile", false};

namespace {

// The newest warning about the object, or what its first container waits for.
std::string obstacle(ApiSession& session, const kube::Resource& resource, const kube::Key& key,
                     const json::Value& object) {
  const std::string waits =
      json::text_at(object, {"status", "containerState", "waiting", "reason"});
  const std::string query =
      "?fieldSelector=" +
      net::url_encode("involvedObject.name=" + key.name + ",involvedObject.kind=" + resource.kind +
                      ",type=Warning");
  Result<json::Value> events =
      session.call("GET", ApiSession::path_of(kube::resources::events, key.ns) + query);
  const json::Array* items = events ? json::array_at(*events, {"items"}) : nullptr;
  const json::Value* newest = nullptr;
  for (std::size_t i = 0; items && i < items->size(); ++i)
    if (!newest || json::string_at((*items)[i], {"lastTimestamp"}) >=
                       json::string_at(*newest, {"lastTimestamp"}))
      newest = &(*items)[i];
  return newest ? json::text_at(*newest, {"message"}) : waits;
}

}  // namespace

std::vector<Flag> workbench_flags(WorkbenchFlags& flags) {
  std::vector<Flag> rows = cluster_flags(flags.cluster);
  rows.push_back(
      Flag("-n,--namespace", flags.ns, "the namespace (default: that of the first Profile)"));
  return rows;
}

Result<std::string> home_namespace(ApiSession& session, const WorkbenchFlags& flags) {
  if (!flags.ns.empty()) return flags.ns;
  const json::Value profile = TRY(first_profile(session));
  if (!profile.is_null()) return json::text_at(profile, {"metadata", "name"});
  return session.access().default_namespace;
}

Result<json::Value> get_one(ApiSession& session, const kube::Resource& resource,
                            const kube::Key& key) {
  return session.call("GET", ApiSession::path_of(resource, key.ns, key.name));
}

Result<void> create_one(ApiSession& session, const kube::Resource& resource, const std::string& ns,
                        json::Object object) {
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  TRY(session.call("POST", ApiSession::path_of(resource, ns), json::serialize(object)));
  return {};
}

Result<void> patch_one(ApiSession& session, const kube::Resource& resource, const kube::Key& key,
                       const json::Value& patch) {
  TRY(session.call("PATCH", ApiSession::path_of(resource, key.ns, key.name), json::serialize(patch),
                   "application/merge-patch+json"));
  return {};
}

Result<void> delete_one(ApiSession& session, const kube::Resource& resource, const kube::Key& key) {
  TRY(session.call("DELETE", ApiSession::path_of(resource, key.ns, key.name)));
  return {};
}

Result<void> await_ready(ApiSession& session, const kube::Resource& resource, const kube::Key& key,
                         std::chrono::seconds timeout) {
  constexpr int kInterval = 200;     // milliseconds
  constexpr int kSilentRounds = 15;  // of intervals: what passes by itself is not told
  const MonoTime end = real_clock().mono() + timeout;
  std::string told;
  for (int round = 0;; ++round) {
    const json::Value object = TRY(get_one(session, resource, key));
    if (json::int_at(object, {"status", "readyReplicas"}) > 0) return {};
    const std::string why = round % kSilentRounds == kSilentRounds - 1
                                ? obstacle(session, resource, key, object)
                                : told;
    if (why != told) std::fprintf(stderr, "waiting: %s\n", why.c_str());
    told = why;
    if (real_clock().mono() >= end)
      return fail(Code::timeout, lowered(resource.kind) + " " + key.name + " is not ready after " +
                                     std::to_string(timeout.count()) + " s" +
                                     (told.empty() ? "" : ": " + told));
    ::poll(nullptr, 0, kInterval);
  }
}

std::string age_of(const json::Value& object) {
  Result<WallTime> made =
      model::parse_rfc3339(json::string_at(object, {"metadata", "creationTimestamp"}));
  return made ? model::human_duration(real_clock().wall() - *made) : "<unknown>";
}

}  // namespace hekla::cli
