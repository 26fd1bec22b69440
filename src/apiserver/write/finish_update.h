// The second half of every update, once the new object is known.
#pragma once

#include "apiserver/write/stages/put.h"

namespace hekla::apiserver {

// The new object, and `item`, which it replaces.
struct UpdateInput {
  json::Value object;
  json::Value old;
  store::ItemPtr item;
  bool retry_on_conflict = false;
  bool decoded = false;         // the object has been through decode_stage
  bool fields_tracked = false;  // managedFields are already those of the new object
};
Result<PreparedWrite> finish_update(WriteScope& scope, UpdateInput input);

}  // namespace hekla::apiserver
