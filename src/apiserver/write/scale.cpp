// The scale subresource: an autoscaling/v1 Scale as a view of an object's replica counts.
#include "apiserver/write/scale.h"

#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/subresources.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/schema/facts.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/apply.h"
#include "apiserver/write/finish_update.h"
#include "apiserver/write/patch.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/decode.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "base/check.h"
#include "model/selector.h"

namespace hekla::apiserver {

namespace {

// ".spec.replicas" -> the value there, or null.
const json::Value* at(const json::Value& object, std::string_view path) {
  const json::Value* value = &object;
  while (value && !path.empty()) {
    path.remove_prefix(path.front() == '.' ? 1 : 0);
    std::size_t dot = path.find('.');
    value = json::find(*value, path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  return value;
}

json::Value& make_at(json::Value& object, std::string_view path) {
  json::Value* value = &object;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '.' ? 1 : 0);
    std::size_t dot = path.find('.');
    value = &json::at_path(*value, {path.substr(0, dot)});
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  return *value;
}

std::string selector_text(const Kind& kind, const json::Value& object) {
  if (kind.custom) {
    const json::Value* value =
        kind.scale.selector_path.empty() ? nullptr : at(object, kind.scale.selector_path);
    return value && value->is_string() ? std::string(json::sv(value->get_string())) : "";
  }
  const json::Value* selector = json::find_path(object, {"spec", "selector"});
  if (!selector) return {};
  if (kind.scale.plain_selector) {
    json::Object wrapped;
    wrapped.emplace("matchLabels", *selector);
    Result<model::Selector> parsed =
        model::Selector::from_label_selector(json::Value(std::move(wrapped)));
    return parsed ? parsed->text() : "";
  }
  Result<model::Selector> parsed = model::Selector::from_label_selector(*selector);
  return parsed ? parsed->text() : "";
}

std::int64_t number(const json::Value* value) {
  return value && value->is_int64()    ? value->get_int64()
         : value && value->is_uint64() ? static_cast<std::int64_t>(value->get_uint64())
                                       : 0;
}

// A view is written like any object: its types and its name must be right.
Result<void> check_scale(const WriteScope& scope, const json::Value& scale) {
  static const SchemaPtr schema = builtin_type("io.k8s.api.autoscaling.v1.Scale");
  const kube::Resource resource{"autoscaling", "v1", "scales", "Scale", true};
  if (Result<void> typed = check_types(*schema, scale); !typed)
    return std::unexpected(bad_request_error(cannot_handle(resource) + typed.error().message));
  const std::string_view name = meta_string(scale, "name");
  if (!name.empty() && name != scope.request.key.name)
    return std::unexpected(bad_request_error("the name of the object (" + std::string(name) +
                                             ") does not match the name on the URL (" +
                                             scope.request.key.name + ")"));
  return {};
}

}  // namespace

Result<json::Value> scale_of(const Kind& kind, const json::Value& object) {
  CHECK(has_scale(kind), "only kinds with a scale are asked for one");
  const json::Value* wanted = at(object, kind.scale.spec_path);
  if (!wanted && kind.custom)
    return fail(Code::internal,
                "the spec replicas field \"" + kind.scale.spec_path + "\" does not exist");
  json::Object metadata;
  for (std::string_view member :
       {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const json::Value* value = json::find_path(object, {"metadata", member}))
      metadata.emplace(member, *value);
  json::Object spec, status;
  if (number(wanted) != 0) spec.emplace("replicas", number(wanted));
  status.emplace("replicas", number(at(object, kind.scale.status_path)));
  if (std::string selector = selector_text(kind, object); !selector.empty())
    status.emplace("selector", selector);
  json::Object scale;
  scale.emplace("kind", "Scale");
  scale.emplace("apiVersion", "autoscaling/v1");
  scale.emplace("metadata", std::move(metadata));
  scale.emplace("spec", std::move(spec));
  scale.emplace("status", std::move(status));
  return json::Value(std::move(scale));
}

const ServedKind& shown_scale() {
  static const ServedKind kShown = [] {
    Kind scale;
    scale.resource = {"autoscaling", "v1", "scales", "Scale", true};
    scale.printing.columns = columns({"Desired:integer", "Available:integer", "Age"});
    scale.printing.cells = [](const json::Value& object, WallTime now) -> json::Array {
      return {json::Value(json::int_at(object, {"spec", "replicas"})),
              json::Value(json::int_at(object, {"status", "replicas"})),
              json::Value(age(object, now))};
    };
    ServedKind served;
    served.kind = served.storage = std::make_shared<const Kind>(std::move(scale));
    return served;
  }();
  return kShown;
}

Result<PreparedWrite> prepare_scale(WriteScope& scope) {
  const Kind& kind = scope.kind();
  store::ItemPtr item = TRY(find_item(scope));
  json::Value old = TRY(stored_object(scope, *item));
  json::Value scale = TRY(scale_of(kind, old));
  const bool patch = scope.request.verb == WriteRequest::Verb::patch;
  if (patch) {
    kube::PatchType type = scope.request.patch_type;
    // A Scale has no lists: strategic and merge patches mean the same.
    if (type == kube::PatchType::strategic || type == kube::PatchType::apply)
      type = kube::PatchType::merge;
    TRY(apply_patch(scope, type, scope.request.body, scale));
  } else {
    scale = scope.request.body;
  }
  const json::Value scale_before = TRY(scale_of(kind, old));
  TRY(admit_sent(scope, "scale", kube::Operation::update, scale, &scale_before));
  TRY(check_scale(scope, scale));
  std::string_view revision = meta_string(scale, "resourceVersion");
  if (!revision.empty() && revision != std::to_string(item->modified))
    return std::unexpected(modified_error(kind.resource, scope.request.key.name));
  std::int64_t replicas = json::int_at(scale, {"spec", "replicas"});
  if (replicas < 0)
    return std::unexpected(invalid_object({"autoscaling", "v1", "scales", "Scale", true},
                                          scope.request.key.name,
                                          {invalid_value("spec.replicas", json::Value(replicas),
                                                         "must be greater than or equal to 0")}));
  if (patch && scope.request.patch_type == kube::PatchType::apply &&
      json::find_path(scale, {"spec", "replicas"}) && kind.schema) {
    // Applying a count through the view states that field of the object, and meets its other
    // owners.
    json::Value config = json::Object{{"metadata", json::Object()}};
    metadata_of(config)["resourceVersion"] =
        json::string_at(scope.request.body, {"metadata", "resourceVersion"});
    make_at(config, kind.scale.spec_path) = replicas;
    return apply_config(scope, std::move(config), std::move(item));
  }
  json::Value object = old;
  make_at(object, kind.scale.spec_path) = replicas;
  UpdateInput input{std::move(object), std::move(old), std::move(item)};
  input.decoded = true;
  input.retry_on_conflict =
      patch ? json::string_at(scope.request.body, {"metadata", "resourceVersion"}).empty()
            : revision.empty();
  return finish_update(scope, std::move(input));
}

}  // namespace hekla::apiserver
