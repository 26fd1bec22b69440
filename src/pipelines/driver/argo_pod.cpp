#include "pipelines/driver/argo_pod.h"

#include <charconv>

#include "json/parse.h"

namespace hekla::pipelines::driver {
namespace {

// A patch over a value: objects member by member, lists of named elements by name, all else taken
// as it is.
void lay_over(json::Value& value, const json::Value& patch) {
  if (patch.is_object() && value.is_object()) {
    for (const auto& member : patch.get_object())
      lay_over(json::member_of(value.get_object(), member.key()), member.value());
    return;
  }
  const bool named = patch.is_array() && value.is_array() && !patch.get_array().empty() &&
                     json::find(patch.get_array()[0], "name") != nullptr;
  if (!named) {
    value = patch;
    return;
  }
  for (const json::Value& one : patch.get_array()) {
    json::Value* same = nullptr;
    for (json::Value& there : value.get_array())
      if (json::string_at(there, {"name"}) == json::string_at(one, {"name"})) same = &there;
    if (same)
      lay_over(*same, one);
    else
      value.get_array().push_back(one);
  }
}

// Argo allows a text where a parameter gives the number.
void make_number(json::Value& pod, std::string_view member) {
  json::Value* value = json::at_path(pod, {"spec"}).as_object().if_contains(member);
  if (value == nullptr || !value->is_string()) return;
  const std::string_view text = json::sv(value->get_string());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) *value = number;
}

}  // namespace

Result<json::Value> argo_pod(const ir::Container& container, const engine::ContainerScope& scope) {
  json::Value pod = engine::fill_value(container.pod, scope);
  if (!container.pod_patch.empty()) {
    Result<std::vector<json::YamlDocument>> patch =
        json::parse_yaml(engine::fill_text(container.pod_patch, scope));
    if (!patch) return fail(Code::bad_request, "podSpecPatch: " + patch.error().message);
    for (const json::YamlDocument& one : *patch) lay_over(json::at_path(pod, {"spec"}), one.value);
  }
  make_number(pod, "activeDeadlineSeconds");
  return pod;
}

}  // namespace hekla::pipelines::driver
