// The embedded platform: store, API server, scheduler, controllers and agent, each on its own loop,
// wired to each other only through kube::Client.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/client.h"

namespace hekla {

namespace cli {
struct UpOptions;
}

class Platform {
  struct Parts;
  struct Private {};

 public:
  // Everything is up and serving when this returns. Errors name what failed and what to do.
  static Result<std::unique_ptr<Platform>> start(const cli::UpOptions& options);
  Platform(Private, std::unique_ptr<Parts> parts);
  // Calls stop().
  ~Platform();

  // Ends pods gracefully, or leaves them to the next start, then every component; afterwards
  // nothing else of it runs. Once is enough.
  void stop(bool keep_pods = false);
  // From any thread while stop() is under way: pods get no more time to end.
  void hurry();

  // A client in the process; the platform must outlive it.
  std::unique_ptr<kube::Client> client(Executor& executor, kube::Identity identity);
  const std::string& url() const;
  const std::string& kubeconfig() const;
  // "node vm (2 cpu, 23 GiB)", "1000 fake nodes": for the line that says it is ready.
  const std::string& nodes() const;
  // Where the dashboard is; empty: nowhere.
  std::string web_url() const;
  // Of the object store; empty where there is none.
  std::string objects_url() const;

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla
