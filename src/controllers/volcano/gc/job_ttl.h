// Removes jobs some time after they have finished (spec.ttlSecondsAfterFinished). Aborted jobs
// stay: they can be resumed.
#pragma once

#include "controllers/volcano/caches.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

// When the job is due for removal; nullopt when it is not finished or has no time to live.
std::optional<WallTime> expiry_of(const model::VcJob& job);

// Lives on the client's executor.
class JobTtlController {
 public:
  explicit JobTtlController(Caches& caches);
  void enable() { loop_.enable(); }

 private:
  kube::Round reconcile(const kube::Key& key, WallTime now);

  Caches& caches_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
