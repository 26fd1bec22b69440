#include "controllers/workload/autoscaler.h"

#include <algorithm>
#include <set>

#include "model/time.h"

namespace hekla::controllers {
namespace {

const kube::Resource kScalers{"autoscaling", "v2", "horizontalpodautoscalers",
                              "HorizontalPodAutoscaler", true};
const kube::Resource kPodMetrics{"metrics.k8s.io", "v1beta1", "pods", "PodMetrics", true};
constexpr Nanos kPeriod = std::chrono::seconds(15);

struct ContainerMetrics {
  std::string name;
  model::ResourceList usage;
};
BOOST_DESCRIBE_STRUCT(ContainerMetrics, (), (name, usage))
struct PodMetrics {
  model::ObjectMeta metadata;
  std::vector<ContainerMetrics> containers;
};
BOOST_DESCRIBE_STRUCT(PodMetrics, (), (metadata, containers))

PodUse read_use(const kube::List& list) {
  PodUse use;
  for (const kube::ObjectPtr& item : list.items)
    if (Result<PodMetrics> metrics = json::decode_text<PodMetrics>(*item->json))
      for (ContainerMetrics& container : metrics->containers)
        use[metrics->metadata.name][container.name] = std::move(container.usage);
  return use;
}

}  // namespace

// status.conditions on their way to the next state.
class Autoscalers::Conditions {
 public:
  Conditions(const AnyObject& scaler, WallTime now) : list_(conditions_of(scaler)), now_(now) {}
  void set(std::string_view type, bool value, std::string_view reason, const std::string& message) {
    json::Object made{{"type", type},
                      {"status", value ? "True" : "False"},
                      {"lastTransitionTime", model::format_rfc3339(now_)},
                      {"reason", reason},
                      {"message", message}};
    for (json::Value& one : list_) {
      if (json::string_at(one, {"type"}) != type) continue;
      if (json::string_at(one, {"status"}) == json::sv(made["status"].get_string()))
        made["lastTransitionTime"] = json::string_at(one, {"lastTransitionTime"});
      one = std::move(made);
      return;
    }
    list_.push_back(std::move(made));
  }
  json::Array take() { return std::move(list_); }

 private:
  json::Array list_;
  WallTime now_;
};

kube::EventTarget Autoscalers::target_of_events(const AnyObject& scaler) {
  return {kScalers.api_version(), kScalers.kind, scaler.metadata.ns, scaler.metadata.name,
          scaler.metadata.uid};
}

Autoscalers::Autoscalers(kube::CacheSet& caches)
    : caches_(caches),
      events_(caches.client(), "horizontal-pod-autoscaler"),
      pods_(caches.of<model::Pod>(kube::resources::pods)),
      scalers_(caches.of<AnyObject>(kScalers)),
      deployments_(caches.of<AnyObject>(kube::resources::deployments)),
      replica_sets_(caches.of<AnyObject>(kube::resources::replica_sets)),
      stateful_sets_(caches.of<AnyObject>(kube::resources::stateful_sets)),
      loop_(caches, {.name = "horizontal-pod-autoscaler"},
            [this](const kube::Key& key, WallTime now) { return round(key, now); }) {
  scalers_.on_change([this](const AnyRef& before, const AnyRef& after) {
    if (before && after && before->metadata.generation == after->metadata.generation &&
        json::equal(before->spec, after->spec))
      return;  // our own status
    kube::Key key = key_of((after ? after : before)->metadata);
    work_[key].next = MonoTime{};
    loop_.add(key);
  });
  caches_.on_synced([this] { loop_.enable(); });
}

AnyRef Autoscalers::target_of(const AnyObject& scaler, const kube::Resource*& resource) const {
  std::string_view kind = json::string_at(scaler.spec, {"scaleTargetRef", "kind"});
  kube::Key key{scaler.metadata.ns,
                std::string(json::string_at(scaler.spec, {"scaleTargetRef", "name"}))};
  for (const kube::Informer<AnyObject>* informer : {&deployments_, &replica_sets_, &stateful_sets_})
    if (informer->resource().kind == kind) {
      resource = &informer->resource();
      return informer->get(key);
    }
  return nullptr;
}

void Autoscalers::ask(const kube::Key& key, const std::string& selector) {
  work_[key].asking = true;
  caches_.client().list(kPodMetrics, {key.ns, selector, {}},
                        [this, key, alive = std::weak_ptr<bool>(alive_)](Result<kube::List> list) {
                          if (alive.expired()) return;
                          auto found = work_.find(key);
                          if (found == work_.end()) return;
                          found->second.asking = false;
                          if (list)
                            found->second.answer = read_use(*list);
                          else
                            found->second.answer = std::unexpected(list.error());
                          loop_.add(key);
                        });
}

kube::Round Autoscalers::round(const kube::Key& key, WallTime now) {
  kube::Round round;
  AnyRef scaler = scalers_.get(key);
  if (!scaler || scaler->metadata.deletionTimestamp) {
    work_.erase(key);
    return round;
  }
  Work& work = work_[key];
  MonoTime clock = caches_.client().executor().clock().mono();
  if (work.asking) return round;
  if (!work.answer && clock < work.next) {
    round.again_after = work.next - clock;
    return round;
  }
  const kube::Resource* resource = nullptr;
  AnyRef target = target_of(*scaler, resource);
  if (!target) {
    work.next = clock + kPeriod;
    round.again_after = kPeriod;
    std::string kind(json::string_at(scaler->spec, {"scaleTargetRef", "kind"}));
    std::string why =
        resource ? resource->plural + "." + resource->group + " \"" +
                       std::string(json::string_at(scaler->spec, {"scaleTargetRef", "name"})) +
                       "\" not found"
                 : "no scale is known of kind \"" + kind + "\"";
    events_.record(target_of_events(*scaler), "Warning", "FailedGetScale", why);
    Conditions conditions(*scaler, now);
    conditions.set("AbleToScale", false, "FailedGetScale",
                   "the HPA controller was unable to get the target's current scale: " + why);
    json::Object status = scaler->status.is_object() ? scaler->status.get_object() : json::Object{};
    status["conditions"] = conditions.take();
    if (auto write = status_write(kScalers, key, scaler->status, status))
      round.writes.push_back(std::move(*write));
    return round;
  }
  if (!work.answer) {
    std::optional<model::Selector> selector = spec_selector(*target);
    ask(key, selector ? selector->text() : "");
    return round;
  }
  round = decide(*scaler, *target, *resource, work, now);
  work.answer.reset();
  work.next = clock + kPeriod;
  round.again_after = kPeriod;
  return round;
}

std::string Autoscalers::ambiguity(const AnyObject& scaler, const AnyObject& target) const {
  std::optional<model::Selector> selector = spec_selector(target);
  if (!selector) return "";
  std::vector<PodRef> pods = pods_.in_namespace(scaler.metadata.ns);
  std::erase_if(pods, [&](const PodRef& pod) { return !selector->matches(pod->metadata.labels); });
  std::set<std::string> names;
  for (const AnyRef& other : scalers_.in_namespace(scaler.metadata.ns)) {
    const kube::Resource* resource = nullptr;
    AnyRef scaled = target_of(*other, resource);
    std::optional<model::Selector> selects = scaled ? spec_selector(*scaled) : std::nullopt;
    if (selects && std::any_of(pods.begin(), pods.end(), [&](const PodRef& pod) {
          return selects->matches(pod->metadata.labels);
        }))
      names.insert(other->metadata.ns + "/" + other->metadata.name);
  }
  if (names.size() < 2) return "";
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : " ") + name;
  return "pods by selector " + selector->text() + " are controlled by multiple HPAs: [" + list +
         "]";
}

Autoscalers::Evaluation Autoscalers::evaluate(const AnyObject& scaler, const AnyObject& target,
                                              const Work& work, WallTime now) const {
  Evaluation found;
  std::vector<PodRef> pods;
  if (std::optional<model::Selector> selector = spec_selector(target))
    for (PodRef& pod : pods_.in_namespace(scaler.metadata.ns))
      if (selector->matches(pod->metadata.labels)) pods.push_back(std::move(pod));
  const json::Array* metrics = json::array_at(scaler.spec, {"metrics"});
  for (std::size_t i = 0; metrics && i < metrics->size(); ++i) {
    Result<MetricProposal> one =
        *work.answer
            ? evaluate_metric((*metrics)[i], replicas_of(target), pods, **work.answer, now)
            : Result<MetricProposal>(fail(
                  work.answer->error().code,
                  "unable to get metrics: unable to fetch metrics from resource metrics API: " +
                      work.answer->error().message));
    ++found.asked;
    if (!one) {
      ++found.failed;
      if (found.failure.empty()) found.failure = one.error().message;
      continue;
    }
    found.measured.push_back(std::move(one->current));
    if (found.measured.size() > 1 && one->replicas <= found.proposed) continue;
    found.proposed = one->replicas;
    found.name = one->name;
  }
  return found;
}

// What the metrics call for, as far as the limits allow; nothing if they cannot be had.
std::optional<std::int64_t> Autoscalers::wanted_replicas(const AnyObject& scaler,
                                                         std::int64_t current,
                                                         const Evaluation& found, Work& work,
                                                         Conditions& conditions) {
  kube::EventTarget about = target_of_events(scaler);
  if (found.failed > 0) {
    events_.record(about, "Warning", "FailedGetResourceMetric", found.failure);
    events_.record(about, "Warning", "FailedComputeMetricsReplicas",
                   "invalid metrics (" + std::to_string(found.failed) + " invalid out of " +
                       std::to_string(found.asked) +
                       "), first error is: failed to get resource metric value: " + found.failure);
  }
  // A metric that is missing might have asked for more: without it nothing is taken away.
  if (found.measured.empty() || (found.failed > 0 && found.proposed <= current)) {
    conditions.set("ScalingActive", false, "FailedGetResourceMetric",
                   "the HPA was unable to compute the replica count: " +
                       (found.failure.empty() ? "no metrics are given" : found.failure));
    return std::nullopt;
  }
  conditions.set("ScalingActive", true, "ValidMetricFound",
                 "the HPA was able to successfully calculate a replica count from " + found.name);
  ScaleDecision decision = limit_scale(scaler.spec, current, found.proposed, work.history,
                                       caches_.client().executor().clock().mono());
  if (decision.stabilized)
    conditions.set(
        "AbleToScale", true, "ScaleDownStabilized",
        "recent recommendations were higher than current one, applying the highest recent "
        "recommendation");
  else
    conditions.set("AbleToScale", true, "ReadyForNewScale",
                   "recommended size matches current size");
  conditions.set("ScalingLimited", decision.limit_reason != "DesiredWithinRange",
                 decision.limit_reason, decision.limit_message);
  return decision.replicas;
}

kube::Round Autoscalers::decide(const AnyObject& scaler, const AnyObject& target,
                                const kube::Resource& resource, Work& work, WallTime now) {
  kube::Round round;
  const std::int64_t current = replicas_of(target);
  const std::int64_t least = json::int_at(scaler.spec, {"minReplicas"}, 1);
  const std::int64_t most = json::int_at(scaler.spec, {"maxReplicas"}, least);
  Conditions conditions(scaler, now);
  conditions.set("AbleToScale", true, "SucceededGetScale",
                 "the HPA controller was able to get the target's current scale");
  json::Object status{{"currentReplicas", json::int_at(target.status, {"replicas"})}};
  if (const json::Value* last = json::find(scaler.status, "lastScaleTime"))
    status["lastScaleTime"] = *last;

  Evaluation found;
  std::int64_t desired = current;
  bool computed = true;  // else the status goes on saying what was wanted last
  std::string reason;
  if (current == 0) {
    conditions.set("ScalingActive", false, "ScalingDisabled",
                   "scaling is disabled since the replica count of the target is zero");
  } else if (current > most) {
    desired = most;
    reason = "Current number of replicas above Spec.MaxReplicas";
  } else if (current < least) {
    desired = least;
    reason = "Current number of replicas below Spec.MinReplicas";
  } else if (std::string why = ambiguity(scaler, target); !why.empty()) {
    kube::EventTarget about = target_of_events(scaler);
    events_.record(about, "Warning", "AmbiguousSelector", why);
    events_.record(about, "Warning", "FailedComputeMetricsReplicas", why);
    conditions.set("ScalingActive", false, "AmbiguousSelector", why);
    computed = false;
  } else {
    found = evaluate(scaler, target, work, now);
    std::optional<std::int64_t> wanted = wanted_replicas(scaler, current, found, work, conditions);
    computed = wanted.has_value();
    desired = wanted.value_or(current);
    reason = desired > current ? found.name + " above target" : "All metrics below target";
  }
  if (desired != current) {
    const std::string count = std::to_string(desired);
    conditions.set("AbleToScale", true, "SucceededRescale",
                   "the HPA controller was able to update the target scale to " + count);
    status["lastScaleTime"] = model::format_rfc3339(now);
    round.writes.push_back(merge_patch(resource, key_of(target.metadata),
                                       json::Object{{"spec", json::Object{{"replicas", desired}}}},
                                       "scale"));
    events_.record(target_of_events(scaler), "Normal", "SuccessfulRescale",
                   "New size: " + count + "; reason: " + reason);
    work.history.changes.push_back({caches_.client().executor().clock().mono(), desired - current});
  }
  status["desiredReplicas"] = computed ? desired : json::int_at(scaler.status, {"desiredReplicas"});
  if (!found.measured.empty()) status["currentMetrics"] = std::move(found.measured);
  status["conditions"] = conditions.take();
  if (auto write = status_write(kScalers, key_of(scaler.metadata), scaler.status, status))
    round.writes.push_back(std::move(*write));
  return round;
}

}  // namespace hekla::controllers
