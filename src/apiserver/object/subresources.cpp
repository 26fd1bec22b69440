#include "apiserver/object/subresources.h"

#include <algorithm>

namespace hekla::apiserver {

std::vector<Subresource> subresources_of(const Kind& kind) {
  const kube::Resource& r = kind.resource;
  std::vector<Subresource> all;
  const std::vector<std::string> read_write{"get", "patch", "update"};
  if (r.group.empty() && r.plural == "pods") {
    const std::vector<std::string> connect{"create", "get"};
    all.push_back({"attach", "", "v1", "PodAttachOptions", connect});
    all.push_back({"binding", "", "v1", "Binding", {"create"}});
    all.push_back({"ephemeralcontainers", "", "v1", "Pod", read_write});
    all.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
    all.push_back({"exec", "", "v1", "PodExecOptions", connect});
    all.push_back({"log", "", "v1", "Pod", {"get"}});
    all.push_back({"portforward", "", "v1", "PodPortForwardOptions", connect});
    all.push_back({"resize", "", "v1", "Pod", read_write});
  }
  for (const auto& [plural, options] :
       {std::pair("nodes", "NodeProxyOptions"), std::pair("pods", "PodProxyOptions"),
        std::pair("services", "ServiceProxyOptions")})
    if (r.group.empty() && r.plural == plural)
      all.push_back({"proxy", "", "v1", options, {"create", "delete", "get", "patch", "update"}});
  if (r.group.empty() && r.plural == "namespaces")
    all.push_back({"finalize", "", "v1", "Namespace", {"update"}});
  if (r.group.empty() && r.plural == "serviceaccounts")
    all.push_back({"token", "authentication.k8s.io", "v1", "TokenRequest", {"create"}});
  if (r.group == "certificates.k8s.io" && r.plural == "certificatesigningrequests")
    all.push_back({"approval", r.group, r.version, r.kind, read_write});
  if (has_scale(kind)) all.push_back({"scale", "autoscaling", "v1", "Scale", read_write});
  if (kind.has_status) all.push_back({"status", r.group, r.version, r.kind, read_write});
  std::ranges::sort(all, {}, &Subresource::name);
  return all;
}

}  // namespace hekla::apiserver
