// HorizontalPodAutoscalers: every fifteen seconds, as many replicas as cpu and memory call for.
// What pods use comes from metrics.k8s.io, as everywhere.
#pragma once

#include "controllers/workload/autoscale.h"
#include "controllers/workload/caches.h"

namespace hekla::controllers {

class Autoscalers {
 public:
  explicit Autoscalers(WorkloadCaches& caches);
  void start() { scalers_.start(); }

 private:
  struct Work {
    ScaleHistory history;
    bool asking = false;
    std::optional<Result<PodUse>> answer;
    MonoTime next;  // the next look
  };

  kube::Round round(const kube::Key& key, WallTime now);
  void ask(const kube::Key& key, const std::string& selector);
  // The metrics of one scaler, taken together.
  struct Evaluation {
    json::Array measured;
    std::int64_t proposed = 0;
    std::string name, failure;
    std::size_t asked = 0, failed = 0;
  };
  class Conditions;
  static kube::EventTarget target_of_events(const Workload& scaler);
  // Why nobody can say which of several scalers has the pods; nothing if it is clear.
  std::string ambiguity(const Workload& scaler, const Workload& target) const;
  Evaluation evaluate(const Workload& scaler, const Workload& target, const Work& work,
                      WallTime now) const;
  std::optional<std::int64_t> wanted_replicas(const Workload& scaler, std::int64_t current,
                                              const Evaluation& found, Work& work,
                                              Conditions& conditions);
  kube::Round decide(const Workload& scaler, const Workload& target, const kube::Resource& resource,
                     Work& work, WallTime now);
  WorkloadRef target_of(const Workload& scaler, const kube::Resource*& resource) const;

  WorkloadCaches& caches_;
  kube::EventRecorder events_;
  kube::Informer<Workload> scalers_;
  std::map<kube::Key, Work> work_;
  kube::ReconcileLoop loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::controllers
