// JobFlow: jobs made from templates in the order their dependencies allow. Also keeps the list of
// jobs that came from each JobTemplate.
#pragma once

#include "controllers/framework/caches.h"
#include "kube/events.h"
#include "kube/reconcile.h"
#include "model/job_makers.h"

namespace hekla::controllers {

// The job's spec: the template's with the flow's patch merged in. Tasks are merged by name.
json::Value patched_job_spec(const json::Value& from, const json::Value& patch);

// Lives on the client's executor.
class FlowController {
 public:
  FlowController(kube::Client& client, Caches& caches, kube::EventRecorder& events);
  void start();
  // The shared caches have synced.
  void enable();

 private:
  using JobRef = std::shared_ptr<const model::VcJob>;

  kube::Round reconcile_flow(const kube::Key& key);
  kube::Round reconcile_template(const kube::Key& key);
  bool may_start(const model::JobFlow& flow, const model::Flow& entry);
  JobRef job_of(const model::JobFlow& flow, const std::string& entry) const;
  void create_jobs(const model::JobFlow& flow, kube::Round& round);
  void job_changed(const JobRef& before, const JobRef& after);
  void record(const model::JobFlow& flow, const char* type, const char* reason,
              const std::string& message);
  void try_enable();

  Caches& caches_;
  kube::EventRecorder& events_;
  kube::Informer<model::JobFlow> flows_;
  kube::Informer<model::JobTemplate> templates_;
  bool caches_ready_ = false;
  kube::ReconcileLoop flow_loop_, template_loop_;
};

}  // namespace hekla::controllers
