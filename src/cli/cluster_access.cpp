#include "cli/cluster_access.h"

#include <CLI/CLI.hpp>

#include "cli/instance.h"
#include "cli/up_options.h"

namespace hekla::cli {

void add_access_flags(CLI::App& command, AccessOptions& options) {
  options.data_dir = default_data_dir();
  command
      .add_option("--kubeconfig", options.kubeconfig,
                  "the cluster to look at (default: the local platform)")
      ->envname("KUBECONFIG");
  command.add_option("--data-dir", options.data_dir, "of the local platform")
      ->capture_default_str();
}

Result<std::unique_ptr<ApiSession>> open_cluster(const AccessOptions& options) {
  std::string kubeconfig = options.kubeconfig;
  if (kubeconfig.empty()) {
    std::optional<Instance> running = find_instance(options.data_dir);
    if (!running)
      return fail(Code::unavailable, "no platform runs in " + options.data_dir +
                                         ": start it with hekla up, or name a cluster with "
                                         "--kubeconfig");
    kubeconfig = running->kubeconfig;
  }
  return ApiSession::open(TRY(kube::load_kubeconfig(kubeconfig)));
}

Result<std::vector<json::Value>> list_objects(ApiSession& session, const kube::Resource& resource,
                                              bool optional) {
  std::string path = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version() + "/" +
                     resource.plural;
  Result<json::Value> list = session.call("GET", path);
  if (!list) {
    bool tolerable = list.error().code == Code::not_found || list.error().code == Code::forbidden;
    if (optional && tolerable) return std::vector<json::Value>{};
    return fail(list.error().code, "list " + resource.plural + ": " + list.error().message);
  }
  std::vector<json::Value> objects;
  if (const json::Array* items = json::array_at(*list, {"items"}))
    for (const json::Value& item : *items) {
      json::Value object = item;
      object.as_object()["apiVersion"] = resource.api_version();
      object.as_object()["kind"] = resource.kind;
      objects.push_back(std::move(object));
    }
  return objects;
}

}  // namespace hekla::cli
