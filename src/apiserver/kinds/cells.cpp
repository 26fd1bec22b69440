#include "apiserver/kinds/cells.h"

#include <map>

#include "model/selector.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

std::string member_of_each(const json::Array* containers, std::string_view member) {
  std::string out;
  if (containers == nullptr) return out;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    if (i > 0) out += ',';
    out += json::string_at((*containers)[i], {member});
  }
  return out;
}

}  // namespace

std::string since(const json::Value& object, Path path, WallTime now) {
  std::string_view text = json::string_at(object, path);
  if (text.empty()) return "<unknown>";
  auto when = model::parse_rfc3339(text);
  return when ? model::human_duration(now - *when) : "<unknown>";
}

std::string age(const json::Value& object, WallTime now) {
  return since(object, {"metadata", "creationTimestamp"}, now);
}

std::string text_or(const json::Value& object, Path path, std::string_view otherwise) {
  std::string_view text = json::string_at(object, path);
  return std::string(text.empty() ? otherwise : text);
}

std::int64_t count(const json::Value& object, Path path) {
  const json::Value* value = json::find_path(object, path);
  if (value == nullptr) return 0;
  if (value->is_array()) return static_cast<std::int64_t>(value->get_array().size());
  return value->is_object() ? static_cast<std::int64_t>(value->get_object().size()) : 0;
}

std::string true_false(const json::Value* value) {
  if (value == nullptr || !value->is_bool()) return "<unset>";
  return value->get_bool() ? "True" : "False";
}

std::string scalar_text(const json::Value& value) {
  return value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
}

std::string labels_text(const json::Value* labels) {
  if (labels == nullptr || !labels->is_object() || labels->get_object().empty()) return "<none>";
  std::map<std::string, std::string> sorted;
  for (const auto& label : labels->get_object())
    sorted.emplace(label.key(), scalar_text(label.value()));
  std::string out;
  for (const auto& [key, value] : sorted) out += (out.empty() ? "" : ",") + key + "=" + value;
  return out;
}

std::string selector_text(const json::Value* selector) {
  if (selector == nullptr || selector->is_null()) return "<none>";
  auto parsed = model::Selector::from_label_selector(*selector);
  if (!parsed) return "<error>";
  return parsed->empty() ? "<none>" : parsed->text();
}

std::string container_names(const json::Array* containers) {
  return member_of_each(containers, "name");
}
std::string container_images(const json::Array* containers) {
  return member_of_each(containers, "image");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

bool has_condition(const json::Value& object, std::string_view type) {
  const json::Array* conditions = json::array_at(object, {"status", "conditions"});
  if (conditions == nullptr) return false;
  for (const json::Value& condition : *conditions)
    if (json::string_at(condition, {"type"}) == type)
      return json::string_at(condition, {"status"}) == "True";
  return false;
}

}  // namespace hekla::apiserver
