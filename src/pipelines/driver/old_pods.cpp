#include "pipelines/driver/old_pods.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/log.h"
#include "framework/pods.h"
#include "framework/writes.h"

namespace hekla::pipelines::driver {
namespace {

constexpr std::size_t kAtATime = 100;
constexpr const char* kRunLabel = "pipeline/runid";
using PodPtr = std::shared_ptr<const model::Pod>;

}  // namespace

struct OldPods::State : std::enable_shared_from_this<OldPods::State> {
  State(kube::Client& by, const kube::Informer<model::Pod>& all, KeepLog keeping,
        std::function<bool(const std::string&)> open)
      : client(by), pods(all), keep(std::move(keeping)), is_open(std::move(open)) {}

  std::vector<PodPtr> too_old() const {
    std::map<std::string, std::vector<PodPtr>> ended;  // by namespace
    pods.for_each([&](const PodPtr& pod) {
      if (framework::pod_finished(*pod) && !pod->metadata.deletionTimestamp &&
          !is_open(pod->metadata.labels.at(kRunLabel)))
        ended[pod->metadata.ns].push_back(pod);
    });
    std::vector<PodPtr> old;
    for (auto& [ns, all] : ended) {
      if (all.size() <= kKeptPods) continue;
      std::ranges::sort(all, [](const PodPtr& a, const PodPtr& b) {
        return a->metadata.creationTimestamp.at > b->metadata.creationTimestamp.at;
      });
      old.insert(old.end(), all.begin() + kKeptPods, all.end());
    }
    if (old.size() > kAtATime) old.resize(kAtATime);
    return old;
  }

  void look() {
    if (waiting > 0) return;
    const std::vector<PodPtr> old = too_old();
    waiting = old.size();
    for (const PodPtr& pod : old) {
      const kube::PodRef ref{pod->metadata.ns, pod->metadata.name, pod->metadata.uid};
      keep(pod->metadata.labels.at(kRunLabel), ref,
           [self = shared_from_this(), ref](Result<void> kept) {
             self->client.executor().post(
                 [self, ref, kept = std::move(kept)] { self->kept(ref, kept); });
           });
    }
  }

  void kept(const kube::PodRef& pod, const Result<void>& done) {
    --waiting;
    // A pod that never began has no log.
    if (!done && done.error().code == Code::unavailable)
      return log_error("pipelines", "a log is not kept: " + done.error().message,
                       {{"pod", pod.name}});
    client.write(framework::remove(kube::resources::pods, {pod.ns, pod.name}, pod.uid),
                 [](const kube::WriteResult&) {});
  }

  kube::Client& client;
  const kube::Informer<model::Pod>& pods;
  KeepLog keep;
  std::function<bool(const std::string&)> is_open;
  std::size_t waiting = 0;
};

OldPods::OldPods(kube::Client& client, const kube::Informer<model::Pod>& pods, KeepLog keep,
                 std::function<bool(const std::string& run)> is_open)
    : state_(std::make_shared<State>(client, pods, std::move(keep), std::move(is_open))) {}

void OldPods::look() { state_->look(); }

}  // namespace hekla::pipelines::driver
