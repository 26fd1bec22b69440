// The applications of Kubeflow 1.0's KfDef, and what stands for each on this platform.
#pragma once

#include <span>
#include <string_view>

namespace hekla::cli {

struct KfApplication {
  std::string_view name;
  // A path that the API server answers when the part behind the application works. Empty: the
  // platform has no such part.
  std::string_view sign;
};

// In the order of kfctl_k8s_istio.v1.0.2.
std::span<const KfApplication> kf_applications();

}  // namespace hekla::cli
