// Resource groups: pods of a namespace, or with an annotation, are sent to a scheduler, to labelled
// nodes, past taints. Read from volcano-admission.conf.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace hekla::admission {

inline constexpr std::string_view kConfigurationNamespace = "volcano-system";
inline constexpr std::string_view kConfigurationMap = "volcano-admission-configmap";
inline constexpr std::string_view kConfigurationKey = "volcano-admission.conf";

struct ResourceGroup {
  std::string name;
  bool by_namespace = false;
  std::vector<std::string> values;  // namespaces, or "key: value" annotations
  std::string scheduler_name;
  json::Value tolerations, labels, affinity;  // null when not given

  // Without values: pods whose annotation volcano.sh/resource-group is the group's name.
  bool holds(const json::Value& pod, std::string_view ns) const;
  void apply_to(json::Value& pod) const;
};

Result<std::vector<ResourceGroup>> parse_resource_groups(std::string_view text);

}  // namespace hekla::admission
