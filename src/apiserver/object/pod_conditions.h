// Conditions of a pod's status that the server itself sets.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace hekla::apiserver {

struct PodConditionText {
  std::string_view type, status, reason = {}, message = {};
};
// lastTransitionTime moves when the status does.
void set_pod_condition(json::Value& pod, const PodConditionText& wanted, WallTime now);

}  // namespace hekla::apiserver
