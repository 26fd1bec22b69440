#include "apiserver/write/stages/allocate.h"

#include "apiserver/gates/webhooks.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/service_addresses.h"

namespace hekla::apiserver {

Result<void> allocate_stage(WriteScope& scope, json::Value& object, const json::Value* old) {
  const Kind& kind = scope.kind();
  if (kind.rules.accept) {
    const json::Value written = kind.rules.accept(object, scope.catalog, scope.now);
    track_update(kind, &written, object, {"kube-apiserver", kind.resource.api_version(), "status"},
                 scope.now);
  }
  if (kind.traits.takes_addresses && scope.services.addresses) {
    std::vector<Cause> causes = scope.services.addresses->assign(
        object, old, scope.served(), scope.snapshot,
        {scope.rng, scope.now, scope.request.dry_run, scope.memo->kept["clusterIP"]});
    if (!causes.empty())
      return std::unexpected(invalid_object(kind.resource, std::string(meta_string(object, "name")),
                                            std::move(causes)));
  }
  return {};
}

}  // namespace hekla::apiserver
