// A live pod is nearly fixed: images, a shorter deadline, more tolerations, fewer scheduling gates,
// and while gated a narrower choice of nodes.
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/pod/pod_rules.h"

namespace hekla::apiserver {
namespace {

constexpr std::string_view kUpdatable =
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec."
    "tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
    "set to 1 if it "
    "was previously negative)";

bool check_containers(const Field& now, const Field& old, Rules& rules) {
  if (now.items().size() != old.items().size()) {
    rules.forbidden(now, "pod updates may not add or remove containers");
    return false;
  }
  for (std::size_t i = 0; i < now.items().size(); ++i)
    if (now.at(i)["image"].text().empty()) rules.required(now.at(i)["image"]);
  return true;
}

bool check_deadline(const Field& now, const Field& old, Rules& rules) {
  if (now.present()) {
    if (old.present() && old.number() < now.number()) {
      rules.invalid(now, "must be less than or equal to previous value");
      return false;
    }
  } else if (old.present()) {
    rules.invalid(now, "must not update from a positive integer to nil value");
  }
  return true;
}

void check_tolerations(const Field& now, const Field& old, Rules& rules) {
  for (std::size_t i = 0; i < old.items().size(); ++i) {
    bool kept = false;
    for (const json::Value& one : now.items()) {
      json::Value a = one, b = old.items()[i];
      // How long it is tolerated may change.
      if (a.is_object()) a.get_object().erase("tolerationSeconds");
      if (b.is_object()) b.get_object().erase("tolerationSeconds");
      kept = kept || json::equal(a, b);
    }
    if (kept) continue;
    rules.forbidden(now, "existing toleration can not be modified except its tolerationSeconds");
    return;
  }
}

void check_gates(const Field& now, const Field& old, Rules& rules) {
  for (std::size_t i = 0; i < now.items().size(); ++i) {
    bool known = false;
    for (std::size_t j = 0; j < old.items().size(); ++j)
      known = known || same(now.at(i)["name"], old.at(j)["name"]);
    if (!known)
      rules.forbidden(now.at(i)["name"],
                      "only deletion is allowed, but found new scheduling gate '" +
                          std::string(now.at(i)["name"].text()) + "'");
  }
}

void check_gated_node_selector(const Field& now, const Field& old, Rules& rules) {
  for (const auto& member : old.members()) {
    if (same(now.key(member.key()), old.key(member.key()))) continue;
    rules.invalid(now,
                  "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
    return;
  }
}

void copy(json::Object& to, const json::Value& from, std::string_view member) {
  const json::Value* value = json::find(from, member);
  if (value != nullptr)
    to[member] = *value;
  else
    to.erase(member);
}

void copy_images(json::Object& to, const json::Value& from, std::string_view list) {
  const json::Array* before = json::array_at(from, {list});
  std::size_t i = 0;
  for (json::Value& container : list_in(to, list)) {
    if (before != nullptr && i < before->size() && container.is_object())
      copy(container.get_object(), (*before)[i], "image");
    ++i;
  }
}

// Everything that may change made equal to the old: what differs then must not.
json::Value without_allowed_changes(const json::Value& spec, const json::Value& old) {
  json::Value munged = spec;
  json::Object& object = munged.get_object();
  copy_images(object, old, "containers");
  copy_images(object, old, "initContainers");
  for (std::string_view member : {"activeDeadlineSeconds", "tolerations", "schedulingGates"})
    copy(object, old, member);
  if (json::int_at(old, {"terminationGracePeriodSeconds"}) < 0 &&
      json::int_at(munged, {"terminationGracePeriodSeconds"}) == 1)
    copy(object, old, "terminationGracePeriodSeconds");
  const json::Array* gates = json::array_at(old, {"schedulingGates"});
  if (gates != nullptr && !gates->empty()) {
    copy(object, old, "nodeSelector");
    const json::Value* affinity = json::find_path(old, {"affinity", "nodeAffinity"});
    if (affinity != nullptr)
      json::at_path(munged, {"affinity", "nodeAffinity"}) = *affinity;
    else if (json::Value* now = object.if_contains("affinity");
             now != nullptr && now->is_object()) {
      now->get_object().erase("nodeAffinity");
      if (now->get_object().empty() && json::find(old, "affinity") == nullptr)
        object.erase("affinity");
    }
  }
  return munged;
}

}  // namespace

void validate_pod_update(const json::Value& pod, const json::Value& old, Rules& rules) {
  Field now = Field(pod, "")["spec"], before = Field(old, "")["spec"];
  if (!now.value().is_object() || !before.value().is_object()) return;
  if (!check_containers(now["containers"], before["containers"], rules)) return;
  if (!check_containers(now["initContainers"], before["initContainers"], rules)) return;
  if (!check_deadline(now["activeDeadlineSeconds"], before["activeDeadlineSeconds"], rules)) return;
  check_tolerations(now["tolerations"], before["tolerations"], rules);
  check_gates(now["schedulingGates"], before["schedulingGates"], rules);
  if (!before["schedulingGates"].items().empty())
    check_gated_node_selector(now["nodeSelector"], before["nodeSelector"], rules);
  if (!json::equal(without_allowed_changes(now.value(), before.value()), before.value()))
    rules.forbidden(now, "pod updates may not change fields other than " + std::string(kUpdatable));
}

}  // namespace hekla::apiserver
