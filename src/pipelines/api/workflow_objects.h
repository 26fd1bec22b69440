// Runs of Workflows as objects, and Workflow objects as runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "kube/client.h"
#include "records/records.h"

namespace hekla::pipelines::api {

struct WorkflowOptions {
  kube::Client* client = nullptr;
  records::Records* records = nullptr;
  Rng* rng = nullptr;
  // Runs that were made or are to end, after that is durable; on the client's executor.
  std::function<void(const std::vector<std::string>& ids)> touched = {};
};

// Lives on the client's executor.
class WorkflowObjects {
 public:
  explicit WorkflowObjects(WorkflowOptions options);
  ~WorkflowObjects();
  void start();
  // The run has another state, or is gone.
  void changed(const std::string& id);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::api
