// JobFlow: jobs made from templates in the order their dependencies allow. Also keeps the list of
// jobs that came from each JobTemplate.
#pragma once

#include <map>

#include "controllers/flow/pod_probe.h"
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
  // Which of the two controllers run.
  struct Parts {
    bool flows = true, templates = true;
  };
  FlowController(kube::Client& client, Caches& caches, kube::EventRecorder& events, Parts parts);
  // Until it is told who runs the pods, http and tcp probes are refused by an event.
  void set_pod_streams(kube::PodStreams* streams) { streams_ = streams; }
  void start();
  // For those who count them; before start().
  kube::Informer<model::JobFlow>& flows() { return flows_; }
  // The shared caches have synced.
  void enable();

 private:
  using JobRef = std::shared_ptr<const model::VcJob>;

  kube::Round reconcile_flow(const kube::Key& key);
  kube::Round reconcile_template(const kube::Key& key);
  bool may_start(const model::JobFlow& flow, const model::Flow& entry);
  bool probes_passed(const model::JobFlow& flow, const model::Flow& entry);
  std::optional<std::vector<PodProbe>> probes_of(const model::JobFlow& flow,
                                                 const model::Flow& entry) const;
  JobRef job_of(const model::JobFlow& flow, const std::string& entry) const;
  void create_jobs(const model::JobFlow& flow, kube::Round& round);
  void job_changed(const JobRef& before, const JobRef& after);
  void record(const model::JobFlow& flow, const char* type, const char* reason,
              const std::string& message);
  void try_enable();

  const Parts parts_;
  Caches& caches_;
  kube::EventRecorder& events_;
  kube::Informer<model::JobFlow> flows_;
  kube::Informer<model::JobTemplate> templates_;
  bool caches_ready_ = false;
  kube::PodStreams* streams_ = nullptr;
  Executor& executor_;
  // Whether an entry's probes have passed, and whether they are being carried out, by the flow's
  // uid and the entry's name.
  struct Probing {
    bool passed = false, under_way = false;
  };
  std::map<std::pair<std::string, std::string>, Probing> probings_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for answers that come too late
  kube::ReconcileLoop flow_loop_, template_loop_;
};

}  // namespace hekla::controllers
