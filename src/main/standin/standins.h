// Stand-ins: pods of recognised workloads, realised by parts of this process. Keeps their status
// that of the part, ends those that are deleted, and knows which part a pod's log is of.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/events.h"
#include "kube/in_process/registry.h"
#include "kube/informer.h"
#include "main/standin/component_table.h"
#include "main/standin/shown_workloads.h"
#include "main/standin/standin_status.h"
#include "model/core.h"

namespace hekla {

// Lives on the client's executor.
class StandIns {
 public:
  struct Options {
    WallTime started;
    bool show_workloads = false;  // components that nobody has installed show themselves
  };
  StandIns(kube::Client& client, const ComponentTable& table,
           const kube::InProcessRegistry& registry, Options options);
  void start();

  // The log of a stand-in. Thread-safe.
  struct Log {
    std::vector<std::string> names;  // under which its part logs
    std::string line;                // the only one, where there is no part
  };
  // An ordinary pod has neither.
  std::optional<std::string> part_behind(const std::string& ns, const std::string& pod) const;
  std::optional<Log> log_of(const std::string& ns, const std::string& pod) const;
  // Where pods reach the part behind a stand-in; empty: nowhere. Thread-safe.
  std::string address_of(const std::string& ns, const std::string& pod) const;

 private:
  void settle();
  void look_at(const model::Pod& pod);
  void remove(const model::Pod& pod);
  void announce(const model::Pod& pod, const Component& component, StandInState state);
  void look_again();

  kube::Client& client_;
  const ComponentTable& table_;
  const kube::InProcessRegistry& registry_;
  const Options options_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  kube::Informer<model::Pod> pods_;
  kube::EventRecorder events_;
  std::optional<ShownWorkloads> shown_;
  std::set<std::string> writing_;           // uids of pods whose status is on its way
  mutable std::mutex mutex_;                // of what other threads ask for
  std::map<kube::Key, std::string> parts_;  // by pod
};

}  // namespace hekla
