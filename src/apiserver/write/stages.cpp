#include "apiserver/write/stages.h"

#include <algorithm>

#include "apiserver/crd/conversion.h"
#include "apiserver/crd/crd.h"
#include "apiserver/crd/rules.h"
#include "apiserver/gates/chain.h"
#include "apiserver/gates/policies.h"
#include "apiserver/gates/webhook_configurations.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/pod/ephemeral.h"
#include "apiserver/kinds/pod/resize.h"
#include "apiserver/kinds/rules/signing_request.h"
#include "apiserver/kinds/rules/status_rules.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/schema/field_hint.h"
#include "apiserver/schema/rules.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/managed_fields.h"
#include "apiserver/write/match_request.h"
#include "apiserver/write/quota.h"
#include "apiserver/write/service_addresses.h"
#include "base/check.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

// ObjectMeta of any built-in kind: custom resources are held to the same types.
const Schema* metadata_schema() {
  static const Schema* const found = [] {
    for (const KindPtr& kind : builtin_kinds())
      if (kind->schema)
        if (auto meta = kind->schema->properties.find("metadata");
            meta != kind->schema->properties.end())
          return meta->second.get();
    return static_cast<const Schema*>(nullptr);
  }();
  return found;
}

bool is_apply(const WriteRequest& request) {
  return request.verb == WriteRequest::Verb::patch && request.patch_type == kube::PatchType::apply;
}

std::vector<std::string> field_problems(const WriteScope& scope, const json::Value& object) {
  std::vector<std::string> problems;
  if (scope.kind().schema)
    for (const std::string& path : unknown_fields(*scope.kind().schema, object))
      problems.push_back("unknown field " + go_quote(path) +
                         (is_platform_group(scope.resource().group)
                              ? field_hint(*scope.kind().schema, path)
                              : ""));
  if (!is_apply(scope.request))
    problems.insert(problems.end(), scope.request.repeated_fields.begin(),
                    scope.request.repeated_fields.end());
  return problems;
}

// A configuration that says something twice: its decoder complains, not that of the kind.
Result<void> check_configuration(WriteScope& scope) {
  if (!is_apply(scope.request)) return {};
  for (const std::string& repeated : scope.request.repeated_fields) {
    const std::string problem = "error converting YAML to JSON: " + repeated;
    if (scope.request.field_validation == FieldValidation::strict)
      return std::unexpected(bad_request_error("error strict decoding YAML: " + problem));
    scope.warnings.push_back(problem);
  }
  return {};
}

bool patched_strategically(const WriteScope& scope) {
  return scope.request.verb == WriteRequest::Verb::patch &&
         scope.request.patch_type == kube::PatchType::strategic;
}

// A patch whose outcome is no object of the kind: upstream shows the whole outcome, or a strategic
// patch itself.
Error undecodable_patch(const WriteScope& scope, const json::Value& object,
                        const std::string& why) {
  const std::string shown =
      patched_strategically(scope) ? json::go_print(scope.request.body) : json::serialize(object);
  return invalid_object(kube::Resource{}, "", {invalid_value("patch", json::Value(shown), why)});
}

Error strict_error(const WriteScope& scope, const json::Value& object,
                   const std::vector<std::string>& problems, bool patched) {
  std::string text = "strict decoding error: ";
  for (std::size_t i = 0; i < problems.size(); ++i) text += (i ? ", " : "") + problems[i];
  if (!patched) return bad_request_error(cannot_handle(scope.resource()) + text);
  return undecodable_patch(scope, object, text);
}

// Whether a member of the object may be another than the stored one. (A conversion webhook may
// return anything.)
bool may_have_changed(const WriteScope& scope, std::string_view member) {
  const WriteRequest& request = scope.request;
  const bool names = request.verb == WriteRequest::Verb::patch && request.subresource != "scale" &&
                     (request.patch_type == kube::PatchType::merge ||
                      request.patch_type == kube::PatchType::strategic);
  return !names || scope.kind().conversion || json::find(request.body, member);
}

// The members of a patched object that the patch does not name. They are as they were when they
// were stored, so that whatever looks for what must not be stored can do without them.
class UnnamedMembers {
 public:
  explicit UnnamedMembers(json::Value& object) : object_(object), all_(object.storage()) {}

  void take_out(const WriteScope& scope) {
    scope_ = &scope;
    json::Object named(object_.storage());
    for (auto& member : object_.get_object())
      if (may_have_changed(scope, member.key()))
        named.emplace(member.key(), std::move(member.value()));
    all_ = std::exchange(object_.get_object(), std::move(named));
  }

  // Each where it was.
  void put_back() {
    if (!scope_) return;
    json::Object& named = object_.get_object();
    json::Object whole(object_.storage());
    for (auto& member : all_)
      if (!may_have_changed(*scope_, member.key()))
        whole.emplace(member.key(), std::move(member.value()));
      else if (json::Value* decoded = named.if_contains(member.key()))
        whole.emplace(member.key(), std::move(*decoded));
    named = std::move(whole);
  }

 private:
  json::Value& object_;
  json::Object all_;  // in the object's order; what the patch names has been moved from
  const WriteScope* scope_ = nullptr;
};

Result<void> decode_custom(const WriteScope& scope, json::Value& object) {
  const Kind& kind = scope.kind();
  if (json::Value* metadata = object.get_object().if_contains("metadata");
      metadata && metadata_schema()) {
    if (Result<void> typed = check_types(*metadata_schema(), *metadata); !typed)
      return fail(Code::bad_request, cannot_handle(kind.resource) + typed.error().message);
    prune(*metadata_schema(), *metadata);
    normalize(*metadata_schema(), *metadata);
  }
  if (kind.schema) prune(*kind.schema, object);
  return {};
}

// Of an object written through its Scale webhooks and policies have seen the Scale.
bool is_view(const WriteScope& scope) { return scope.request.subresource == "scale"; }

// The server's own part of a CRD: conditions and accepted names, owned by it as by a controller.
void accept_names(WriteScope& scope, json::Value& crd) {
  json::Value before = crd;
  prepare_crd(crd, scope.catalog, scope.now);
  // The versions kept are a matter of the write itself.
  json::at_path(before, {"status", "storedVersions"}) =
      json::at_path(crd, {"status", "storedVersions"});
  track_update(scope.kind(), &before, crd,
               {"kube-apiserver", scope.resource().api_version(), "status"}, scope.now);
}

// What the addressed endpoint may not touch is taken from the old object.
void isolate(const WriteScope& scope, json::Value& object, const json::Value& old) {
  const Kind& kind = scope.kind();
  if (!kind.has_status) return;
  json::Object& now = object.get_object();
  const json::Object& before = old.get_object();
  if (scope.request.subresource == "ephemeralcontainers") {
    isolate_ephemeral(object, old);
    return;
  }
  if (scope.request.subresource == "resize") {
    isolate_resize(object, old);
    return;
  }
  if (!writes_status(scope.request.subresource)) {
    if (!may_have_changed(scope, "status")) return;
    if (const json::Value* status = before.if_contains("status"))
      now["status"] = *status;
    else
      now.erase("status");
    return;
  }
  json::Object merged(now.storage());
  for (const auto& member : before) {
    const bool own = member.key() == "status" || (member.key() == "metadata" && !kind.custom);
    json::Value* given =
        own || !may_have_changed(scope, member.key()) ? now.if_contains(member.key()) : nullptr;
    if (given)
      merged.emplace(member.key(), std::move(*given));
    else if (!own)
      merged.emplace(member.key(), member.value());
  }
  if (json::Value* status = now.if_contains("status"); status && !before.contains("status"))
    merged.emplace("status", std::move(*status));
  if (!kind.custom) {
    json::Object& metadata = merged["metadata"].get_object();
    for (const std::string& member : kind.status_keeps) {
      const json::Value* kept = json::find_path(old, {"metadata", member});
      if (kept)
        metadata[member] = *kept;
      else
        metadata.erase(member);
    }
  }
  now = std::move(merged);
}

bool same_outside(const json::Value& a, const json::Value& b, bool ignore_status) {
  auto counts = [&](std::string_view key) {
    return key != "metadata" && key != "apiVersion" && key != "kind" &&
           !(ignore_status && key == "status");
  };
  const json::Object &x = a.get_object(), &y = b.get_object();
  for (const auto& member : x) {
    if (!counts(member.key())) continue;
    const json::Value* other = y.if_contains(member.key());
    if (!other || !json::equal(member.value(), *other)) return false;
  }
  return std::all_of(y.begin(), y.end(), [&](const auto& member) {
    return !counts(member.key()) || x.contains(member.key());
  });
}

void count_generation(const Kind& kind, json::Value& object, const json::Value& old) {
  if (!kind.has_generation) return;
  bool changed = !same_outside(object, old, kind.has_status || !kind.custom);
  // Two kinds also count changes of a part of their metadata.
  const std::string_view member = kind.storage_bucket == "deployments.apps" ? "annotations"
                                  : kind.storage_bucket == "endpointslices.discovery.k8s.io"
                                      ? "labels"
                                      : "";
  if (!changed && !member.empty()) {
    static const json::Value kNone;
    const json::Value* now = json::find_path(object, {"metadata", member});
    const json::Value* before = json::find_path(old, {"metadata", member});
    changed = !json::equal(now ? *now : kNone, before ? *before : kNone);
  }
  if (changed)
    metadata_of(object)["generation"] = json::int_at(old, {"metadata", "generation"}) + 1;
}

// Whether the update took the last thing that held a terminating object back.
bool completes_removal(const Kind& kind, const json::Value& object) {
  const json::Value* deleted = json::find_path(object, {"metadata", "deletionTimestamp"});
  if (!deleted || deleted->is_null() || !finalizers_of(object).empty()) return false;
  if (json::int_at(object, {"metadata", "deletionGracePeriodSeconds"}) > 0) return false;
  if (kind.resource.plural == "namespaces" && kind.resource.group.empty()) {
    const json::Array* content = json::array_at(object, {"spec", "finalizers"});
    return !content || content->empty();
  }
  return true;
}

}  // namespace

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

kube::Resource stored_as(const Kind& kind) {
  kube::Resource resource = kind.resource;
  if (kind.custom) return resource;
  const std::size_t slash = kind.storage_version.find('/');
  resource.group = slash == std::string::npos ? "" : kind.storage_version.substr(0, slash);
  return resource;
}

std::string request_key(const WriteScope& scope) {
  return storage_key(scope.kind(), scope.request.key);
}

Result<store::ItemPtr> find_item(const WriteScope& scope) {
  store::ItemPtr item = scope.snapshot.get(scope.served().bucket, request_key(scope));
  if (!item) return std::unexpected(not_found_error(scope.resource(), scope.request.key.name));
  return item;
}

std::string cannot_handle(const kube::Resource& r) {
  return r.kind + " in version \"" + r.version + "\" cannot be handled as a " + r.kind + ": ";
}

Result<json::Value> stored_object(WriteScope& scope, const store::Item& item) {
  if (!scope.kind().conversion) return decode_object(scope.served(), item, scope.storage);
  Result<json::Value> object = json::parse(item.value);
  CHECK(object.has_value(), "stored bytes were serialized by us");
  return scope.services.conversions->convert(scope, std::move(*object), scope.kind());
}

Result<void> decode_stage(WriteScope& scope, json::Value& object, bool patched) {
  const Kind& kind = scope.kind();
  UnnamedMembers unnamed(object);
  if (patched) unnamed.take_out(scope);
  if (scope.request.field_validation != FieldValidation::ignore) TRY(check_configuration(scope));
  const GoDecoder decoder =
      patched && patched_strategically(scope) ? GoDecoder::unstructured : GoDecoder::json;
  if (!kind.custom && kind.schema)
    if (Result<void> typed = check_types(*kind.schema, object, decoder); !typed) {
      unnamed.put_back();
      return std::unexpected(
          patched ? undecodable_patch(scope, object, typed.error().message)
                  : bad_request_error(cannot_handle(kind.resource) + typed.error().message));
    }
  if (scope.request.field_validation != FieldValidation::ignore) {
    std::vector<std::string> problems = field_problems(scope, object);
    if (!problems.empty() && scope.request.field_validation == FieldValidation::strict) {
      unnamed.put_back();
      return std::unexpected(strict_error(scope, object, problems, patched));
    }
    scope.warnings.insert(scope.warnings.end(), problems.begin(), problems.end());
  }
  if (kind.custom) {
    TRY(decode_custom(scope, object));
  } else if (kind.schema) {
    prune(*kind.schema, object);
    normalize(*kind.schema, object);
  }
  unnamed.put_back();
  default_stage(kind, object);
  return {};
}

void default_stage(const Kind& kind, json::Value& object) {
  if (kind.custom && kind.schema) apply_defaults(*kind.schema, object);
  if (kind.set_defaults) kind.set_defaults(object);
  if (!kind.custom && kind.schema) fill_zeros(*kind.schema, object);
}

void complete_status(const Kind& kind, json::Value& object) {
  if (kind.custom || !kind.schema || !kind.has_status) return;
  auto schema = kind.schema->properties.find("status");
  if (schema == kind.schema->properties.end() || !schema->second->always) return;
  json::Value& status = object.get_object()["status"];
  if (!status.is_object()) status.emplace_object();
  fill_zeros(*schema->second, status);
}

Result<void> mutate_stage(WriteScope& scope, json::Value& object, const json::Value* old,
                          kube::Operation operation) {
  OwnAdmissionRequest request = admission_request(scope, object, old, operation);
  SnapshotReader reader(scope.snapshot, scope.catalog);
  request.reader = &reader;
  const bool webhooks = !is_view(scope) && webhooks_configured(scope, true);
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

Result<void> allocate_stage(WriteScope& scope, json::Value& object, const json::Value* old) {
  const kube::Resource& resource = scope.resource();
  if (is_crd(resource)) accept_names(scope, object);
  if (resource.plural == "services" && resource.group.empty() && scope.services.addresses) {
    std::vector<Cause> causes = scope.services.addresses->assign(
        object, old, scope.served(), scope.snapshot,
        {*scope.services.rng, scope.now, scope.request.dry_run, scope.memo->kept["clusterIP"]});
    if (!causes.empty())
      return std::unexpected(
          invalid_object(resource, std::string(meta_string(object, "name")), std::move(causes)));
  }
  return {};
}

namespace {

// Rules trust the types and the sizes that the schema has promised.
bool keeps_rules_from_running(const std::vector<Cause>& causes) {
  static constexpr std::string_view kBlocking[]{"FieldValueNotSupported", "FieldValueRequired",
                                                "FieldValueTooLong", "FieldValueTooMany",
                                                "FieldValueTypeInvalid"};
  return std::any_of(causes.begin(), causes.end(), [](const Cause& cause) {
    return std::find(std::begin(kBlocking), std::end(kBlocking), cause.reason) !=
           std::end(kBlocking);
  });
}

// What a kind's rules say of the object. What they would say of the stored one as well is not this
// write's doing: rules become stricter, and a finalizer must still come off.
std::vector<Cause> new_complaints(const Kind& kind, const json::Value& object,
                                  const json::Value* old) {
  std::vector<Cause> causes = kind.validate(object);
  if (causes.empty() || !old) return causes;
  const std::vector<Cause> known = kind.validate(*old);
  std::erase_if(causes, [&](const Cause& cause) {
    return std::ranges::any_of(known, [&](const Cause& one) {
      return one.field == cause.field && one.message == cause.message;
    });
  });
  return causes;
}

}  // namespace

Result<void> validate_stage(WriteScope& scope, const json::Value& object, const json::Value* old) {
  const Kind& kind = scope.kind();
  // Its managedFields are nested deeper than what they describe; what is stored must be readable
  // again.
  if (json::deeper_than(object, json::kMaxDepth))
    return fail(Code::bad_request, "the object with its managedFields is nested deeper than " +
                                       std::to_string(json::kMaxDepth));
  std::vector<Cause> causes = validate_metadata(kind, object);
  auto add = [&](std::vector<Cause> more) {
    causes.insert(causes.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  };
  if (old) add(validate_metadata_update(object, *old));
  if (kind.custom && kind.schema) {
    add(validate_value(*kind.schema, object, {}, old));
    if (kind.has_rules && keeps_rules_from_running(causes))
      causes.push_back(invalid_value(
          "<nil>", json::Value(nullptr),
          "some validation rules were not checked because the object was invalid; correct "
          "the existing errors to complete validation"));
    else if (kind.has_rules)
      add(validate_rules(*kind.schema, object, old));
  }
  // What a write of the status leaves as it was has been judged.
  const bool judged = old && !kind.custom && writes_status(scope.request.subresource) &&
                      same_outside(object, *old, true);
  if (!judged && kind.validate) add(new_complaints(kind, object, old));
  if (!old && kind.validate_create) add(kind.validate_create(object));
  if (old && scope.request.subresource == "ephemeralcontainers")
    add(validate_ephemeral_update(object, *old));
  else if (old && scope.request.subresource == "resize")
    add(validate_resize(object, *old));
  else if (!judged && old && kind.validate_update)
    add(kind.validate_update(object, *old));
  if (old && !kind.custom && writes_status(scope.request.subresource))
    add(validate_status(kind.resource, object, *old));
  if (old && kind.resource.plural == "certificatesigningrequests" &&
      kind.resource.group == "certificates.k8s.io")
    add(validate_verdict(object, *old, scope.request.subresource == "approval"));
  if (is_crd(kind.resource)) add(validate_crd(object, old, scope.catalog));
  if (causes.empty()) {
    if (kind.warnings && scope.request.subresource.empty())
      for (std::string& text : kind.warnings(object, old))
        scope.warnings.push_back(std::move(text));
    return {};
  }
  return std::unexpected(
      invalid_object(stored_as(kind), std::string(meta_string(object, "name")), std::move(causes)));
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
  if (is_view(scope)) return {};
  TRY(validate_by_policies(scope, request, object));
  return validate_by_webhooks(scope, request, object);
}

Result<void> admit_sent(WriteScope& scope, const std::string& subresource,
                        kube::Operation operation, json::Value& sent, const json::Value* old) {
  const bool mutating = webhooks_configured(scope, true);
  if (!mutating && !webhooks_configured(scope, false) &&
      scope.services.policies->at(scope.snapshot, scope.catalog)->policies.empty())
    return {};
  const std::vector<Subresource> all = subresources_of(scope.kind());
  auto found = std::ranges::find(all, subresource, &Subresource::name);
  CHECK(found != all.end(), "a subresource of the kind");
  OwnAdmissionRequest request = admission_request(scope, sent, old, operation);
  request.subresource = subresource;
  request.sent_kind = {found->group, found->version, "", found->kind, scope.resource().namespaced};
  SnapshotReader reader(scope.snapshot, scope.catalog);
  request.reader = &reader;
  if (mutating) TRY(mutate_by_webhooks(scope, request, sent));
  TRY(validate_by_policies(scope, request, sent));
  return validate_by_webhooks(scope, request, sent);
}

Result<PreparedWrite> prepare_connect(WriteScope& scope) {
  json::Value sent = scope.request.body;
  TRY(admit_sent(scope, scope.request.subresource, kube::Operation::connect, sent));
  PreparedWrite prepared;
  if (sent != scope.request.body) prepared.outcome.changed_body = std::move(sent);
  prepared.outcome.warnings = scope.warnings;
  return prepared;
}

Result<PreparedWrite> finish_update(WriteScope& scope, UpdateInput input) {
  const Kind& kind = scope.kind();
  json::Value& object = input.object;
  const json::Value& old = input.old;
  if (!input.decoded) TRY(decode_stage(scope, object));
  keep_server_fields(object, old);
  isolate(scope, object, old);
  if (!input.fields_tracked && kind.schema)
    track_update(
        kind, &old, object,
        {scope.request.field_manager, kind.resource.api_version(), scope.request.subresource},
        scope.now);
  TRY(mutate_stage(scope, object, &old, kube::Operation::update));
  if (kind.prepare_update)
    kind.prepare_update(object, old, {scope.now, scope.services.rng, scope.request.subresource});
  complete_status(kind, object);
  TRY(allocate_stage(scope, object, &old));
  if (!writes_status(scope.request.subresource)) count_generation(kind, object, old);
  TRY(validate_stage(scope, object, &old));
  TRY(admit_stage(scope, object, &old, kube::Operation::update));
  const bool removal = completes_removal(kind, object);
  TRY(quota_stage(scope, removal ? nullptr : &object, &old));

  metadata_of(object)["resourceVersion"] = std::to_string(input.item->modified);
  PreparedWrite prepared;
  if (removal) {
    prepared = TRY(remove_stage(scope, std::move(object), *input.item));
    // What is still kept in another version is written all the same: so objects move to a new
    // storage version.
  } else if (json::equal(object, old) &&
             (!kind.custom || stored_version(*input.item) == kind.storage_version)) {
    return unchanged_stage(scope, std::move(input.item));
  } else {
    prepared = TRY(put_stage(scope, std::move(object),
                             {store::Expect::Kind::revision, input.item->modified},
                             WriteOutcome::Effect::updated, input.item->modified));
  }
  prepared.retry_on_conflict = input.retry_on_conflict;
  return prepared;
}

Result<PreparedWrite> put_stage(WriteScope& scope, json::Value object, store::Expect expect,
                                WriteOutcome::Effect effect, store::Revision dry_run_revision) {
  if (scope.kind().conversion)
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
  PreparedWrite prepared;
  prepared.outcome.effect = effect;
  prepared.outcome.warnings = std::move(scope.warnings);
  prepared.commit = true;
  prepared.sides = std::move(scope.sides);
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
  PreparedWrite prepared;
  prepared.outcome.item = std::move(item);
  prepared.outcome.warnings = std::move(scope.warnings);
  return prepared;
}

}  // namespace hekla::apiserver
