// The stages of the write pipeline, and the state that travels through them. Each verb (create.cpp,
// update.cpp, ...) is a sequence of stages over one WriteScope; a stage that must wait (a webhook)
// can be put between any two, because everything a later stage needs is in the scope and the
// object.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apiserver/object/storage.h"
#include "apiserver/object/write_request.h"
#include "apiserver/object/write_scope.h"
#include "base/result.h"

namespace hekla::apiserver {

struct FieldSet;             // field_set.h
struct OwnAdmissionRequest;  // webhooks.h

// An attempt that got through: what to commit, or, without `commit`, the finished outcome.
struct PreparedWrite {
  bool commit = false;
  store::Write write;
  WriteOutcome outcome;
  bool retry_on_conflict = false;  // the request did not insist on a revision
  bool retry_on_exists = false;    // the name was generated
  bool guarded = false;            // a conflict is one with what the object stands on
  SideWrites sides;                // what must land together with it
};

Result<PreparedWrite> prepare_write(WriteScope& scope);

// One per verb.
// `stated`: the fields of a creation by server-side apply.
Result<PreparedWrite> prepare_create(WriteScope& scope, json::Value object,
                                     const FieldSet* stated = nullptr);
Result<PreparedWrite> prepare_update(WriteScope& scope);
Result<PreparedWrite> prepare_patch(WriteScope& scope);
Result<PreparedWrite> prepare_apply(WriteScope& scope);
// Lays a configuration, which has been read and checked, over what is stored.
Result<PreparedWrite> apply_config(WriteScope& scope, json::Value config, store::ItemPtr item);
// `mark` edits the object on its way out (the condition of an eviction).
Result<PreparedWrite> prepare_remove(WriteScope& scope,
                                     const std::function<void(json::Value&)>& mark = {});
Result<PreparedWrite> prepare_binding(WriteScope& scope);
Result<PreparedWrite> prepare_eviction(WriteScope& scope);
Result<PreparedWrite> prepare_scale(WriteScope& scope);
Result<PreparedWrite> prepare_connect(WriteScope& scope);

// The three patch types that need nothing but the object.
Result<void> apply_patch(const WriteScope& scope, kube::PatchType type, const json::Value& patch,
                         json::Value& object);

// What admission is told of the request; who reads other objects is left to the caller.
OwnAdmissionRequest admission_request(WriteScope& scope, const json::Value& object,
                                      const json::Value* old, kube::Operation operation);

// The object the request addresses, or not_found.
Result<store::ItemPtr> find_item(const WriteScope& scope);
std::string request_key(const WriteScope& scope);
// What is stored, in the version of the request.
Result<json::Value> stored_object(WriteScope& scope, const store::Item& item);

// Body to object: unknown and duplicate fields are reported as the request asks, types are checked,
// unknown fields dropped, defaults filled. `patched` chooses the words of a strict refusal.
Result<void> decode_stage(WriteScope& scope, json::Value& object, bool patched = false);
// Defaults again after admission has changed the object, and what Go writes unasked.
void default_stage(const Kind& kind, json::Value& object);
// A built-in kind's status is always there, if only as its zero value.
void complete_status(const Kind& kind, json::Value& object);
// The group whose rules judge the object: events of either group are core's.
kube::Resource stored_as(const Kind& kind);
Result<void> mutate_stage(WriteScope& scope, json::Value& object, const json::Value* old,
                          kube::Operation operation);
// What takes a look at the whole cluster to fill in: addresses of services, conditions of CRDs.
Result<void> allocate_stage(WriteScope& scope, json::Value& object, const json::Value* old);
// `Pod in version "v1" cannot be handled as a Pod: `.
std::string cannot_handle(const kube::Resource& resource);
Result<void> validate_stage(WriteScope& scope, const json::Value& object, const json::Value* old);
Result<void> admit_stage(WriteScope& scope, const json::Value& object, const json::Value* old,
                         kube::Operation operation);
// What is sent to a subresource and is no object of the resource's kind (a Binding, an Eviction, a
// Scale, the options of exec) passes webhooks, which may change it, and policies.
Result<void> admit_sent(WriteScope& scope, const std::string& subresource,
                        kube::Operation operation, json::Value& sent,
                        const json::Value* old = nullptr);
// Everything an update does once the new object is known and `item` is what it replaces.
struct UpdateInput {
  json::Value object;
  json::Value old;
  store::ItemPtr item;
  bool retry_on_conflict = false;
  bool decoded = false;         // the object has been through decode_stage
  bool fields_tracked = false;  // managedFields are already those of the new object
};
Result<PreparedWrite> finish_update(WriteScope& scope, UpdateInput input);

// The last stage: bytes for the store, or the answer to a dry run.
Result<PreparedWrite> put_stage(WriteScope& scope, json::Value object, store::Expect expect,
                                WriteOutcome::Effect effect, store::Revision dry_run_revision);
// The same for what is already bytes; not for a dry run.
PreparedWrite put_encoded(WriteScope& scope, EncodedObject encoded, store::Expect expect,
                          WriteOutcome::Effect effect);
Result<PreparedWrite> remove_stage(WriteScope& scope, json::Value last_state,
                                   const store::Item& item);
PreparedWrite unchanged_stage(WriteScope& scope, store::ItemPtr item);

}  // namespace hekla::apiserver
