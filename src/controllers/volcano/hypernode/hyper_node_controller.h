// HyperNodes: how many nodes each one holds, through its selectors and the hypernodes below it; and
// those that node labels describe are made and kept (label_discovery.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "controllers/volcano/caches.h"
#include "kube/reconcile.h"
#include "model/job_makers.h"

namespace hekla::controllers {

using HyperNodeRef = std::shared_ptr<const model::HyperNode>;

// The names of all nodes below `name`. Circles end where they began.
std::set<std::string> nodes_below(
    const std::string& name, const std::function<HyperNodeRef(const std::string&)>& hyper_node,
    const std::map<std::string, std::map<std::string, std::string>>& node_labels,
    const std::vector<std::string>& hyper_node_names);

// Lives on the client's executor.
class HyperNodeController {
 public:
  explicit HyperNodeController(kube::Client& client);
  void start();

 private:
  kube::Round reconcile(const kube::Key& key);
  kube::Round discover();
  void look_at_all();
  const std::map<std::string, std::map<std::string, std::string>>& node_labels();

  kube::Informer<model::HyperNode> hyper_nodes_;
  kube::Informer<MetadataOnly> nodes_;
  // Of all nodes, gathered once for all hypernodes; none after a change.
  std::optional<std::map<std::string, std::map<std::string, std::string>>> node_labels_;
  kube::Informer<model::ConfigMap> configurations_;
  kube::ReconcileLoop loop_, discovery_;
};

}  // namespace hekla::controllers
