#include "controllers/trainer/plan.h"

namespace hekla::controllers::trainer {
namespace {

// By which member the elements of a list are told apart; empty: the list is a whole.
std::string_view merge_key(std::string_view list) {
  if (list == "volumeMounts") return "mountPath";
  for (std::string_view named : {"replicatedJobs", "containers", "initContainers", "env", "volumes",
                                 "imagePullSecrets", "schedulingGates"})
    if (list == named) return "name";
  return {};
}

void merge_list(json::Array& target, const json::Array& patch, std::string_view key) {
  for (const json::Value& one : patch) {
    const std::string_view id = json::string_at(one, {key});
    json::Value* same = nullptr;
    for (json::Value& other : target)
      if (json::string_at(other, {key}) == id) same = &other;
    if (same)
      merge_runtime_patch(*same, one);
    else
      target.push_back(one);
  }
}

}  // namespace

void merge_runtime_patch(json::Value& target, const json::Value& patch) {
  if (!patch.is_object() || !target.is_object()) {
    target = patch;
    return;
  }
  for (const auto& member : patch.get_object()) {
    json::Value& slot = json::member_of(target.get_object(), member.key());
    const std::string_view key = merge_key(member.key());
    if (!key.empty() && slot.is_array() && member.value().is_array())
      merge_list(slot.get_array(), member.value().get_array(), key);
    else if (slot.is_object())
      merge_runtime_patch(slot, member.value());
    else
      slot = member.value();
  }
}

}  // namespace hekla::controllers::trainer
