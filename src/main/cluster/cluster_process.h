// The surroundings of components that run against somebody's cluster: clients of its API
// server, /healthz, /readyz and /metrics, leader election, and an orderly end.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "cli/component_options.h"
#include "cli/end_signal.h"
#include "kube/leader_election.h"
#include "kube/rest_client.h"
#include "net/server.h"

namespace hekla {

// Says what is wrong; the exit code for it.
int complain_of(const Error& error);

// Made and used on the main thread; the component it carries lives on its loop.
class ClusterProcess {
 public:
  // `component` is the name it writes under.
  ClusterProcess(const cli::ComponentOptions& options, std::string component);
  ~ClusterProcess();

  // Connects and serves health and metrics.
  Result<void> open();
  // After open().
  kube::Client& client() { return *client_; }
  // A further client, for another loop; all of them share what they know of the server's load.
  Result<std::unique_ptr<kube::Client>> make_client(Executor& executor, kube::Identity identity);
  const kube::ClusterAccess& access() const { return access_; }
  Metrics* metrics() { return &metrics_; }
  Loop& loop() { return loop_; }
  // Makes /readyz say what `ready` does, which is asked on net threads; without this call the
  // process is ready as soon as it serves.
  void ready_when(std::function<bool()> ready);

  struct Work {
    // On the loop, once this process leads if it takes part in an election.
    std::function<void()> start;
    // On the main thread at the end, before others may take over: from here on nothing is written.
    std::function<void()> stop = {};
    // Time in which the process goes on serving after that, for callers that still look for it.
    Nanos linger{0};
  };
  // Blocks until a signal or the loss of the lease. Afterwards the loop has stopped. Returns the
  // exit code.
  int run(bool with_election, Work work);

 private:
  using Page = std::function<net::Response()>;
  Result<void> serve(const std::string& address, std::map<std::string, Page> pages);
  net::Response readiness() const;
  Result<void> elect(std::function<void()> start);
  void release_lease();
  void lose(const std::string& reason);

  const cli::ComponentOptions& options_;
  const std::string component_;
  cli::EndSignal end_;  // before any thread is made
  Metrics metrics_;
  Loop loop_;
  kube::ClusterAccess access_;
  std::shared_ptr<kube::Flow> flow_ = kube::make_flow(real_clock(), &metrics_);
  std::unique_ptr<kube::Client> client_;
  std::vector<std::unique_ptr<net::Server>> servers_;
  std::unique_ptr<kube::LeaderElection> election_;
  mutable std::mutex ready_mutex_;
  std::function<bool()> ready_;
  std::atomic<bool> ending_ = false;
  std::string lost_;  // why the lease was lost; written before the signal that ends run()
};

}  // namespace hekla
