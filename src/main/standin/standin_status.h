// The status of a stand-in: that of the part of this process behind it.
#pragma once

#include <optional>

#include "base/clock.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla {

enum class StandInState {
  ready,
  not_ready,  // the part is there and cannot work just now
  done,       // a pod that ends has done its work
  absent,     // no part of this process does this yet
};

// The status to write, or nothing: the pod shows it already. `since`: when this process started.
// `address`: where pods reach the part; empty: nowhere.
std::optional<json::Object> standin_status(const model::Pod& pod, StandInState state,
                                           const std::string& address, WallTime since,
                                           WallTime now);

}  // namespace hekla
