#include "apiserver/write/patch.h"

#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/apply.h"
#include "apiserver/write/finish_update.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "json/patch.h"

namespace hekla::apiserver {

namespace {

constexpr const char* kNotAnObject =
    "json: cannot unmarshal array into Go value of type map[string]interface {}";

Error rejected_patch() {
  return Error{Code::invalid, "the server rejected our request due to an error in our request"};
}

}  // namespace

Result<void> apply_patch(const WriteScope& scope, kube::PatchType type, const json::Value& patch,
                         json::Value& object) {
  const Kind& kind = scope.kind();
  switch (type) {
    case kube::PatchType::json: {
      if (!patch.is_array())
        return fail(Code::bad_request,
                    "error decoding patch: json: cannot unmarshal object into Go value of type "
                    "[]handlers.jsonPatchOp");
      Result<void> done = json::apply_json_patch(object, patch);
      if (done) break;
      if (done.error().code == Code::too_large) return done;
      return std::unexpected(rejected_patch());
    }
    case kube::PatchType::merge:
      if (!patch.is_object())
        return fail(Code::bad_request, std::string("error decoding patch: ") + kNotAnObject);
      json::apply_merge_patch(object, patch);
      break;
    case kube::PatchType::strategic:
      if (!patch.is_object()) return fail(Code::bad_request, kNotAnObject);
      if (kind.custom || !kind.schema)
        return fail(
            Code::unsupported_media_type,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml");
      TRY(strategic_merge(*kind.schema, object, patch));
      break;
    case kube::PatchType::apply:
      break;
  }
  if (!object.is_object()) return std::unexpected(rejected_patch());
  return {};
}

Result<PreparedWrite> prepare_patch(WriteScope& scope) {
  if (scope.request.patch_type == kube::PatchType::apply) return prepare_apply(scope);
  const Kind& kind = scope.kind();
  store::ItemPtr item = TRY(find_item(scope));
  json::Value old = TRY(stored_object(scope, *item));
  json::Value object = old;
  TRY(apply_patch(scope, scope.request.patch_type, scope.request.body, object));
  TRY(match_request(kind, scope.request.key, object));

  std::string_view named = json::string_at(scope.request.body, {"metadata", "resourceVersion"});
  std::string_view revision = meta_string(object, "resourceVersion");
  if (!revision.empty() && revision != std::to_string(item->modified))
    return std::unexpected(modified_error(kind.resource, scope.request.key.name));
  TRY(decode_stage(scope, object, true));
  UpdateInput input{std::move(object), std::move(old), std::move(item)};
  input.retry_on_conflict = named.empty();
  input.decoded = true;
  return finish_update(scope, std::move(input));
}

}  // namespace hekla::apiserver
