// The kinds of the workbench as one component, on shared caches: Notebook and every other one that
// is described in controllers/workbench/kinds.
#pragma once

#include <memory>

#include "controllers/workbench/workbench_kind.h"
#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor: constructed, started and destroyed there, or while it does not
// run.
class WorkbenchControllers {
 public:
  WorkbenchControllers(kube::Client& client, const workbench::WorkbenchOptions& options);
  ~WorkbenchControllers();

  void start();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::controllers
