// Pods that have to go without anybody asking: those that do not tolerate a NoExecute taint of
// their node, those whose node has vanished, and the oldest of too many that have ended.
#pragma once

#include "controllers/cluster/node_health.h"

namespace hekla::controllers {

// Pure: how long the pod may stay on a node with these taints; nothing when for ever, zero when it
// must go now.
std::optional<Nanos> time_to_stay(const model::Pod& pod, const json::Array& taints);

class PodRemoval {
 public:
  PodRemoval(kube::CacheSet& caches, NodeHealth& health);
  void start() { sweep_later(); }

 private:
  kube::Round evict_round(const kube::Key& key, WallTime now);
  void sweep_later();
  void sweep();
  bool node_is_gone(const std::string& name, MonoTime now);

  kube::CacheSet& caches_;
  kube::Informer<model::Pod>& pods_;
  kube::EventRecorder events_;
  NodeHealth& health_;
  std::map<std::string, MonoTime> marked_;   // pods under a taint they tolerate for a while, by uid
  std::map<std::string, MonoTime> missing_;  // nodes pods speak of, since when they are not there
  kube::ReconcileLoop loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::controllers
