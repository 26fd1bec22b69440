// JobFlow: jobs made from templates in the order their dependencies allow. Also keeps the list of
// jobs that came from each JobTemplate.
#pragma once

#include <map>
#include <optional>

#include "controllers/volcano/caches.h"
#include "controllers/volcano/flow/pod_probe.h"
#include "framework/kind_controller.h"
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
  FlowController(Caches& caches, Parts parts);
  // Until it is told who runs the pods, http and tcp probes are refused by an event.
  void set_pod_streams(kube::PodStreams* streams) { streams_ = streams; }

 private:
  using JobRef = std::shared_ptr<const model::VcJob>;
  // One look at a flow.
  struct FlowLook {
    const AnyObject& flow;
    model::JobFlowSpec spec;
    const View& view;
    Outcome outcome;
  };

  KindDescription flow_kind();
  KindDescription template_kind();
  Result<Outcome> reconcile_flow(const AnyObject& flow, const View& view);
  void create_jobs(FlowLook& look);
  bool may_start(FlowLook& look, const model::Flow& entry);
  bool probes_passed(FlowLook& look, const model::Flow& entry);
  std::optional<std::vector<PodProbe>> probes_of(FlowLook& look, const model::Flow& entry) const;
  JobRef job_of(const FlowLook& look, const std::string& entry) const;

  Caches& caches_;
  kube::PodStreams* streams_ = nullptr;
  Executor& executor_;
  // Whether an entry's probes have passed, and whether they are being carried out, by the flow's
  // uid and the entry's name.
  struct Probing {
    bool passed = false, under_way = false;
  };
  std::map<std::pair<std::string, std::string>, Probing> probings_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for answers that come too late
  std::optional<KindController> flows_, templates_;
};

}  // namespace hekla::controllers
