#include "apiserver/kinds/unstored.h"

#include <algorithm>

#include "apiserver/kinds/builtin.h"
#include "apiserver/schema/facts.h"

namespace hekla::apiserver {

namespace {

KindPtr unstored_kind(kube::Resource resource, std::string singular,
                      std::vector<std::string> verbs) {
  auto kind = std::make_shared<Kind>();
  kind->resource = std::move(resource);
  kind->singular = std::move(singular);
  kind->verbs = std::move(verbs);
  return kind;
}

json::Array component_cells(const json::Value& object, WallTime) {
  const json::Array* conditions = json::array_at(object, {"conditions"});
  if (!conditions || conditions->empty())
    return {json::Value("Unknown"), json::Value(""), json::Value("")};
  const json::Value& condition = conditions->front();
  return {json::Value(json::string_at(condition, {"status"}) == "True" ? "Healthy" : "Unhealthy"),
          json::Value(json::string_at(condition, {"message"})),
          json::Value(json::string_at(condition, {"error"}))};
}

}  // namespace

KindPtr component_status_kind() {
  static const KindPtr made = [] {
    auto kind = std::make_shared<Kind>(
        cluster_kind("", "v1", "componentstatuses", "ComponentStatus", "io.k8s.api.core.v1"));
    kind->short_names = {"cs"};
    kind->verbs = {"get", "list"};
    kind->storage.version.clear();  // nothing is stored
    kind->traits.deprecation = "v1 ComponentStatus is deprecated in v1.19+";
    kind->printing.columns = columns({"Status", "Message", "Error"});
    kind->printing.cells = component_cells;
    return kind;
  }();
  return made;
}

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

KindPtr unstored_kind_of(const RequestInfo& info) {
  for (const std::vector<KindPtr>* kinds : {&virtual_kinds(), &report_kinds()})
    for (const KindPtr& kind : *kinds) {
      const kube::Resource& r = kind->resource;
      if (r.group == info.group && r.version == info.version && r.plural == info.plural)
        return kind;
    }
  return nullptr;
}

}  // namespace hekla::apiserver
