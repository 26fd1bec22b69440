#include "apiserver/kinds/ephemeral.h"

#include <charconv>
#include <set>

#include "apiserver/kinds/rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kList = "ephemeralContainers";
constexpr int kLastListMinor = 21;

void check_added(const Field& container, const Field& spec, std::set<std::string>& names,
                 Rules& rules) {
  if (rules.need_text(container["name"])) rules.unique(names, container["name"]);
  rules.need_text(container["image"]);
  for (std::string_view member : {"ports", "livenessProbe", "readinessProbe", "startupProbe",
                                  "lifecycle", "resources"})
    if (container[member].present() && !(container[member].value().is_object() &&
                                         container[member].members().empty()))
      rules.forbidden(container[member], "cannot be set for an Ephemeral Container");
  const std::string target(container["targetContainerName"].text());
  if (target.empty()) return;
  for (std::string_view list : {"containers", "initContainers"})
    for (std::size_t i = 0; i < spec[list].items().size(); ++i)
      if (spec[list].at(i)["name"].text() == target) return;
  rules.not_found(container["targetContainerName"]);
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
  const Field spec = Field(pod, "")["spec"], before = Field(old, "")["spec"];
  const Field now = spec[kList], known = before[kList];
  std::set<std::string> names;
  for (std::string_view list : {"containers", "initContainers"})
    for (std::size_t i = 0; i < spec[list].items().size(); ++i)
      names.insert(std::string(spec[list].at(i)["name"].text()));
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
  for (std::size_t i = 0; i < now.items().size(); ++i) {
    bool is_known = false;
    for (const json::Value& one : known.items())
      is_known = is_known || json::string_at(one, {"name"}) == now.at(i)["name"].text();
    if (is_known)
      names.insert(std::string(now.at(i)["name"].text()));
    else
      check_added(now.at(i), spec, names, rules);
  }
  return std::move(rules.causes);
}

bool wants_ephemeral_list(std::string_view user_agent) {
  constexpr std::string_view kBegin = "kubectl/v1.";
  if (!user_agent.starts_with(kBegin)) return false;
  user_agent.remove_prefix(kBegin.size());
  int minor = 0;
  auto read = std::from_chars(user_agent.data(), user_agent.data() + user_agent.size(), minor);
  return read.ec == std::errc{} && minor <= kLastListMinor;
}

json::Value ephemeral_of_pod(const json::Value& pod) {
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
