#include "apiserver/write/stages/find.h"

#include "apiserver/crd/conversion.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/text/errors.h"
#include "base/check.h"
#include "json/parse.h"

namespace hekla::apiserver {

bool writes_view(const WriteScope& scope) {
  const Subresource* part = find_subresource(scope.kind(), scope.request.subresource);
  return part && part->form == Subresource::Form::scale;
}

json::Value take_body(WriteScope& scope) {
  CHECK(scope.memo, "an attempt belongs to a request");
  if (!scope.request.read_again) return json::Value(scope.request.body, scope.storage);
  if (std::exchange(scope.memo->body_taken, true)) return scope.request.read_again(scope.storage);
  return std::move(scope.body);
}

std::string request_key(const WriteScope& scope) {
  return storage_key(scope.kind(), scope.request.key);
}

Result<store::ItemPtr> find_item(const WriteScope& scope) {
  store::ItemPtr item = scope.snapshot.get(scope.served().bucket, request_key(scope));
  if (!item) return std::unexpected(not_found_error(scope.resource(), scope.request.key.name));
  return item;
}

Result<json::Value> stored_object(WriteScope& scope, const store::Item& item) {
  if (!scope.kind().storage.conversion) return decode_object(scope.served(), item, scope.storage);
  Result<json::Value> object = json::parse(item.value);
  CHECK(object.has_value(), "stored bytes were serialized by us");
  return scope.services.conversions->convert(scope, std::move(*object), scope.kind());
}

}  // namespace hekla::apiserver
