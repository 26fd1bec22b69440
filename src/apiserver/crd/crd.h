// CustomResourceDefinitions as what they bring: the kinds that are served.
#pragma once

#include "apiserver/object/registry.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"

namespace hekla::apiserver {

// The kinds of an established CRD.
Result<CustomKinds> kinds_of_crd(const json::Value& crd);
}  // namespace hekla::apiserver
