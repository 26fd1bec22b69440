// How a custom resource is written in another of its versions. main plugs the functions into our
// API server, or serves them as a conversion webhook; they know neither.
#pragma once

#include <string_view>

#include "json/value.h"

namespace hekla::kube {

struct Conversion {
  std::string_view crd;  // "tfjobs.kubeflow.org"
  // Pure. Rewrites an object, which names the version it is in, into `version` of its group; one
  // that says more than `version` can keeps the rest in its annotations. An object of a version
  // nobody has heard of stays as it is.
  void (*convert)(json::Value& object, std::string_view version);
};

}  // namespace hekla::kube
