// The components of the table that nobody has installed, shown as the Deployments people know them
// by. They give way to those that are installed, and come back when these are gone.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "kube/client.h"
#include "kube/in_process/registry.h"
#include "kube/informer.h"
#include "main/standin/component_table.h"
#include "model/core.h"

namespace hekla {

// The mark by which Helm takes what is there already into a release: {labels, annotations}.
json::Object helm_metadata(const std::string& release, const std::string& ns);

// A Deployment that somebody applies over one of ours is theirs alone: containers of ours go, and
// it gives way no more. `old`: null for a new one.
void settle_ownership(const json::Value* old, json::Value& deployment);

// A Deployment as far as it matters here.
struct ShownDeployment {
  model::ObjectMeta metadata;
  json::Value spec;
};
BOOST_DESCRIBE_STRUCT(ShownDeployment, (), (metadata, spec))

// Lives on the client's executor. `pods`: all stand-ins; `registry`: the parts that are at work.
class ShownWorkloads {
 public:
  // Components alone whose parts are there.
  ShownWorkloads(kube::Client& client, const ComponentTable& table,
                 const kube::InProcessRegistry& registry, const kube::Informer<model::Pod>& pods);
  void start();
  void settle();

 private:
  struct Workload {
    Workload(const Component& of, kube::Client& client);
    const Component& component;
    kube::Informer<ShownDeployment> deployment;  // the one of its name
    bool seen = false;                           // looked for once
    bool making = false, making_once = false;
  };

  void settle(Workload& workload);
  void settle_once(Workload& workload, bool wanted);
  void remove_own_sets(const Workload& workload);
  void make(Workload& workload);
  void make_once(Workload& workload);
  // Whether somebody else has such pods; `once`: those that end.
  bool others_have(const Component& component, bool once) const;
  void remove(const kube::Resource& resource, const model::ObjectMeta& of);
  void later(bool& flag, std::function<void()> then);

  kube::Client& client_;
  const kube::InProcessRegistry& registry_;
  const kube::Informer<model::Pod>& pods_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::deque<Workload> workloads_;
};

}  // namespace hekla
