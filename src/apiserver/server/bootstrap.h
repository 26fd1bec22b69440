// The objects every cluster begins with.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/crd/platform_crds.h"
#include "apiserver/object/registry.h"
#include "apiserver/server/bootstrap_options.h"
#include "apiserver/server/self_reconciler.h"
#include "apiserver/write/writes.h"
#include "base/executor.h"
#include "base/result.h"
#include "json/value.h"
#include "store/store.h"

namespace hekla::apiserver {

// In an order in which each finds what it needs.
std::vector<json::Value> bootstrap_objects(const BootstrapOptions& options);
// Objects among them that the platform works with and that come back when somebody deletes them.
std::vector<json::Value> platform_objects();
// Roles among them that do: installations of Kubeflow bring their own of these names.
std::vector<json::Value> platform_roles();
// Makes what is missing of the platform's CRDs and of `objects`, two seconds after it has gone.
// `adorn_crd` may add to a CRD's metadata.
ReconcileRule returning_rule(const PlatformCrds& platform, std::vector<json::Value> objects,
                             std::function<void(json::Value& crd)> adorn_crd);
// The CRDs in the given YAML texts.
Result<std::vector<json::Value>> parse_crds(const std::vector<std::string_view>& yamls);

// Creates `objects` where they are missing, then the CRDs, replacing those of another spec. Every
// CRD's resources are served when `done` runs, on `loop`.
void install_objects(store::Store& store, Registry& registry, Writes& writes, Executor& loop,
                     std::vector<json::Value> objects, std::vector<json::Value> crds,
                     std::move_only_function<void(Result<void>)> done);

}  // namespace hekla::apiserver
