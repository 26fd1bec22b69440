// Jobs on a schedule (batch.volcano.sh CronJob), after Kubernetes' CronJob: the most recent time
// that has passed without its job makes one, unless it is too late, or a job is still running and
// must not be joined.
#pragma once

#include "controllers/framework/caches.h"
#include "kube/events.h"
#include "kube/reconcile.h"
#include "model/cron.h"
#include "model/job_makers.h"

namespace hekla::controllers {

// Lives on the client's executor.
class CronController {
 public:
  CronController(kube::Client& client, Caches& caches, kube::EventRecorder& events);
  void start() { crons_.start(); }
  // The shared caches have synced.
  void enable();

 private:
  using JobRef = std::shared_ptr<const model::VcJob>;
  struct Turn;  // one round of one cron job

  kube::Round reconcile(const kube::Key& key, WallTime now);
  void sort_children(Turn& turn);
  void trim_history(Turn& turn);
  // Nothing, and an event, when it cannot be read.
  std::optional<model::CronSchedule> read_schedule(const model::VcCronJob& cron);
  void start_due(Turn& turn);
  void make_job(Turn& turn, WallTime scheduled, const std::string& zone);
  void write_status(Turn& turn);
  // Tells what became of a write to a job.
  void report(const model::VcCronJob& cron, const kube::Write& write,
              const kube::WriteResult& result);
  void record(const model::VcCronJob& cron, const char* type, const char* reason,
              const std::string& message);
  void try_enable();

  Caches& caches_;
  kube::EventRecorder& events_;
  kube::Informer<model::VcCronJob> crons_;
  bool caches_ready_ = false;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
