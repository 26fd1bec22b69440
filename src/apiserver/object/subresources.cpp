#include "apiserver/object/subresources.h"

#include <algorithm>

namespace hekla::apiserver {
namespace {

Subresource scale_view() {
  return {.name = "scale",
          .group = "autoscaling",
          .version = "v1",
          .kind = "Scale",
          .verbs = {"get", "patch", "update"},
          .form = Subresource::Form::scale};
}

Subresource status_part(const kube::Resource& of) {
  return {.name = "status",
          .group = of.group,
          .version = of.version,
          .kind = of.kind,
          .verbs = {"get", "patch", "update"}};
}

}  // namespace

std::vector<Subresource> subresources_of(const Kind& kind) {
  std::vector<Subresource> all = kind.subresources;
  if (has_scale(kind)) all.push_back(scale_view());
  if (kind.traits.has_status) all.push_back(status_part(kind.resource));
  std::ranges::sort(all, {}, &Subresource::name);
  return all;
}

const Subresource* find_subresource(const Kind& kind, std::string_view name) {
  if (name.empty()) return nullptr;
  if (auto own = std::ranges::find(kind.subresources, name, &Subresource::name);
      own != kind.subresources.end())
    return &*own;
  static const Subresource kScale = scale_view(), kStatus = status_part({});
  if (name == kScale.name && has_scale(kind)) return &kScale;
  if (name == kStatus.name && kind.traits.has_status) return &kStatus;
  return nullptr;
}

}  // namespace hekla::apiserver
