// The scale subresource as data: which kinds have it and how it is read.
#pragma once

#include <string>

#include "apiserver/kind.h"
#include "apiserver/registry.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

struct ScalePaths {
  std::string spec, status;  // ".spec.replicas"; empty: no scale subresource
};
ScalePaths scale_paths(const Kind& kind);
inline bool has_scale(const Kind& kind) { return !scale_paths(kind).spec.empty(); }

// The autoscaling/v1 Scale of an object.
Result<json::Value> scale_of(const Kind& kind, const json::Value& object);
// How kubectl get shows it.
const ServedKind& shown_scale();

}  // namespace hekla::apiserver
