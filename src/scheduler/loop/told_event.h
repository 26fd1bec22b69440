// An event on its way to whoever writes it, and what becomes of many of them at once.
#pragma once

#include <string>
#include <vector>

#include "kube/events.h"

namespace hekla::scheduler {

struct ToldEvent {
  std::string component;
  kube::EventTarget target;
  std::string type, reason, message;
  kube::EventTarget gang = {};  // of the pod that this is about; no name: it has none
};

// The same, with one event on the gang in place of those that tell of many of its pods for one
// reason: ten thousand pods that are bound in a second are a hundred events, not ten thousand.
std::vector<ToldEvent> told_by_gang(std::vector<ToldEvent> events);

}  // namespace hekla::scheduler
