// A custom resource's OpenAPI v3 schema into our tree. The rules of structure come first, so that
// the conversion below may trust what it reads.
#include "apiserver/schema/facts.h"
#include "apiserver/schema/rules.h"
#include "apiserver/schema/schema.h"
#include "apiserver/schema/structural.h"
#include "apiserver/text/field_error.h"
#include "cel/pattern.h"

namespace hekla::apiserver {
namespace {

using Type = Schema::Type;

Type type_from(std::string_view name) {
  if (name == "object") return Type::object;
  if (name == "array") return Type::array;
  if (name == "string") return Type::string;
  if (name == "integer") return Type::integer;
  if (name == "number") return Type::number;
  if (name == "boolean") return Type::boolean;
  return Type::any;
}

std::optional<double> number_at(const json::Value& schema, std::string_view member) {
  const json::Value* found = json::find(schema, member);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

std::optional<std::uint64_t> count_at(const json::Value& schema, std::string_view member) {
  std::int64_t count = json::int_at(schema, {member}, -1);
  if (count < 0) return std::nullopt;
  return static_cast<std::uint64_t>(count);
}

std::vector<std::string> strings_at(const json::Value& schema, std::string_view member) {
  std::vector<std::string> out;
  if (const json::Array* array = json::array_at(schema, {member}))
    for (const json::Value& one : *array)
      if (one.is_string()) out.emplace_back(json::sv(one.get_string()));
  return out;
}

std::shared_ptr<Schema> convert(const json::Value& from);

std::vector<SchemaPtr> convert_list(const json::Value& from, std::string_view member) {
  std::vector<SchemaPtr> out;
  if (const json::Array* array = json::array_at(from, {member}))
    for (const json::Value& one : *array) out.push_back(convert(one));
  return out;
}

void read_validation(const json::Value& from, Schema& to) {
  to.required = strings_at(from, "required");
  if (const json::Array* values = json::array_at(from, {"enum"}))
    to.enumeration.assign(values->begin(), values->end());
  to.pattern = json::string_at(from, {"pattern"});
  if (!to.pattern.empty())
    if (auto compiled = cel::Pattern::compile(to.pattern)) to.compiled_pattern = *compiled;
  to.minimum = number_at(from, "minimum");
  to.maximum = number_at(from, "maximum");
  to.exclusive_minimum = json::bool_at(from, {"exclusiveMinimum"});
  to.exclusive_maximum = json::bool_at(from, {"exclusiveMaximum"});
  to.multiple_of = number_at(from, "multipleOf");
  to.min_length = count_at(from, "minLength");
  to.max_length = count_at(from, "maxLength");
  to.min_items = count_at(from, "minItems");
  to.max_items = count_at(from, "maxItems");
  to.min_properties = count_at(from, "minProperties");
  to.max_properties = count_at(from, "maxProperties");
  to.all_of = convert_list(from, "allOf");
  to.any_of = convert_list(from, "anyOf");
  to.one_of = convert_list(from, "oneOf");
  if (const json::Value* negation = json::find(from, "not");
      negation != nullptr && negation->is_object())
    to.negation = convert(*negation);
  if (const json::Value* rules = json::find(from, "x-kubernetes-validations"))
    to.validations = *rules;
  if (to.validations.is_array() && !to.validations.get_array().empty())
    to.rules = std::make_shared<SchemaRules>();
}

void read_shape(const json::Value& from, Schema& to) {
  if (const json::Object* properties = json::object_at(from, {"properties"}))
    for (const auto& property : *properties)
      to.properties.emplace(property.key(), convert(property.value()));
  if (const json::Value* additional = json::find(from, "additionalProperties")) {
    if (additional->is_object())
      to.additional = convert(*additional);
    else if (additional->is_bool() && additional->get_bool())
      to.additional = std::make_shared<Schema>();
  }
  if (const json::Value* items = json::find(from, "items"); items != nullptr && items->is_object())
    to.items = convert(*items);
  std::string_view list_type = json::string_at(from, {"x-kubernetes-list-type"});
  to.list_type = list_type == "map"   ? Schema::ListType::map
                 : list_type == "set" ? Schema::ListType::set
                                      : Schema::ListType::atomic;
  to.list_map_keys = strings_at(from, "x-kubernetes-list-map-keys");
  to.atomic_map = json::string_at(from, {"x-kubernetes-map-type"}) == "atomic";
}

// Every resource has them, whatever its schema says; what it says of metadata's name stays in
// force.
void add_resource_fields(Schema& to) {
  static constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"apiVersion",
       "APIVersion defines the group and version whose schema the object is written in."},
      {"kind",
       "Kind names what the object is; with the apiVersion it tells clients where to send it."}};
  for (const auto& [name, description] : kTexts)
    if (!to.properties.contains(name)) {
      auto text = std::make_shared<Schema>();
      text->type = Type::string;
      text->description = description;
      to.properties.emplace(name, std::move(text));
    }
  auto metadata =
      std::make_shared<Schema>(*builtin_type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
  metadata->description =
      "Standard object's metadata: name, namespace, labels and what the server keeps of it.";
  if (auto given = to.properties.find("metadata"); given != to.properties.end()) {
    if (!given->second->description.empty()) metadata->description = given->second->description;
    metadata->all_of.push_back(given->second);
  }
  to.properties.insert_or_assign("metadata", std::move(metadata));
}

std::shared_ptr<Schema> convert(const json::Value& from) {
  auto to = std::make_shared<Schema>();
  to->type = json::bool_at(from, {"x-kubernetes-int-or-string"})
                 ? Type::int_or_string
                 : type_from(json::string_at(from, {"type"}));
  to->format = json::string_at(from, {"format"});
  to->description = json::string_at(from, {"description"});
  to->preserve_unknown = json::bool_at(from, {"x-kubernetes-preserve-unknown-fields"});
  to->embedded_resource = json::bool_at(from, {"x-kubernetes-embedded-resource"});
  to->nullable = json::bool_at(from, {"nullable"});
  if (const json::Value* value = json::find(from, "default"); value != nullptr && !value->is_null())
    to->default_value = *value;
  read_shape(from, *to);
  read_validation(from, *to);
  if (to->embedded_resource) add_resource_fields(*to);
  return to;
}

// A default that the schema itself would reject makes every object invalid: refuse it at once.
void check_defaults(const Schema& schema, const std::string& path, std::vector<Cause>& out) {
  if (schema.default_value) {
    std::string where = path.empty() ? "default" : path + ".default";
    for (Cause& cause : validate_value(schema, *schema.default_value, where))
      out.push_back(std::move(cause));
    json::Value pruned = *schema.default_value;
    if (!schema.embedded_resource) {
      Schema holder;  // so that a root's special members are none here
      holder.properties.emplace("x", std::make_shared<Schema>(schema));
      json::Value wrapped = json::Object{{"x", pruned}};
      if (!unknown_fields(holder, wrapped).empty())
        out.push_back(invalid_value(where, *schema.default_value, "must not have unknown fields"));
    }
  }
  for (const auto& [name, inner] : schema.properties)
    if (inner->go_type.empty())
      check_defaults(*inner, (path.empty() ? "" : path + ".") + "properties[" + name + "]", out);
  if (schema.items != nullptr)
    check_defaults(*schema.items, (path.empty() ? "" : path + ".") + "items", out);
  if (schema.additional != nullptr)
    check_defaults(*schema.additional, (path.empty() ? "" : path + ".") + "additionalProperties",
                   out);
}

std::unexpected<Error> rejected(std::vector<Cause> causes) {
  Error error{Code::invalid, "the schema is not structural"};
  for (std::size_t i = 0; i < causes.size(); ++i)
    error.message += (i == 0 ? ": " : ", ") + causes[i].field + ": " + causes[i].message;
  error.details.causes = std::move(causes);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<SchemaPtr> schema_from_openapi(const json::Value& open_api_v3_schema) {
  if (!open_api_v3_schema.is_object())
    return rejected({required_value("openAPIV3Schema", "schemas are required")});
  std::vector<Cause> causes = structural_violations(open_api_v3_schema);
  if (!causes.empty()) return rejected(std::move(causes));
  std::shared_ptr<Schema> schema = convert(open_api_v3_schema);
  check_defaults(*schema, "", causes);
  if (!causes.empty()) return rejected(std::move(causes));
  add_resource_fields(*schema);
  causes = compile_schema_rules(*schema);
  if (!causes.empty()) return rejected(std::move(causes));
  return schema;
}

}  // namespace hekla::apiserver
