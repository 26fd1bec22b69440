#include "apiserver/kinds/api_service.h"

#include <algorithm>
#include <map>

#include "apiserver/kinds/unstored.h"
#include "model/time.h"

namespace hekla::apiserver {

json::Value local_condition(WallTime now) {
  return json::Object{{"type", "Available"},
                      {"status", "True"},
                      {"lastTransitionTime", model::format_rfc3339(now)},
                      {"reason", "Local"},
                      {"message", "Local APIServices are always available"}};
}

std::int64_t group_minimum(const std::string& group) {
  static const std::map<std::string, std::int64_t> kPriorities{
      {"apiregistration.k8s.io", 20001},  // before anything that an APIService may ask for
      {"", 18000},
      {"apps", 17800},
      {"events.k8s.io", 17750},
      {"authentication.k8s.io", 17700},
      {"authorization.k8s.io", 17600},
      {"autoscaling", 17500},
      {"batch", 17400},
      {"certificates.k8s.io", 17300},
      {"networking.k8s.io", 17200},
      {"policy", 17100},
      {"rbac.authorization.k8s.io", 17000},
      {"storage.k8s.io", 16800},
      {"apiextensions.k8s.io", 16700},
      {"admissionregistration.k8s.io", 16700},
      {"scheduling.k8s.io", 16600},
      {"coordination.k8s.io", 16500},
      {"node.k8s.io", 16300},
      {"discovery.k8s.io", 16200},
      {"resource.k8s.io", 16200},
      {"flowcontrol.apiserver.k8s.io", 16100},
  };
  auto found = kPriorities.find(group);
  return found == kPriorities.end() ? 1000 : found->second;
}

bool is_local_version(const Catalog& catalog, std::string_view group, std::string_view version) {
  const auto is_it = [&](const Kind& kind) {
    return kind.resource.group == group && kind.resource.version == version;
  };
  const auto has_it = [&](const std::vector<KindPtr>& kinds) {
    return std::ranges::any_of(kinds, [&](const KindPtr& kind) { return is_it(*kind); });
  };
  return std::ranges::any_of(catalog.all(),
                             [&](const ServedPtr& served) { return is_it(*served->kind); }) ||
         has_it(virtual_kinds()) || (catalog.node_reports() && has_it(report_kinds()));
}

}  // namespace hekla::apiserver
