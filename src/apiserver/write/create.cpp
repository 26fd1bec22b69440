#include "apiserver/write/create.h"

#include "apiserver/auth/auth.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/quota.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/allocate.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/put.h"
#include "apiserver/write/stages/validate.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

// The namespace and the CRD are still what they were when the object was judged: otherwise it could
// come into a namespace, or be of a kind, that has just been emptied to go.
std::vector<store::Guard> guards_of(const WriteScope& scope, std::string_view ns) {
  std::vector<store::Guard> guards;
  auto stands = [](store::Revision revision) {
    return store::Expect{store::Expect::Kind::revision, revision};
  };
  if (scope.resource().namespaced) {
    const ServedPtr namespaces = scope.catalog.find(kube::resources::namespaces);
    if (store::ItemPtr item = scope.snapshot.get(namespaces->bucket, ns))
      guards.push_back({namespaces->bucket, item->key, stands(item->modified)});
  }
  if (const store::Revision since = scope.served().schema_since;
      scope.kind().custom && since != 0) {
    const ServedPtr definitions = scope.catalog.find(kube::resources::custom_resource_definitions);
    guards.push_back({definitions->bucket, scope.kind().storage.bucket, stands(since)});
  }
  return guards;
}

// A PUT or PATCH has been allowed as what it is; to create by it is a right of its own.
Result<void> check_may_create(const WriteScope& scope) {
  const WriteRequest& request = scope.request;
  if (!request.asked || request.verb == WriteRequest::Verb::create) return {};
  RequestInfo creation = *request.asked;
  creation.verb = "create";
  std::string why;
  if (scope.services.authorizer->allows(request.user, creation, &why)) return {};
  return std::unexpected(forbidden_request(request.user, creation, why));
}

}  // namespace

Result<PreparedWrite> prepare_create(WriteScope& scope, json::Value object,
                                     const FieldSet* stated) {
  const Kind& kind = scope.kind();
  if (scope.served().terminating)
    return fail(Code::method_not_allowed,
                "create not allowed while custom resource definition is terminating");
  TRY(check_may_create(scope));
  TRY(match_request(kind, scope.request.key, object));
  const std::string revision(meta_string(object, "resourceVersion"));
  TRY(decode_stage(scope, object));
  if (kind.traits.has_status && !kind.traits.status_from_start) object.get_object().erase("status");

  json::Object& meta = metadata_of(object);
  for (std::string_view member : {"uid", "creationTimestamp", "generation", "managedFields"})
    meta.erase(member);
  const FieldOwner owner{scope.request.field_manager, kind.resource.api_version(),
                         scope.request.subresource, stated != nullptr};
  if (stated) {
    if (!stated->empty())
      write_managed_fields(object, {{owner, model::format_rfc3339(scope.now), *stated}});
  } else if (kind.schema) {
    track_update(kind, nullptr, object, owner, scope.now);
  }
  TRY(mutate_stage(scope, object, nullptr, kube::Operation::create));

  const bool generated = meta_string(object, "name").empty();
  generate_name(object, scope.rng);
  stamp_created(kind, object, scope.now, scope.rng);
  if (kind.rules.prepare_create)
    kind.rules.prepare_create(object, {scope.now, &scope.rng, scope.request.subresource});
  complete_status(kind, object);
  TRY(allocate_stage(scope, object, nullptr));
  TRY(validate_stage(scope, object, nullptr));
  TRY(admit_stage(scope, object, nullptr, kube::Operation::create));
  TRY(quota_stage(scope, &object, nullptr));

  // The store's own rule, behind all others; a dry run does not come as far and answers what it was
  // told.
  if (!revision.empty() && revision != "0" && !scope.request.dry_run)
    return fail(Code::internal, "resourceVersion should not be set on objects to be created");
  std::vector<store::Guard> guards = guards_of(scope, meta_string(object, "namespace"));
  PreparedWrite prepared = TRY(put_stage(scope, std::move(object), {store::Expect::Kind::absent},
                                         WriteOutcome::Effect::created, 0));
  prepared.retry_on_exists = generated;
  prepared.write.guards = std::move(guards);
  prepared.guarded = true;
  return prepared;
}

}  // namespace hekla::apiserver
