#include "agent/fake_nodes.h"

#include <functional>
#include <unordered_map>

#include "agent/fake/fake_pod.h"
#include "base/log.h"
#include "kube/informer.h"
#include "model/core.h"
#include "model/in_process.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

constexpr Nanos kRetry = std::chrono::milliseconds(200);
constexpr Nanos kRestartPause = std::chrono::seconds(1);
constexpr std::string_view kPrefix = "fake-";
constexpr const char* kFakeLabel = "hekla.io/fake-node";
constexpr std::string_view kHostIp = "10.127.0.1";

json::Value node_object(const std::string& name, const model::ResourceList& resources,
                        WallTime now) {
  std::string stamp = model::format_rfc3339(now);
  json::Value list = json::encode(resources);
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", json::Object{{"name", name},
                                {"labels", json::Object{{"kubernetes.io/hostname", name},
                                                        {"kubernetes.io/os", "linux"},
                                                        {"kubernetes.io/arch", "amd64"},
                                                        {"type", "fake"},
                                                        {kFakeLabel, "true"}}}}},
      {"spec", json::Object{}},
      {"status",
       json::Object{
           {"capacity", list},
           {"allocatable", list},
           {"addresses", json::Array{json::Object{{"type", "InternalIP"}, {"address", kHostIp}},
                                     json::Object{{"type", "Hostname"}, {"address", name}}}},
           {"conditions", json::Array{json::Object{{"type", "Ready"},
                                                   {"status", "True"},
                                                   {"reason", "FakeNodeReady"},
                                                   {"message", "this node is played by hekla"},
                                                   {"lastHeartbeatTime", stamp},
                                                   {"lastTransitionTime", stamp}}}},
           {"nodeInfo", json::Object{{"architecture", "amd64"},
                                     {"operatingSystem", "linux"},
                                     {"osImage", "none"},
                                     {"kernelVersion", "none"},
                                     {"kubeletVersion", "v1.34.1+hekla-fake"},
                                     {"kubeProxyVersion", ""},
                                     {"containerRuntimeVersion", "fake://1"},
                                     {"bootID", ""},
                                     {"machineID", ""},
                                     {"systemUUID", ""}}}}}};
}

bool is_played(const std::shared_ptr<const model::Node>& node) {
  return node && !node->metadata.label(kFakeLabel).empty();
}

}  // namespace

std::string fake_node_name(int index) { return std::string(kPrefix) + std::to_string(index); }

struct FakeNodes::State : std::enable_shared_from_this<State> {
  using PodRef = std::shared_ptr<const model::Pod>;

  FakeNodesOptions options;
  kube::Client& client;
  kube::Informer<model::Node> nodes;
  kube::Informer<model::Pod> pods;
  bool knows_nodes = false;
  std::uint32_t addresses = 0;

  // Writes made for each pod (by uid), not to be made again.
  struct Progress {
    bool started = false, ending = false;
    std::int32_t timer_for_restart = -1;
  };
  std::unordered_map<std::string, Progress> progress;
  std::vector<kube::Write> outgoing;
  // The pod and purpose of an outgoing write, should it have to be made once more.
  struct Purpose {
    kube::Key key;
    std::string uid;
    std::optional<int> exit_code;  // of a pod that has ended; none: it started or was removed
  };
  std::vector<Purpose> purposes;

  State(FakeNodesOptions o, kube::Client& c)
      : options(std::move(o)),
        client(c),
        nodes(c, kube::resources::nodes),
        pods(c, kube::resources::pods) {}

  bool is_mine(const model::Pod& pod) const {
    return !pod.spec.nodeName.empty() && !pod.metadata.annotations.contains(model::kInProcess) &&
           is_played(nodes.get({"", pod.spec.nodeName}));
  }

  void start() {
    nodes.on_change([this](const auto& before, const auto& after) {
      if (is_played(after) && !is_played(before)) look_at_pods_of(after->metadata.name);
    });
    // Pods are looked at when the nodes are known: whose pod it is follows from its node.
    nodes.on_settled([this] {
      if (!knows_nodes && nodes.synced()) pods.start();
      knows_nodes = nodes.synced();
      send();
    });
    pods.on_change([this](const PodRef& before, const PodRef& after) {
      if (after)
        look_at(*after);
      else
        progress.erase(before->metadata.uid);
    });
    pods.on_settled([this] { send(); });
    nodes.start();
    register_nodes();
  }

  void look_at_pods_of(const std::string& node) {
    pods.for_each([&](const PodRef& pod) {
      if (pod->spec.nodeName == node) look_at(*pod);
    });
  }

  void register_nodes() {
    std::vector<kube::Write> writes;
    WallTime now = client.executor().clock().wall();
    for (int i = 0; i < options.count; ++i) {
      kube::Write write;
      write.resource = kube::resources::nodes;
      write.key.name = fake_node_name(i);
      write.body = node_object(write.key.name, options.resources, now);
      writes.push_back(std::move(write));
    }
    auto sent = std::make_shared<std::vector<kube::Write>>(writes);
    client.batch(std::move(writes), [sent](const std::vector<kube::WriteResult>& results) {
      for (std::size_t i = 0; i < results.size(); ++i)
        if (!results[i] && results[i].error().code != Code::already_exists)
          log_error("agent", "a fake node could not be registered",
                    {{"node", (*sent)[i].key.name}, {"error", results[i].error().message}});
    });
  }

  void look_at(const model::Pod& pod) {
    if (!is_mine(pod)) return;
    Progress& mine = progress[pod.metadata.uid];
    if (pod.metadata.deletionTimestamp) {
      if (!mine.ending) after_delay(pod, [this](const model::Pod& now) { remove(now); });
      mine.ending = true;
      return;
    }
    if (mine.ending) return;
    if (pod.status.phase == "Pending" && !mine.started) {
      mine.started = true;
      after_delay(pod, [this](const model::Pod& now) {
        if (!now.metadata.deletionTimestamp) run(now);
      });
    } else if (pod.status.phase == "Running") {
      arm(pod, mine);
    }
  }

  // With the pod as it is by then, if it is still there.
  void after_delay(const model::Pod& pod, std::function<void(const model::Pod&)> act) {
    if (options.pod_delay == Nanos(0)) return act(pod);
    client.executor().post_after(
        options.pod_delay,
        [weak = weak_from_this(), key = kube::Key{pod.metadata.ns, pod.metadata.name},
         uid = pod.metadata.uid, act = std::move(act)] {
          auto self = weak.lock();
          PodRef now = self ? self->pods.get(key) : nullptr;
          if (!now || now->metadata.uid != uid) return;
          act(*now);
          self->send();
        });
  }

  void run(const model::Pod& pod) {
    std::uint32_t n = addresses++;
    std::string ip = "10." + std::to_string(128 + (n >> 16) % 64) + "." +
                     std::to_string((n >> 8) & 255) + "." + std::to_string(n & 255);
    patch(pod,
          fake_running_status(pod, ip, std::string(kHostIp), client.executor().clock().wall()));
  }

  // The timer of a pod that was Running before a restart of Hekla runs for what is left.
  void arm(const model::Pod& pod, Progress& mine) {
    std::int32_t restarts = pod.status.containerStatuses.empty()
                                ? 0
                                : pod.status.containerStatuses.front().restartCount;
    if (mine.timer_for_restart == restarts) return;
    mine.timer_for_restart = restarts;
    FakePlan plan = fake_plan(pod);
    if (!plan.duration) return;
    Nanos left = *plan.duration;
    if (restarts == 0 && pod.status.startTime)
      left -=
          std::max(Nanos(0), client.executor().clock().wall() - *pod.status.startTime.at -
                                 Nanos(std::chrono::seconds(1)));  // startTime has whole seconds
    if (restarts > 0) left += kRestartPause;
    client.executor().post_after(
        std::max(left, Nanos(0)),
        [weak = weak_from_this(), key = kube::Key{pod.metadata.ns, pod.metadata.name},
         uid = pod.metadata.uid, code = plan.exit_code] {
          if (auto self = weak.lock()) self->finish(key, uid, code);
        });
  }

  void finish(const kube::Key& key, const std::string& uid, int exit_code) {
    PodRef pod = pods.get(key);
    if (!pod || pod->metadata.uid != uid || pod->metadata.deletionTimestamp) return;
    WallTime now = client.executor().clock().wall();
    if (fake_restarts(*pod, exit_code)) {
      patch(*pod, fake_restarted_status(*pod, exit_code, now), exit_code);
    } else {
      progress[uid].ending = true;
      patch(*pod, fake_finished_status(*pod, exit_code, now), exit_code);
    }
    send();
  }

  void patch(const model::Pod& pod, json::Value body, std::optional<int> exit_code = {}) {
    kube::Write write;
    write.verb = kube::Write::Verb::patch;
    write.resource = kube::resources::pods;
    write.key = {pod.metadata.ns, pod.metadata.name};
    write.subresource = "status";
    body.as_object()["metadata"] = json::Object{{"uid", pod.metadata.uid}};
    write.body = std::move(body);
    purposes.push_back({write.key, pod.metadata.uid, exit_code});
    outgoing.push_back(std::move(write));
  }

  void remove(const model::Pod& pod) {
    kube::Write write;
    write.verb = kube::Write::Verb::remove;
    write.resource = kube::resources::pods;
    write.key = {pod.metadata.ns, pod.metadata.name};
    write.grace_period_seconds = 0;
    write.precondition_uid = pod.metadata.uid;
    purposes.push_back({write.key, pod.metadata.uid, {}});
    outgoing.push_back(std::move(write));
  }

  void send() {
    if (outgoing.empty()) return;
    client.batch(std::exchange(outgoing, {}),
                 [weak = weak_from_this(), sent = std::exchange(purposes, {})](
                     const std::vector<kube::WriteResult>& results) {
                   if (auto self = weak.lock()) self->sent_back(sent, results);
                 });
  }

  // A write that failed for a passing reason is made again; a pod that has gone meanwhile is
  // nobody's business.
  void sent_back(const std::vector<Purpose>& sent, const std::vector<kube::WriteResult>& results) {
    std::vector<Purpose> again;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]) continue;
      Code code = results[i].error().code;
      if (code == Code::not_found || code == Code::conflict || code == Code::invalid) continue;
      again.push_back(sent[i]);
    }
    if (again.empty()) return;
    client.executor().post_after(kRetry, [weak = weak_from_this(), again = std::move(again)] {
      auto self = weak.lock();
      if (!self) return;
      for (const Purpose& purpose : again) self->try_again(purpose);
      self->send();
    });
  }

  void try_again(const Purpose& purpose) {
    if (purpose.exit_code) return finish(purpose.key, purpose.uid, *purpose.exit_code);
    PodRef pod = pods.get(purpose.key);
    if (!pod || pod->metadata.uid != purpose.uid) return;
    Progress& mine = progress[purpose.uid];
    mine.started = mine.ending = false;
    look_at(*pod);
  }
};

FakeNodes::FakeNodes(FakeNodesOptions options, kube::Client& client)
    : state_(std::make_shared<State>(std::move(options), client)) {}

FakeNodes::~FakeNodes() = default;

void FakeNodes::start() { state_->start(); }

}  // namespace hekla::agent
