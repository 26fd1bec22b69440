#include "apiserver/kinds/pod/ephemeral.h"

#include <charconv>

#include "apiserver/kinds/rules/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kList = "ephemeralContainers";
constexpr int kLastListMinor = 21;

bool wants_ephemeral_list(std::string_view user_agent) {
  constexpr std::string_view kBegin = "kubectl/v1.";
  if (!user_agent.starts_with(kBegin)) return false;
  user_agent.remove_prefix(kBegin.size());
  int minor = 0;
  auto read = std::from_chars(user_agent.data(), user_agent.data() + user_agent.size(), minor);
  return read.ec == std::errc{} && minor <= kLastListMinor;
}

}  // namespace

void isolate_ephemeral(json::Value& object, const json::Value& old) {
  json::Value merged = old;
  if (const json::Value* list = json::find_path(object, {"spec", kList}))
    json::at_path(merged, {"spec", kList}) = *list;
  else if (json::Value* spec = merged.get_object().if_contains("spec"); spec && spec->is_object())
    spec->get_object().erase(kList);
  if (json::Value* metadata = object.get_object().if_contains("metadata"))
    merged.get_object()["metadata"] = std::move(*metadata);
  object = std::move(merged);
}

std::vector<Cause> validate_ephemeral_update(const json::Value& pod, const json::Value& old) {
  Rules rules;
  const Field now = Field(pod, "")["spec"][kList], known = Field(old, "")["spec"][kList];
  for (std::size_t i = 0; i < known.items().size(); ++i) {
    const std::string name(known.at(i)["name"].text());
    const json::Value* found = nullptr;
    for (const json::Value& one : now.items())
      if (json::string_at(one, {"name"}) == name) found = &one;
    if (!found)
      rules.forbidden(now, "existing ephemeral containers \"" + name + "\" may not be removed\n");
    else if (!json::equal(*found, known.items()[i]))
      rules.forbidden(now, "existing ephemeral containers \"" + name + "\" may not be changed\n");
  }
  return std::move(rules.causes);
}

std::optional<json::Value> show_ephemeral(const json::Value& pod, std::string_view user_agent) {
  if (!wants_ephemeral_list(user_agent)) return std::nullopt;
  const json::Value* list = json::find_path(pod, {"spec", kList});
  const json::Value* metadata = json::find(pod, "metadata");
  return json::Object{{"kind", "EphemeralContainers"},
                      {"apiVersion", "v1"},
                      {"metadata", metadata ? *metadata : json::Value(json::Object{})},
                      {kList, list ? *list : json::Value(json::Array{})}};
}

json::Value pod_of_ephemeral(json::Value object) {
  if (json::string_at(object, {"kind"}) != "EphemeralContainers") return object;
  const json::Value* list = json::find(object, kList);
  const json::Value* metadata = json::find(object, "metadata");
  json::Object spec;
  if (list) spec.emplace(kList, *list);
  return json::Object{{"kind", "Pod"},
                      {"apiVersion", "v1"},
                      {"metadata", metadata ? *metadata : json::Value(json::Object{})},
                      {"spec", std::move(spec)}};
}

}  // namespace hekla::apiserver
