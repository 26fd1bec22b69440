// Tells on a notebook what was told of its StatefulSet and its pod, so that `kubectl describe
// notebook` and the page say why it does not start.
#pragma once

#include "controllers/workbench/workbench_kind.h"
#include "kube/cache_set.h"
#include "kube/events.h"

namespace hekla::controllers::workbench {

// Lives on the caches' client's executor and is made before they start. Events are not kept: there
// are many, and hardly any is a notebook's. What was told before the start is not told again.
class EventMirror {
 public:
  explicit EventMirror(kube::CacheSet& caches);
  void start() { events_.start(); }

 private:
  void look_at(const kube::WatchEvent& event);

  const kube::Informer<framework::AnyObject>& notebooks_;
  kube::EventRecorder recorder_;
  kube::Reflector events_;
};

}  // namespace hekla::controllers::workbench
