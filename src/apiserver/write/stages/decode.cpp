#include "apiserver/write/stages/decode.h"

#include "apiserver/kinds/builtin.h"
#include "apiserver/schema/field_hint.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/stages/find.h"
#include "json/go_text.h"

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

}  // namespace

std::string cannot_handle(const kube::Resource& r) {
  return r.kind + " in version \"" + r.version + "\" cannot be handled as a " + r.kind + ": ";
}

bool may_have_changed(const WriteScope& scope, std::string_view member) {
  const WriteRequest& request = scope.request;
  const bool names = request.verb == WriteRequest::Verb::patch && !writes_view(scope) &&
                     (request.patch_type == kube::PatchType::merge ||
                      request.patch_type == kube::PatchType::strategic);
  return !names || scope.kind().storage.conversion || json::find(request.body, member);
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
  if (kind.rules.set_defaults) kind.rules.set_defaults(object);
  if (!kind.custom && kind.schema) fill_zeros(*kind.schema, object);
}

void complete_status(const Kind& kind, json::Value& object) {
  if (kind.custom || !kind.schema || !kind.traits.has_status) return;
  auto schema = kind.schema->properties.find("status");
  if (schema == kind.schema->properties.end() || !schema->second->always) return;
  json::Value& status = object.get_object()["status"];
  if (!status.is_object()) status.emplace_object();
  fill_zeros(*schema->second, status);
}

}  // namespace hekla::apiserver
