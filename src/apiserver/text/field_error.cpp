// The words of a rejected object: causes as field.Error prints them and the Status text around
// them.
#include "apiserver/text/field_error.h"

#include <set>

namespace hekla::apiserver {
namespace {

std::string with_detail(std::string text, const std::string& detail) {
  return detail.empty() ? text : std::move(text) + ": " + detail;
}

Cause cause(std::string_view reason, std::string message, std::string field) {
  return Cause{std::string(reason), std::move(message), std::move(field)};
}

}  // namespace

std::string go_value(const json::Value& value) {
  if (value.is_string()) return go_quote(json::sv(value.get_string()));
  return json::serialize(value);
}

Cause required_value(std::string field, std::string detail) {
  return cause("FieldValueRequired", with_detail("Required value", detail), std::move(field));
}

Cause invalid_value(std::string field, const json::Value& value, std::string detail) {
  return cause("FieldValueInvalid", with_detail("Invalid value: " + go_value(value), detail),
               std::move(field));
}

Cause type_invalid(std::string field, const json::Value& value, std::string detail) {
  return cause("FieldValueTypeInvalid", with_detail("Invalid value: " + go_value(value), detail),
               std::move(field));
}

Cause unsupported_value(std::string field, const json::Value& value,
                        const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& one : supported)
    detail += (detail.empty() ? "supported values: " : ", ") + go_quote(one);
  return cause("FieldValueNotSupported",
               with_detail("Unsupported value: " + go_value(value), detail), std::move(field));
}

Cause forbidden_value(std::string field, std::string detail) {
  return cause("FieldValueForbidden", with_detail("Forbidden", detail), std::move(field));
}

Cause duplicate_value(std::string field, const json::Value& value) {
  return cause("FieldValueDuplicate", "Duplicate value: " + go_value(value), std::move(field));
}

Cause not_found_value(std::string field, const json::Value& value) {
  return cause("FieldValueNotFound", "Not found: " + go_value(value), std::move(field));
}

Cause too_long(std::string field, std::uint64_t max_length) {
  return cause("FieldValueTooLong",
               "Too long: may not be more than " + std::to_string(max_length) +
                   (max_length == 1 ? " byte" : " bytes"),
               std::move(field));
}

Cause too_many(std::string field, std::uint64_t actual, std::uint64_t max_count) {
  return cause("FieldValueTooMany",
               "Too many: " + std::to_string(actual) + ": must have at most " +
                   std::to_string(max_count) + (max_count == 1 ? " item" : " items"),
               std::move(field));
}

Error invalid_object(const kube::Resource& resource, const std::string& name,
                     std::vector<Cause> causes) {
  std::string kind = resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
  Error error{Code::invalid, kind + " " + go_quote(name) + " is invalid"};
  std::set<std::string> seen;
  std::string list;
  for (const Cause& one : causes) {
    std::string text = one.field + ": " + one.message;
    if (!seen.insert(text).second) continue;
    list += (list.empty() ? "" : ", ") + text;
  }
  if (seen.size() > 1) list = "[" + list + "]";
  if (!list.empty()) error.message += ": " + list;
  error.details.name = name;
  error.details.group = resource.group;
  error.details.kind = resource.kind;
  error.details.causes = std::move(causes);
  return error;
}

}  // namespace hekla::apiserver
