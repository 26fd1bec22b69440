// The training kinds as one component, on shared caches: TFJob, PyTorchJob, MPIJob and every other
// one that is described in controllers/training/kinds, TrainJob and JobSet.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/metrics.h"
#include "controllers/training/options.h"
#include "kube/client.h"

namespace hekla::controllers {

// Lives on the client's executor: constructed, started and destroyed there, or while it does not
// run.
class TrainingControllers {
 public:
  struct Options {
    training::Options jobs = {};
    // Kinds ("TFJob"), in any case, that run; empty: all.
    std::set<std::string> kinds = {};
  };
  // `metrics` may be null. The client should act as "training-operator".
  TrainingControllers(kube::Client& client, Options options, Metrics* metrics);
  ~TrainingControllers();

  void start();
  // Every cache has its first list and rounds are running.
  bool synced() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla::controllers
