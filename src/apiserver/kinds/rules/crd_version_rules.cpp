#include "apiserver/kinds/rules/crd_version_rules.h"

#include <algorithm>
#include <set>

#include "apiserver/schema/schema.h"
#include "apiserver/text/field_error.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kSelectableFieldsMax = 8;

void check_simple_path(const std::string& field, std::string_view path,
                       std::vector<Cause>& causes) {
  if (!path.starts_with('.'))
    causes.push_back(
        invalid_value(field, json::Value(path), "must be a simple json path starting with ."));
}

void check_word(const std::string& field, std::string_view word,
                const std::set<std::string_view>& words, std::vector<Cause>& causes) {
  if (words.contains(word)) return;
  std::string listed;
  for (std::string_view one : words) listed += (listed.empty() ? "" : ",") + std::string(one);
  causes.push_back(word.empty()
                       ? required_value(field, "must be one of " + listed)
                       : invalid_value(field, json::Value(word), "must be one of " + listed));
}

void check_column(const std::string& field, const json::Value& column, std::vector<Cause>& causes) {
  static const std::set<std::string_view> kTypes{"boolean", "date", "integer", "number", "string"};
  static const std::set<std::string_view> kFormats{"byte",  "date",  "date-time", "double",
                                                   "float", "int32", "int64",     "password"};
  if (json::string_at(column, {"name"}).empty()) causes.push_back(required_value(field + ".name"));
  check_word(field + ".type", json::string_at(column, {"type"}), kTypes, causes);
  if (std::string_view format = json::string_at(column, {"format"}); !format.empty())
    check_word(field + ".format", format, kFormats, causes);
  const std::string_view path = json::string_at(column, {"jsonPath"});
  if (path.empty())
    causes.push_back(required_value(field + ".JSONPath"));
  else
    check_simple_path(field + ".JSONPath", path, causes);
}

// Where ".spec.color" leads; an error says why it leads nowhere.
Result<const Schema*> schema_at(const Schema& root, std::string_view path) {
  const Schema* at = &root;
  while (!path.empty()) {
    if (path.front() == '[') return fail(Code::invalid, "array notation is not allowed");
    const std::size_t end = std::min(path.find_first_of(".[]", 1), path.size());
    if (path.front() != '.')
      return fail(Code::invalid, "expected [ or . but got: " + std::string(path.substr(0, end)));
    const std::string_view name = path.substr(1, end - 1);
    if (name.empty() && end == path.size())
      return fail(Code::invalid, "unexpected end of JSON path");
    auto found = at->properties.find(name);
    if (found != at->properties.end())
      at = found->second.get();
    else if (at->properties.empty() && at->additional)
      at = at->additional.get();
    else
      return fail(Code::invalid, "does not refer to a valid field");
    path.remove_prefix(end);
  }
  return at;
}

void check_selectable(const std::string& field, const json::Array& fields, const Schema& schema,
                      std::vector<Cause>& causes) {
  using Type = Schema::Type;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string where = field + "[" + std::to_string(i) + "].jsonPath";
    const std::string_view path = json::string_at(fields[i], {"jsonPath"});
    if (path.empty()) {
      causes.push_back(required_value(where));
      continue;
    }
    Result<const Schema*> leaf = schema_at(schema, path);
    if (!leaf) {
      causes.push_back(
          invalid_value(where, json::Value(path), "is an invalid path: " + leaf.error().message));
      continue;
    }
    if (path == ".metadata" || path.starts_with(".metadata."))
      causes.push_back(
          invalid_value(where, json::Value(path), "must not point to fields in metadata"));
    const Type type = (*leaf)->type;
    if (type != Type::string && type != Type::boolean && type != Type::integer)
      causes.push_back(invalid_value(
          where, json::Value(path),
          "must point to a field of type string, boolean or integer. Enum string fields "
          "and strings with formats are allowed."));
    if (!seen.insert(path).second) causes.push_back(duplicate_value(where, json::Value(path)));
  }
  if (seen.size() > kSelectableFieldsMax)
    causes.push_back(too_many(field, seen.size(), kSelectableFieldsMax));
}

void check_scale_path(const std::string& field, std::string_view path, std::string_view under,
                      std::vector<Cause>& causes) {
  if (!path.starts_with('.'))
    check_simple_path(field, path, causes);
  else if (!path.starts_with(std::string(under) + "."))
    causes.push_back(invalid_value(field, json::Value(path),
                                   "should be a json path under " + std::string(under)));
}

void check_scale(const std::string& field, const json::Value& scale, std::vector<Cause>& causes) {
  for (const auto& [member, under] :
       {std::pair{"specReplicasPath", ".spec"}, {"statusReplicasPath", ".status"}}) {
    const std::string where = field + "." + member;
    const std::string_view path = json::string_at(scale, {member});
    if (path.empty())
      causes.push_back(required_value(where));
    else
      check_scale_path(where, path, under, causes);
  }
  if (std::string_view path = json::string_at(scale, {"labelSelectorPath"}); !path.empty())
    check_scale_path(field + ".labelSelectorPath", path, ".status", causes);
}

}  // namespace

void validate_crd_version(const std::string& field, const json::Value& version,
                          const Schema* schema, std::vector<Cause>& causes) {
  if (const json::Value* scale = json::find_path(version, {"subresources", "scale"});
      scale && !scale->is_null())
    check_scale(field + ".subresources.scale", *scale, causes);
  if (const json::Array* columns = json::array_at(version, {"additionalPrinterColumns"}))
    for (std::size_t i = 0; i < columns->size(); ++i)
      check_column(field + ".additionalPrinterColumns[" + std::to_string(i) + "]", (*columns)[i],
                   causes);
  if (const json::Array* fields = json::array_at(version, {"selectableFields"}); fields && schema)
    check_selectable(field + ".selectableFields", *fields, *schema, causes);
}

}  // namespace hekla::apiserver
