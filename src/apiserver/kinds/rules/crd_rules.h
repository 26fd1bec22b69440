// The rules for CustomResourceDefinitions themselves. A CRD's conditions are set in the very write
// that creates it, and its kinds are served before that write is answered.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/object/registry.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace hekla::apiserver {

inline constexpr std::string_view kCrdFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Fills in its status: accepted names, stored versions, conditions. Gives back the CRD as its
// writer is answerable for it: the stored versions are a matter of the write itself, the rest is
// the server's.
json::Value accept_crd(json::Value& crd, const Catalog& catalog, WallTime now);
// `old` is null on create.
std::vector<Cause> validate_crd(const json::Value& crd, const json::Value* old,
                                const Catalog& catalog);
// Adds the finalizer and the Terminating condition; true when the CRD must stay for its resources.
bool begin_crd_removal(json::Value& crd, WallTime now);

}  // namespace hekla::apiserver
