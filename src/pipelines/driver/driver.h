// Runs pipelines: a reconciler of runs, on the records and a cluster's API.
//
// A round of a run looks at its pods, lets the engine say what follows, commits that, and only then
// makes or removes pods. Whatever is lost by a crash between two of these is done by the next
// round: names of pods follow from run, node and attempt, results lie in the object store.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "kube/authorizer.h"
#include "kube/client.h"
#include "pipelines/driver/launch_server.h"
#include "pipelines/driver/old_pods.h"
#include "pipelines/object_bytes.h"
#include "records/records.h"

namespace hekla::pipelines::driver {

struct DriverOptions {
  kube::Client* client = nullptr;
  records::Records* records = nullptr;
  ObjectBytes* objects = nullptr;
  LaunchServer* launches = nullptr;
  std::string launch_address;  // where pods find the launch server
  std::string token_key;       // tokens of attempts are derived from it
  std::string default_service_account = "pipeline-runner";
  // For steps that write objects.
  const kube::Discovery* discovery = nullptr;
  kube::Authorizer* authorizer = nullptr;
  // A run of a Workflow has other states now, and they are durable; on the client's executor.
  std::function<void(const std::string& id)> workflow_changed = {};
  // A run's state or its steps are others now; on the client's executor.
  std::function<void(const std::string& id)> changed = {};
  // Keeps the log of a step's pod that has ended. Without it no pod is removed.
  KeepLog keep_log = {};
};

// Lives on the client's executor.
class Driver {
 public:
  explicit Driver(DriverOptions options);
  ~Driver();
  void start();
  // Runs were made, changed or removed.
  void touched(const std::vector<std::string>& ids);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::pipelines::driver
