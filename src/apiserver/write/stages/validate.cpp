#include "apiserver/write/stages/validate.h"

#include <algorithm>

#include "apiserver/object/metadata.h"
#include "apiserver/object/subresources.h"
#include "apiserver/schema/rules.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {

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

// Complaints of a kind's rules about the object. Complaints about the stored one as well are not
// this write's doing: rules become stricter, and a finalizer must still come off.
std::vector<Cause> new_complaints(const Kind& kind, const json::Value& object,
                                  const json::Value* old) {
  std::vector<Cause> causes = kind.rules.validate(object);
  if (causes.empty() || !old) return causes;
  const std::vector<Cause> known = kind.rules.validate(*old);
  std::erase_if(causes, [&](const Cause& cause) {
    return std::ranges::any_of(known, [&](const Cause& one) {
      return one.field == cause.field && one.message == cause.message;
    });
  });
  return causes;
}

}  // namespace

kube::Resource stored_as(const Kind& kind) {
  kube::Resource resource = kind.resource;
  if (kind.custom) return resource;
  const std::size_t slash = kind.storage.version.find('/');
  resource.group = slash == std::string::npos ? "" : kind.storage.version.substr(0, slash);
  return resource;
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
  // Members that a write of the status leaves as they were have been judged.
  const bool judged = old && !kind.custom && writes_status(scope.request.subresource) &&
                      same_outside(object, *old, true);
  if (!judged && kind.rules.validate) add(new_complaints(kind, object, old));
  if (!old && kind.rules.validate_create) add(kind.rules.validate_create(object));
  const Subresource* part = find_subresource(kind, scope.request.subresource);
  if (old && part && part->validate)
    add(part->validate(object, *old));
  else if (!judged && old && kind.rules.validate_update)
    add(kind.rules.validate_update(object, *old));
  if (old && kind.rules.validate_status && writes_status(scope.request.subresource))
    add(kind.rules.validate_status(kind.resource, object, *old));
  if (old && kind.rules.validate_change)
    add(kind.rules.validate_change(object, *old, scope.request.subresource));
  if (kind.rules.validate_among) add(kind.rules.validate_among(object, old, scope.catalog));
  if (causes.empty()) {
    if (kind.rules.warnings && scope.request.subresource.empty())
      for (std::string& text : kind.rules.warnings(object, old))
        scope.warnings.push_back(std::move(text));
    return {};
  }
  return std::unexpected(
      invalid_object(stored_as(kind), std::string(meta_string(object, "name")), std::move(causes)));
}

}  // namespace hekla::apiserver
