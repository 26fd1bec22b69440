// The frame of a process that works on somebody's cluster: a client, health, metrics, leader
// election, and an orderly end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "cli/component_options.h"
#include "cli/end_signal.h"
#include "kube/leader_election.h"
#include "net/server.h"

namespace hekla {

// Made and used on the main thread; the component it carries lives on its loop.
class ClusterProcess {
 public:
  // `component` is the name it writes under.
  ClusterProcess(const cli::ComponentOptions& options, std::string component);
  ~ClusterProcess();

  // Connects and serves health and metrics.
  Result<void> open();
  kube::Client& client() { return *client_; }
  Metrics* metrics() { return &metrics_; }
  Loop& loop() { return loop_; }

  // Runs `start` on the loop, once this process leads if it takes part in an election, and blocks
  // until a signal or the loss of the lease. Afterwards the loop has stopped. Returns the exit
  // code.
  int run(bool with_election, std::function<void()> start);

 private:
  Result<void> serve(const std::string& address, const std::string& path,
                     std::function<std::string()> text);
  Result<void> elect(std::function<void()> start);
  void lose(const std::string& reason);

  const cli::ComponentOptions& options_;
  const std::string component_;
  cli::EndSignal end_;  // before any thread is made
  Metrics metrics_;
  Loop loop_;
  std::unique_ptr<kube::Client> client_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::unique_ptr<kube::LeaderElection> election_;
  std::string lost_;  // why the lease was lost; written before the signal that ends run()
};

}  // namespace hekla
