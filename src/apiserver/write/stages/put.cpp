#include "apiserver/write/stages/put.h"

#include "apiserver/crd/conversion.h"
#include "base/check.h"

namespace hekla::apiserver {

Result<PreparedWrite> put_stage(WriteScope& scope, json::Value object, store::Expect expect,
                                WriteOutcome::Effect effect, store::Revision dry_run_revision) {
  if (scope.kind().storage.conversion)
    object =
        TRY(scope.services.conversions->convert(scope, std::move(object), *scope.served().storage));
  if (scope.request.dry_run) {
    PreparedWrite prepared;
    prepared.outcome.effect = effect;
    prepared.outcome.warnings = std::move(scope.warnings);
    prepared.outcome.item = unsaved_item(scope.served(), std::move(object), dry_run_revision);
    return prepared;
  }
  return put_encoded(scope, encode_object(scope.served(), object), expect, effect);
}

PreparedWrite put_encoded(WriteScope& scope, EncodedObject encoded, store::Expect expect,
                          WriteOutcome::Effect effect) {
  CHECK(!scope.request.dry_run, "a dry run commits nothing");
  CHECK(encoded.header && encoded.revision_at <= encoded.bytes.size(),
        "the revision has its place in the bytes");
  PreparedWrite prepared;
  prepared.outcome.effect = effect;
  prepared.outcome.warnings = std::move(scope.warnings);
  prepared.commit = true;
  prepared.coupled = std::move(scope.coupled);
  prepared.write.op = store::Write::Op::put;
  prepared.write.bucket = scope.served().bucket;
  prepared.write.key = storage_key(scope.kind(), {encoded.header->ns, encoded.header->name});
  prepared.write.value = std::move(encoded.bytes);
  prepared.write.revision_at = encoded.revision_at;
  prepared.write.attachment = std::move(encoded.header);
  prepared.write.expect = expect;
  return prepared;
}

Result<PreparedWrite> remove_stage(WriteScope& scope, json::Value last_state,
                                   const store::Item& item) {
  PreparedWrite prepared =
      TRY(put_stage(scope, std::move(last_state), {store::Expect::Kind::revision, item.modified},
                    WriteOutcome::Effect::removed, item.modified));
  prepared.write.op = store::Write::Op::remove;
  return prepared;
}

PreparedWrite unchanged_stage(WriteScope& scope, store::ItemPtr item) {
  CHECK(item, "what is unchanged is there");
  PreparedWrite prepared;
  prepared.outcome.item = std::move(item);
  prepared.outcome.warnings = std::move(scope.warnings);
  return prepared;
}

}  // namespace hekla::apiserver
