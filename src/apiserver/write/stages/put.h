// The last stage: bytes for the store, or the answer to a dry run.
#pragma once

#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "base/result.h"
#include "json/value.h"
#include "store/item.h"

namespace hekla::apiserver {

// An attempt that got through: what to commit, or, without `commit`, the finished outcome.
struct PreparedWrite {
  bool commit = false;
  store::Write write;
  WriteOutcome outcome;
  bool retry_on_conflict = false;  // the request did not insist on a revision
  bool retry_on_exists = false;    // the name was generated
  bool guarded = false;            // a conflict is one with what the object stands on
  CoupledWrites coupled;           // what must land together with it
};

Result<PreparedWrite> put_stage(WriteScope& scope, json::Value object, store::Expect expect,
                                WriteOutcome::Effect effect, store::Revision dry_run_revision);
// The same for what is already bytes; not for a dry run.
PreparedWrite put_encoded(WriteScope& scope, EncodedObject encoded, store::Expect expect,
                          WriteOutcome::Effect effect);
Result<PreparedWrite> remove_stage(WriteScope& scope, json::Value last_state,
                                   const store::Item& item);
PreparedWrite unchanged_stage(WriteScope& scope, store::ItemPtr item);

}  // namespace hekla::apiserver
