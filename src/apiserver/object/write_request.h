// A write as a value, and what became of it. HTTP and the in-process client speak to the pipeline
// in these words alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/object/registry.h"
#include "apiserver/object/request_info.h"
#include "json/arena.h"
#include "json/value.h"
#include "kube/admission.h"
#include "kube/client.h"
#include "store/store.h"

namespace hekla::apiserver {

enum class FieldValidation { ignore, warn, strict };

struct RemoveOptions {
  std::optional<std::int64_t> grace_period_seconds;
  std::string propagation_policy;
  std::optional<bool> orphan_dependents;
  std::string precondition_uid;
  std::string precondition_resource_version;
};

struct WriteRequest {
  using Verb = kube::Write::Verb;
  Verb verb = Verb::create;
  // A request that opens a stream writes nothing: the body is what admission shall see of it.
  bool connects = false;
  ServedPtr served;
  kube::Key key;
  std::string subresource;  // status, scale, finalize, exec; bind and evict are verbs
  // The memory of a body that can be read again: the first attempt takes such a body instead of a
  // copy, and a later one reads it into memory of its own. Declared before the body, which it
  // outlives.
  std::shared_ptr<json::Arena> memory;
  std::function<json::Value(json::Storage)> read_again;  // empty: every attempt copies the body
  json::Value body;
  std::vector<std::string>
      repeated_fields;  // in a strict decoder's words, met while the body was parsed
  kube::PatchType patch_type = kube::PatchType::merge;
  bool force = false;  // apply patches
  RemoveOptions remove;
  bool dry_run = false;
  FieldValidation field_validation = FieldValidation::ignore;
  std::string field_manager;
  std::string given_manager,
      given_validation;  // fieldManager and fieldValidation as the query has them, for webhooks
  kube::UserInfo user;
  bool past_admission = false;  // a removal that nobody may refuse
  // The HTTP request, which outlives the write; null for writes of this process. An update or patch
  // that turns out to create asks whether its user may do that, too.
  const RequestInfo* asked = nullptr;
};

struct WriteOutcome {
  enum class Effect { unchanged, created, updated, removed };
  std::optional<Error> error;
  // The object as it was written, as it was found (no change), or as it would be (dry run).
  store::ItemPtr item;
  Effect effect = Effect::unchanged;
  std::optional<json::Value> changed_body;  // of a connect, when webhooks changed it
  std::vector<std::string> warnings;
  std::map<std::string, std::string> audit_annotations;
};

}  // namespace hekla::apiserver
