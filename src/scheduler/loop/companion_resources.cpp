#include "scheduler/loop/companion_resources.h"

namespace hekla::scheduler {

std::span<const kube::Resource> companion_resources() {
  namespace known = kube::resources;
  static const kube::Resource all[] = {
      known::hyper_nodes,
      known::persistent_volume_claims,
      known::persistent_volumes,
      known::storage_classes,
      {"storage.k8s.io", "v1", "csinodes", "CSINode", false},
      known::namespaces,
      known::resource_quotas,
      known::pod_disruption_budgets,
      known::numatopologies,
      {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"},
      {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false},
      {"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false},
  };
  return all;
}

}  // namespace hekla::scheduler
