// The scheduler as a component: keeps the cluster state current from watches, runs a session when
// something has changed that one could act on, and sends the decisions out in batches without
// waiting.
//
// Lives on its client's executor: constructed anywhere, then start() and everything else there. All
// state can be rebuilt from the API: a restart lists everything and goes on. Until the watch
// confirms a binding the pod is held on its node (assumed), so no pod is bound twice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/result.h"
#include "base/rng.h"
#include "kube/client.h"
#include "kube/http.h"
#include "scheduler/session/configuration.h"

namespace hekla::scheduler {

struct Options {
  // Volcano's configuration file, used as it is; empty means that of `configuration_map`.
  std::string configuration;
  // Read again every `configuration_interval` (a file that may be edited). Wins over the map.
  std::function<Result<std::string>()> read_configuration;
  Nanos configuration_interval{1'000'000'000};
  // Watched; made with the Helm chart's default when it does not exist, and again when it is
  // deleted.
  kube::Key configuration_map{"volcano-system", "volcano-scheduler-configmap"};
  json::Object configuration_map_metadata;  // labels and annotations it is made with
  // A session runs at least this often while something is pending.
  Nanos period{1'000'000'000};
  // How long status that decides nothing (a pod came up) is collected before it is reported.
  Nanos report_delay{20'000'000};
  std::vector<std::string> scheduler_names{"volcano", "default-scheduler", "hekla"};
  // Pods of these need no PodGroup and are placed one by one.
  std::vector<std::string> single_pod_schedulers{"default-scheduler", "hekla"};
  std::string default_queue = "default";
  // How long the first session waits for kinds that only some plugins read.
  Nanos companion_wait{5'000'000'000};
  // Takes the lines of a record of everything the scheduler takes in (recording.h); may be empty.
  std::function<void(const std::string& line)> record;
  // Outgoing calls: node loads from a metrics store, extenders. Null: none are made.
  kube::Http* http = nullptr;
  Rng* rng = nullptr;  // session ids; the machine's if null
  // Writes the events, on its own executor: they tell of what has happened, and whoever waits for a
  // decision need not wait for them. Null: the scheduler's client. Must live longer.
  kube::Client* event_client = nullptr;
  // Holds a pod's condition back for so long, since most that wait are placed a moment later; and
  // whether events about many pods of a gang become one on the gang. For API servers to which every
  // write is a request.
  Nanos condition_delay{0};
  bool events_by_gang = false;
};

class Scheduler {
 public:
  // Fails on a configuration that cannot be read. `client` and `metrics` (may be null) must live
  // longer.
  static Result<std::unique_ptr<Scheduler>> create(Options options, kube::Client& client,
                                                   Metrics* metrics);
  struct State;
  explicit Scheduler(std::shared_ptr<State> state);
  ~Scheduler();

  void start();
  // An unreadable text changes nothing and says what is wrong with it.
  Result<void> set_configuration(std::string_view text);
  std::uint64_t sessions() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hekla::scheduler
