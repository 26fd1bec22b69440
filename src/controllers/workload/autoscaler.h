// HorizontalPodAutoscalers: every fifteen seconds, as many replicas as cpu and memory call for.
// What pods use comes from metrics.k8s.io, as everywhere.
#pragma once

#include "controllers/workload/autoscale.h"
#include "controllers/workload/objects.h"
#include "kube/cache_set.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

class Autoscalers {
 public:
  explicit Autoscalers(kube::CacheSet& caches);

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
  static kube::EventTarget target_of_events(const AnyObject& scaler);
  // Why nobody can say which of several scalers has the pods; nothing if it is clear.
  std::string ambiguity(const AnyObject& scaler, const AnyObject& target) const;
  Evaluation evaluate(const AnyObject& scaler, const AnyObject& target, const Work& work,
                      WallTime now) const;
  std::optional<std::int64_t> wanted_replicas(const AnyObject& scaler, std::int64_t current,
                                              const Evaluation& found, Work& work,
                                              Conditions& conditions);
  kube::Round decide(const AnyObject& scaler, const AnyObject& target,
                     const kube::Resource& resource, Work& work, WallTime now);
  AnyRef target_of(const AnyObject& scaler, const kube::Resource*& resource) const;

  kube::CacheSet& caches_;
  kube::EventRecorder events_;
  kube::Informer<model::Pod>& pods_;
  kube::Informer<AnyObject>&scalers_, &deployments_, &replica_sets_, &stateful_sets_;
  std::map<kube::Key, Work> work_;
  kube::ReconcileLoop loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hekla::controllers
