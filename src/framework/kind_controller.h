// The runtime of described kinds, on kube::ReconcileLoop and kube::CacheSet.
//
// A round: claim children, call reconcile, compare the wanted children with the live ones, send the
// difference as one batch, lay the results over the caches, say the events.
//   - A wanted child that is missing is made; one that terminates is waited for.
//   - Care::apply: applied when the hash of the wanted body (annotation hekla.io/wanted-hash)
//     differs, or when a wanted member is missing or different in the live object.
//   - A child whose name something else controls is left alone: `taken` is said, the round fails
//     and is tried again.
//   - A child that the server says exists already, but that the cache does not show, fails the
//     round without an event: the next one sees it.
//   - Removals carry the uid that was seen. A failed member of a batch fails the round; the others
//     have happened.
// A described object that is gone is forgotten.
#pragma once

#include <memory>

#include "framework/kind_description.h"
#include "kube/cache_set.h"

namespace hekla::framework {

// Lives on the set's client's executor. Made before caches.start(); rounds begin when the set has
// synced. Destroying it with calls in flight is safe; the caches outlive it.
class KindController {
 public:
  KindController(kube::CacheSet& caches, KindDescription description);
  ~KindController();
  KindController(const KindController&) = delete;
  KindController& operator=(const KindController&) = delete;

  const KindDescription& description() const;
  // For answers from outside the API (a probe, an HTTP call).
  Wake wake() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace hekla::framework
