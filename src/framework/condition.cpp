#include "framework/condition.h"

#include <algorithm>

#include "model/time.h"

namespace hekla::framework {

const json::Value* find_condition(const json::Array& conditions, std::string_view type) {
  for (const json::Value& one : conditions)
    if (json::string_at(one, {"type"}) == type) return &one;
  return nullptr;
}

const json::Array& conditions_of(const AnyObject& object) {
  static const json::Array none;
  const json::Array* found = json::array_at(object.status, {"conditions"});
  return found ? *found : none;
}

const ConditionRules kPlainConditions{};

const ConditionRules kTrainingConditions{
    .time_members = {"lastUpdateTime"},
    .newest_last = true,
    .message_counts = false,
    .removes = {{"Restarting", "Running"}, {"Running", "Restarting"}},
    .falsifies = {{"Succeeded", "Running"}, {"Failed", "Running"}},
    .terminal = {"Failed"},
};

Conditions::Conditions(const json::Value& status, const ConditionRules& rules, WallTime now)
    : rules_(rules), now_(now) {
  if (const json::Array* found = json::array_at(status, {"conditions"})) list_ = *found;
}

const json::Value* Conditions::find(std::string_view type) const {
  return find_condition(list_, type);
}

bool Conditions::is_true(std::string_view type) const {
  const json::Value* found = find(type);
  return found != nullptr && json::string_at(*found, {"status"}) == "True";
}

bool Conditions::is_final() const {
  return std::any_of(rules_.terminal.begin(), rules_.terminal.end(),
                     [this](const std::string& type) { return is_true(type); });
}

bool Conditions::remove(std::string_view type) {
  const std::size_t before = list_.size();
  json::erase_if(list_,
                 [&](const json::Value& one) { return json::string_at(one, {"type"}) == type; });
  const bool gone = list_.size() != before;
  changed_ = changed_ || gone;
  return gone;
}

void Conditions::stamp(json::Object& condition, bool transition) const {
  const std::string time = model::format_rfc3339(now_);
  for (const std::string& member : rules_.time_members) condition[member] = time;
  if (transition || !condition.contains("lastTransitionTime"))
    condition["lastTransitionTime"] = time;
}

bool Conditions::set(const Condition& condition) {
  if (is_final()) return false;
  const json::Value* old = find(condition.type);
  const bool same_status = old && json::string_at(*old, {"status"}) == condition.status;
  if (same_status && json::string_at(*old, {"reason"}) == condition.reason &&
      (!rules_.message_counts || json::string_at(*old, {"message"}) == condition.message))
    return false;
  json::Object made = old && old->is_object() ? old->get_object() : json::Object();
  made["type"] = condition.type;
  made["status"] = condition.status;
  stamp(made, !same_status || rules_.any_change_is_transition);
  made["reason"] = condition.reason;
  made["message"] = condition.message;

  if (condition.status == "True") {
    for (const auto& [cause, victim] : rules_.removes)
      if (cause == condition.type) remove(victim);
    for (const auto& [cause, victim] : rules_.falsifies)
      for (json::Value& one : list_)
        if (cause == condition.type && json::string_at(one, {"type"}) == victim &&
            json::string_at(one, {"status"}) != "False") {
          one.get_object()["status"] = "False";
          stamp(one.get_object(), true);
        }
  }
  auto place = std::find_if(list_.begin(), list_.end(), [&](const json::Value& one) {
    return json::string_at(one, {"type"}) == condition.type;
  });
  if (rules_.newest_last && place != list_.end()) {
    list_.erase(place);
    place = list_.end();
  }
  if (place == list_.end())
    list_.emplace_back(std::move(made));
  else
    *place = std::move(made);
  changed_ = true;
  return true;
}

}  // namespace hekla::framework
