#include "apiserver/object/pod_conditions.h"

#include "model/time.h"

namespace hekla::apiserver {

void set_pod_condition(json::Value& pod, const PodConditionText& wanted, WallTime now) {
  json::Value& list = json::at_path(pod, {"status", "conditions"});
  if (!list.is_array()) list.emplace_array();
  json::Object made;
  made.emplace("lastProbeTime", nullptr);
  made.emplace("lastTransitionTime", model::format_rfc3339(now));
  if (!wanted.message.empty()) made.emplace("message", wanted.message);
  if (!wanted.reason.empty()) made.emplace("reason", wanted.reason);
  made.emplace("status", wanted.status);
  made.emplace("type", wanted.type);
  for (json::Value& one : list.get_array()) {
    if (json::string_at(one, {"type"}) != wanted.type) continue;
    if (json::string_at(one, {"status"}) == wanted.status) return;
    one = std::move(made);
    return;
  }
  list.get_array().push_back(std::move(made));
}

}  // namespace hekla::apiserver
