#include "apiserver/subresources.h"

#include <algorithm>

#include "apiserver/component_status.h"
#include "apiserver/scale.h"
#include "apiserver/schema_facts.h"

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

namespace {

KindPtr unstored_kind(kube::Resource resource, std::string singular,
                      std::vector<std::string> verbs) {
  auto kind = std::make_shared<Kind>();
  kind->resource = std::move(resource);
  kind->singular = std::move(singular);
  kind->verbs = std::move(verbs);
  return kind;
}

}  // namespace

const std::vector<KindPtr>& virtual_kinds() {
  static const std::vector<KindPtr> all = [] {
    struct Name {
      const char *group, *plural, *kind;
      bool namespaced;
    };
    static constexpr Name kNames[]{
        {"", "bindings", "Binding", true},
        {"authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", false},
        {"authentication.k8s.io", "tokenreviews", "TokenReview", false},
        {"authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true},
        {"authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false},
        {"authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", false},
        {"authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false},
    };
    std::vector<KindPtr> kinds;
    for (const Name& name : kNames) {
      auto kind = std::make_shared<Kind>();
      kind->resource = {name.group, "v1", name.plural, name.kind, name.namespaced};
      kind->singular = name.kind;
      std::transform(kind->singular.begin(), kind->singular.end(), kind->singular.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      kind->verbs = {"create"};
      // "io.k8s.api.authorization.v1.SubjectAccessReview"
      const std::string group = kind->resource.group.substr(0, kind->resource.group.find('.'));
      kind->schema = builtin_type("io.k8s.api." + (group.empty() ? "core" : group) + ".v1." +
                                  kind->resource.kind);
      kinds.push_back(std::move(kind));
    }
    kinds.push_back(component_status_kind());
    return kinds;
  }();
  return all;
}

const std::vector<KindPtr>& report_kinds() {
  static const std::vector<KindPtr> all{
      unstored_kind({"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false}, "",
                    {"get", "list"}),
      unstored_kind({"metrics.k8s.io", "v1beta1", "pods", "PodMetrics"}, "", {"get", "list"}),
      unstored_kind({"logs.hekla.io", "v1alpha1", "podlogs", "PodLog"}, "podlog", {"list"})};
  return all;
}

}  // namespace hekla::apiserver
