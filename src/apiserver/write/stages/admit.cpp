#include "apiserver/write/stages/admit.h"

#include <algorithm>

#include "apiserver/gates/chain.h"
#include "apiserver/gates/policies.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/subresources.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/find.h"
#include "base/check.h"

namespace hekla::apiserver {

OwnAdmissionRequest admission_request(WriteScope& scope, const json::Value& object,
                                      const json::Value* old, kube::Operation operation) {
  OwnAdmissionRequest request;
  request.operation = operation;
  request.resource = scope.resource();
  request.subresource = scope.request.subresource;
  request.key = scope.request.key;
  if (request.key.name.empty()) request.key.name = meta_string(object, "name");
  request.old_object = old;
  request.user = scope.request.user;
  request.dry_run = scope.request.dry_run;
  request.now = scope.now;
  request.warnings = &scope.warnings;
  request.kept = &scope.memo->kept;
  request.audit_annotations = &scope.memo->audit_annotations;
  request.write = &scope.request;
  return request;
}

Result<void> mutate_stage(WriteScope& scope, json::Value& object, const json::Value* old,
                          kube::Operation operation) {
  OwnAdmissionRequest request = admission_request(scope, object, old, operation);
  SnapshotReader reader(scope.snapshot, scope.catalog);
  request.reader = &reader;
  const bool webhooks = !writes_view(scope) && webhooks_configured(scope, true);
  if (!webhooks && !scope.services.admission->mutates(request)) return {};
  TRY(scope.services.admission->mutate(request, object));
  if (webhooks) {
    TRY(mutate_by_webhooks(scope, request, object));
    TRY(match_request(scope.kind(), request.key,
                      object));  // what was authorized is still what is written
    if (!scope.kind().custom && scope.kind().schema) {
      if (Result<void> typed = check_types(*scope.kind().schema, object); !typed)
        return fail(Code::bad_request, cannot_handle(scope.resource()) + typed.error().message);
      normalize(*scope.kind().schema, object);
    }
  }
  if (scope.kind().custom && scope.kind().schema) prune(*scope.kind().schema, object);
  default_stage(scope.kind(), object);
  return {};
}

Result<void> admit_stage(WriteScope& scope, const json::Value& object, const json::Value* old,
                         kube::Operation operation) {
  OwnAdmissionRequest request = admission_request(scope, object, old, operation);
  SnapshotReader reader(scope.snapshot, scope.catalog);
  request.reader = &reader;
  if (operation == kube::Operation::remove && webhooks_configured(scope, true)) {
    json::Value shown = object;  // nothing to change: they may only object
    TRY(mutate_by_webhooks(scope, request, shown));
  }
  TRY(scope.services.admission->validate(request, object));
  if (writes_view(scope)) return {};
  TRY(validate_by_policies(scope, request, object));
  return validate_by_webhooks(scope, request, object);
}

Result<void> admit_sent(WriteScope& scope, const std::string& subresource,
                        kube::Operation operation, json::Value& sent, const json::Value* old) {
  const bool mutating = webhooks_configured(scope, true);
  if (!mutating && !webhooks_configured(scope, false) &&
      scope.services.policies->at(scope.snapshot, scope.catalog)->policies.empty())
    return {};
  const Subresource* found = find_subresource(scope.kind(), subresource);
  CHECK(found, "a subresource of the kind");
  OwnAdmissionRequest request = admission_request(scope, sent, old, operation);
  request.subresource = subresource;
  request.sent_kind = {found->group, found->version, "", found->kind, scope.resource().namespaced};
  SnapshotReader reader(scope.snapshot, scope.catalog);
  request.reader = &reader;
  if (mutating) TRY(mutate_by_webhooks(scope, request, sent));
  TRY(validate_by_policies(scope, request, sent));
  return validate_by_webhooks(scope, request, sent);
}

}  // namespace hekla::apiserver
