// Nodes: those whose kubelet has fallen silent become Unknown, conditions become taints, and the
// pods of a node that is not ready are marked so.
#pragma once

#include "controllers/vocabulary.h"
#include "framework/condition.h"
#include "kube/cache_set.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

struct NodeHealthOptions {
  Nanos period = std::chrono::seconds(5);
  Nanos grace = std::chrono::seconds(50);          // without a heartbeat
  Nanos startup_grace = std::chrono::seconds(60);  // without the first one
};

// Pure: spec.taints as conditions and spec.unschedulable ask for; foreign taints stay as they are.
json::Array wanted_taints(const AnyObject& node, WallTime now);

class NodeHealth {
 public:
  NodeHealth(kube::CacheSet& caches, NodeHealthOptions options = {});

  // Nodes with the taints as JSON; shared with TaintEviction.
  kube::Informer<AnyObject>& nodes() { return nodes_; }
  std::vector<PodRef> pods_on(const std::string& node) const;

 private:
  // When something was last heard of the node, by our own clock: clocks of nodes may be wrong, and
  // after a restart of ours everyone gets the whole grace again.
  struct Heard {
    std::string heartbeat, renewal;
    MonoTime at;
  };

  kube::Round round(const kube::Key& key, WallTime now);
  bool is_silent(const AnyObject& node, MonoTime now);
  void mark_unknown(const AnyObject& node, WallTime now, std::vector<kube::Write>& writes);
  void mark_pods(const AnyObject& node, WallTime now, std::vector<kube::Write>& writes);

  kube::CacheSet& caches_;
  kube::EventRecorder events_;
  NodeHealthOptions options_;
  kube::Informer<model::Pod>& pods_;
  kube::Informer<AnyObject>&nodes_, &leases_;
  int pods_by_node_;
  std::map<std::string, Heard> heard_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
