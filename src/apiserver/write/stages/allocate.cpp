#include "apiserver/write/stages/allocate.h"

#include "apiserver/crd/crd.h"
#include "apiserver/crd/rules.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/service_addresses.h"

namespace hekla::apiserver {

namespace {

// The server's own part of a CRD: conditions and accepted names, owned by it as by a controller.
void accept_names(WriteScope& scope, json::Value& crd) {
  json::Value before = crd;
  prepare_crd(crd, scope.catalog, scope.now);
  // The versions kept are a matter of the write itself.
  json::at_path(before, {"status", "storedVersions"}) =
      json::at_path(crd, {"status", "storedVersions"});
  track_update(scope.kind(), &before, crd,
               {"kube-apiserver", scope.resource().api_version(), "status"}, scope.now);
}

}  // namespace

Result<void> allocate_stage(WriteScope& scope, json::Value& object, const json::Value* old) {
  const kube::Resource& resource = scope.resource();
  if (is_crd(resource)) accept_names(scope, object);
  if (resource.plural == "services" && resource.group.empty() && scope.services.addresses) {
    std::vector<Cause> causes = scope.services.addresses->assign(
        object, old, scope.served(), scope.snapshot,
        {scope.rng, scope.now, scope.request.dry_run, scope.memo->kept["clusterIP"]});
    if (!causes.empty())
      return std::unexpected(
          invalid_object(resource, std::string(meta_string(object, "name")), std::move(causes)));
  }
  return {};
}

}  // namespace hekla::apiserver
