#include "apiserver/kinds/pod/resize.h"

#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/text/field_error.h"
#include "model/quota.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kContainerLists[]{"containers", "initContainers"};

const json::Array* containers_of(const json::Value& pod, std::string_view list) {
  return json::array_at(pod, {"spec", list});
}

bool same_names(const json::Array* a, const json::Array* b) {
  if (!a || !b) return (a ? a->size() : 0) == (b ? b->size() : 0);
  if (a->size() != b->size()) return false;
  for (std::size_t i = 0; i < a->size(); ++i)
    if (json::string_at((*a)[i], {"name"}) != json::string_at((*b)[i], {"name"})) return false;
  return true;
}

void take(json::Object& to, const json::Value& from, std::string_view member) {
  const json::Value* value = json::find(from, member);
  if (value)
    to[member] = *value;
  else
    to.erase(member);
}

// The amounts that may change made equal to the old ones, and the policies.
json::Value without_resizing(const json::Value& container, const json::Value& old) {
  json::Value munged = container;
  take(munged.get_object(), old, "resizePolicy");
  for (std::string_view list : {"limits", "requests"})
    for (std::string_view resource : {"cpu", "memory"}) {
      const json::Value* before = json::find_path(old, {"resources", list, resource});
      if (before)
        json::at_path(munged, {"resources", list, resource}) = *before;
      else if (json::object_at(munged, {"resources", list}))
        json::at_path(munged, {"resources", list}).get_object().erase(resource);
    }
  // A list that has become empty is none.
  if (json::Value* resources = munged.get_object().if_contains("resources");
      resources && resources->is_object())
    for (std::string_view list : {"limits", "requests"})
      if (const json::Value* amounts = json::find(*resources, list);
          amounts && amounts->is_object() && amounts->get_object().empty() &&
          !json::find_path(old, {"resources", list}))
        resources->get_object().erase(list);
  return munged;
}

void check_removed(const Field& now, const Field& before, std::string_view list, Rules& rules) {
  for (const auto& member : before[list].members())
    if (!now[list].key(member.key()).present()) {
      rules.forbidden(now[list], "resource " + std::string(list) + " cannot be removed");
      return;
    }
}

bool check_order(const Field& now, const Field& before, std::string_view list, Rules& rules) {
  if (now.items().size() != before.items().size()) {
    rules.forbidden(now, std::string(list) + " may not be added or removed on resize");
    return false;
  }
  bool kept = true;
  for (std::size_t i = 0; i < now.items().size(); ++i)
    if (now.at(i)["name"].text() != before.at(i)["name"].text()) {
      rules.forbidden(now.at(i)["name"],
                      std::string(list) + " may not be renamed or reordered on resize");
      kept = false;
    }
  return kept;
}

// A node that resizes containers says what those that run have.
bool node_resizes(const json::Value& pod) {
  const json::Array* statuses = json::array_at(pod, {"status", "containerStatuses"});
  if (!statuses) return true;
  for (const json::Value& one : *statuses)
    if (json::object_at(one, {"state", "running"}))
      return json::object_at(one, {"resources"}) != nullptr;
  return true;
}

void check_changes(const Field& now, const Field& before, bool init, Rules& rules,
                   const Field& spec) {
  for (std::size_t i = 0; i < before.items().size(); ++i) {
    const bool sidecar = before.at(i)["restartPolicy"].text() == "Always";
    if (init && !sidecar) {
      if (!json::equal(now.items()[i], before.items()[i]))
        rules.forbidden(spec, "resources for non-sidecar init containers are immutable");
      continue;
    }
    for (std::string_view list : {"requests", "limits"})
      check_removed(now.at(i)["resources"], before.at(i)["resources"], list, rules);
    if (!json::equal(without_resizing(now.items()[i], before.items()[i]), before.items()[i]))
      rules.forbidden(spec, init
                                ? "only cpu and memory resources for sidecar containers are mutable"
                                : "only cpu and memory resources are mutable");
  }
}

}  // namespace

void isolate_resize(json::Value& object, const json::Value& old) {
  for (std::string_view list : kContainerLists)
    if (!same_names(containers_of(object, list), containers_of(old, list))) return;
  json::Value merged = old;
  for (std::string_view list : kContainerLists) {
    const json::Array* wanted = containers_of(object, list);
    for (std::size_t i = 0; wanted && i < wanted->size(); ++i)
      for (std::string_view member : {"resources", "resizePolicy"})
        take(json::at_path(merged, {"spec", list}).get_array()[i].get_object(), (*wanted)[i],
             member);
  }
  if (const json::Value* managed = json::find_path(object, {"metadata", "managedFields"}))
    json::at_path(merged, {"metadata", "managedFields"}) = *managed;
  object = std::move(merged);
}

std::vector<Cause> validate_resize(const json::Value& pod, const json::Value& old) {
  Rules rules;
  const Field spec = Field(pod, "")["spec"], before = Field(old, "")["spec"];
  for (const json::Value* one : {&pod, &old})
    if (json::find_path(*one, {"spec", "resources", "requests"}) ||
        json::find_path(*one, {"spec", "resources", "limits"}))
      return {forbidden_value("", "pods with pod-level resources cannot be resized")};
  if (json::find_path(old, {"metadata", "annotations", "kubernetes.io/config.mirror"}))
    return {forbidden_value("", "static pods cannot be resized")};
  if (before["os"]["name"].text() == "windows")
    return {forbidden_value("", "windows pods cannot be resized")};
  std::string was(json::string_at(old, {"status", "qosClass"}));
  if (was.empty()) was = model::qos_class(before.value());
  if (was != model::qos_class(spec.value()))
    rules.invalid(spec, json::Value(json::string_at(pod, {"status", "qosClass"})),
                  "Pod QOS Class may not change as a result of resizing");
  if (!node_resizes(old)) rules.forbidden(spec, "Pod running on node without support for resize");
  bool ordered = true;
  for (std::string_view list : kContainerLists)
    ordered &= check_order(spec[list], before[list], list, rules);
  if (!ordered) return std::move(rules.causes);
  check_changes(spec["containers"], before["containers"], false, rules, spec);
  check_changes(spec["initContainers"], before["initContainers"], true, rules, spec);
  return std::move(rules.causes);
}

}  // namespace hekla::apiserver
