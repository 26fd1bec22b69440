// A client that shows some of the nodes: those that carry one of the labels a scheduler was told to
// keep to (--node-selector). Everything else passes through.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/client.h"

namespace hekla {

// Label and value.
using NodeLabels = std::set<std::pair<std::string, std::string>>;

// "label:value" each.
Result<NodeLabels> parse_node_selector(const std::vector<std::string>& selector);

// `inner` must live longer.
class NodeFilter final : public kube::Client {
 public:
  NodeFilter(kube::Client& inner, NodeLabels labels)
      : inner_(inner), labels_(std::make_shared<const NodeLabels>(std::move(labels))) {}

  Executor& executor() override { return inner_.executor(); }
  void get(const kube::Resource& resource, const kube::Key& key,
           std::move_only_function<void(Result<kube::ObjectPtr>)> done) override;
  void list(const kube::Resource& resource, const kube::ListOptions& options,
            std::move_only_function<void(Result<kube::List>)> done) override;
  std::unique_ptr<kube::Watch> watch(const kube::Resource& resource,
                                     const kube::WatchOptions& options,
                                     kube::WatchCallbacks callbacks) override;
  void batch(std::vector<kube::Write> writes, kube::BatchDone done) override;

 private:
  kube::Client& inner_;
  std::shared_ptr<const NodeLabels> labels_;
};

}  // namespace hekla
