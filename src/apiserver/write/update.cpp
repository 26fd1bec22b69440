#include "apiserver/write/update.h"

#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/create.h"
#include "apiserver/write/finish_update.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

namespace {

Result<void> check_uid(const WriteScope& scope, const json::Value& object, const json::Value& old) {
  std::string_view given = meta_string(object, "uid"), actual = meta_string(old, "uid");
  if (given.empty() || given == actual) return {};
  return std::unexpected(
      conflict_error(scope.resource(), scope.request.key.name,
                     "Precondition failed: UID in precondition: " + std::string(given) +
                         ", UID in object meta: " + std::string(actual)));
}

// A part of the object is replaced, whoever owns its fields.
Result<PreparedWrite> replace_part(WriteScope& scope, json::Value changed, json::Value old,
                                   store::ItemPtr item) {
  UpdateInput input{std::move(changed), std::move(old), std::move(item)};
  input.decoded = true;
  input.fields_tracked = true;
  return finish_update(scope, std::move(input));
}

}  // namespace

Result<PreparedWrite> prepare_update(WriteScope& scope) {
  const Kind& kind = scope.kind();
  json::Value object = take_body(scope);
  const Subresource* part = find_subresource(kind, scope.request.subresource);
  if (part && part->read) object = part->read(std::move(object));
  TRY(match_request(kind, scope.request.key, object));
  store::ItemPtr item = scope.snapshot.get(scope.served().bucket, request_key(scope));
  if (!item && kind.traits.create_on_update && scope.request.subresource.empty())
    return prepare_create(scope, std::move(object));
  TRY(decode_stage(scope, object));
  if (!item) return std::unexpected(not_found_error(kind.resource, scope.request.key.name));
  json::Value old = TRY(stored_object(scope, *item));
  TRY(check_uid(scope, object, old));
  std::string revision(meta_string(object, "resourceVersion"));
  const bool unconditional = revision.empty() || revision == "0";
  kube::Resource named = kind.resource;
  named.kind = named.plural;  // upstream has no better name here
  if (unconditional && !kind.traits.unconditional_update)
    return std::unexpected(invalid_object(named, scope.request.key.name,
                                          {invalid_value("metadata.resourceVersion", json::Value(0),
                                                         "must be specified for an update")}));
  if (revision.find_first_not_of("0123456789") != std::string::npos)
    return fail(Code::internal, "strconv.ParseUint: parsing \"" + revision + "\": invalid syntax");
  if (!unconditional && revision != std::to_string(item->modified))
    return std::unexpected(modified_error(kind.resource, scope.request.key.name));
  if (part && part->replace) {
    json::Value changed = part->replace(object, old);
    return replace_part(scope, std::move(changed), std::move(old), std::move(item));
  }
  UpdateInput input{std::move(object), std::move(old), std::move(item)};
  input.retry_on_conflict = unconditional;
  input.decoded = true;
  return finish_update(scope, std::move(input));
}

}  // namespace hekla::apiserver
