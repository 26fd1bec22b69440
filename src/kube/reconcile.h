// The reconciler runtime. A reconciler is a function of a key, the cached objects and the time; it
// returns writes and when to look again. The runtime carries the writes out as one batch, keeps one
// round per key in flight, lays the results over the caches before the next round, and backs off on
// errors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/client.h"

namespace hekla::kube {

class CacheSet;  // kube/cache_set.h

struct Round {
  std::vector<Write> writes;
  // Look at the key again after this time even if nothing changes.
  std::optional<Nanos> again_after;
  // Called with one result per write, before overlays are visible to the next round. When absent,
  // the first error other than not_found on remove and already_exists on create makes the round
  // fail.
  std::function<Result<void>(const std::vector<WriteResult>&)> settle;
  // A round that could not even be computed (a queue is missing): retried with back-off.
  std::optional<Error> error;
};

struct ReconcileOptions {
  std::string name;                   // for logs and metrics
  Nanos retry_base{5'000'000};        // 5 ms, doubled for each failure in a row
  Nanos retry_limit{30'000'000'000};  // at most 30 s
  int max_rounds_in_flight = 64;
  // Called after `failures` failed rounds in a row of one key (Volcano gives up after 15).
  std::function<void(const Key&, int failures, const Error&)> on_failure;
};

// Lives on the client's executor.
class ReconcileLoop {
 public:
  using Reconcile = std::function<Round(const Key&, WallTime now)>;
  // Shows a written object to whichever cache holds its resource.
  using Overlay = std::function<void(const Write&, const ObjectPtr&)>;

  ReconcileLoop(Client& client, ReconcileOptions options, Reconcile reconcile, Overlay overlay);
  // Its writes are shown to the set's caches, which outlive it.
  ReconcileLoop(CacheSet& caches, ReconcileOptions options, Reconcile reconcile);
  ~ReconcileLoop();

  // Marks the key dirty; rounds run from posted tasks, never inside add().
  void add(const Key& key);
  void add_after(const Key& key, Nanos delay);
  // Until enabled (caches have synced) keys only collect.
  void enable();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::kube
