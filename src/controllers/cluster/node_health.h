// Nodes: those whose kubelet has fallen silent become Unknown, conditions become taints, and the
// pods of a node that is not ready are marked so.
#pragma once

#include "controllers/workload/caches.h"

namespace hekla::controllers {

struct NodeHealthOptions {
  Nanos period = std::chrono::seconds(5);
  Nanos grace = std::chrono::seconds(50);          // without a heartbeat
  Nanos startup_grace = std::chrono::seconds(60);  // without the first one
};

// Pure: spec.taints as conditions and spec.unschedulable ask for; foreign taints stay as they are.
json::Array wanted_taints(const Workload& node, WallTime now);

class NodeHealth {
 public:
  NodeHealth(WorkloadCaches& caches, NodeHealthOptions options = {});
  void start();

  // Nodes with the taints as JSON; shared with TaintEviction.
  kube::Informer<Workload>& nodes() { return nodes_; }
  std::vector<WorkloadPod> pods_on(const std::string& node) const;

 private:
  // When something was last heard of the node, by our own clock: clocks of nodes may be wrong, and
  // after a restart of ours everyone gets the whole grace again.
  struct Heard {
    std::string heartbeat, renewal;
    MonoTime at;
  };

  kube::Round round(const kube::Key& key, WallTime now);
  bool is_silent(const Workload& node, MonoTime now);
  void mark_unknown(const Workload& node, WallTime now, std::vector<kube::Write>& writes);
  void mark_pods(const Workload& node, WallTime now, std::vector<kube::Write>& writes);

  WorkloadCaches& caches_;
  kube::EventRecorder events_;
  NodeHealthOptions options_;
  kube::Informer<Workload> nodes_, leases_;
  int pods_by_node_;
  std::map<std::string, Heard> heard_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
