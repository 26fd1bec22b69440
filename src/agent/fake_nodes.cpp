#include "agent/fake_nodes.h"

#include <set>
#include <unordered_map>
#include <unordered_set>

#include "agent/fake_pod.h"
#include "base/log.h"
#include "kube/informer.h"
#include "model/core.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

constexpr Nanos kRetry = std::chrono::milliseconds(200);
constexpr Nanos kRestartPause = std::chrono::seconds(1);
constexpr std::string_view kPrefix = "fake-";
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
                                                        {"hekla.io/fake-node", "true"}}}}},
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

}  // namespace

std::string fake_node_name(int index) { return std::string(kPrefix) + std::to_string(index); }

struct FakeNodes::State : std::enable_shared_from_this<State> {
  using PodRef = std::shared_ptr<const model::Pod>;

  FakeNodesOptions options;
  kube::Client& client;
  kube::Informer<model::Pod> pods;
  std::uint32_t addresses = 0;

  // What has been asked for each pod (by uid) and is not to be asked again.
  struct Progress {
    bool started = false, ending = false;
    std::int32_t timer_for_restart = -1;
  };
  std::unordered_map<std::string, Progress> progress;
  std::vector<kube::Write> outgoing;

  State(FakeNodesOptions o, kube::Client& c)
      : options(std::move(o)), client(c), pods(c, kube::resources::pods) {}

  bool is_mine(const model::Pod& pod) const { return pod.spec.nodeName.starts_with(kPrefix); }

  void start() {
    pods.on_change([this](const PodRef& before, const PodRef& after) {
      if (after)
        look_at(*after);
      else
        progress.erase(before->metadata.uid);
    });
    pods.on_settled([this] { send(); });
    pods.start();
    register_nodes();
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
      if (!mine.ending) remove(pod);
      mine.ending = true;
      return;
    }
    if (mine.ending) return;
    if (pod.status.phase == "Pending" && !mine.started) {
      mine.started = true;
      std::uint32_t n = addresses++;
      std::string ip = "10." + std::to_string(128 + (n >> 16) % 64) + "." +
                       std::to_string((n >> 8) & 255) + "." + std::to_string(n & 255);
      patch(pod,
            fake_running_status(pod, ip, std::string(kHostIp), client.executor().clock().wall()));
    } else if (pod.status.phase == "Running") {
      arm(pod, mine);
    }
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
      patch(*pod, fake_restarted_status(*pod, exit_code, now));
    } else {
      progress[uid].ending = true;
      patch(*pod, fake_finished_status(*pod, exit_code, now));
    }
    send();
  }

  void patch(const model::Pod& pod, json::Value body) {
    kube::Write write;
    write.verb = kube::Write::Verb::patch;
    write.resource = kube::resources::pods;
    write.key = {pod.metadata.ns, pod.metadata.name};
    write.subresource = "status";
    body.as_object()["metadata"] = json::Object{{"uid", pod.metadata.uid}};
    write.body = std::move(body);
    outgoing.push_back(std::move(write));
  }

  void remove(const model::Pod& pod) {
    kube::Write write;
    write.verb = kube::Write::Verb::remove;
    write.resource = kube::resources::pods;
    write.key = {pod.metadata.ns, pod.metadata.name};
    write.grace_period_seconds = 0;
    write.precondition_uid = pod.metadata.uid;
    outgoing.push_back(std::move(write));
  }

  void send() {
    if (outgoing.empty()) return;
    auto sent = std::make_shared<std::vector<kube::Write>>(outgoing);
    client.batch(std::exchange(outgoing, {}),
                 [weak = weak_from_this(), sent](const std::vector<kube::WriteResult>& results) {
                   if (auto self = weak.lock()) self->sent_back(*sent, results);
                 });
  }

  // What failed for a passing reason goes out again; a pod that has gone meanwhile is nobody's
  // business.
  void sent_back(const std::vector<kube::Write>& sent,
                 const std::vector<kube::WriteResult>& results) {
    std::vector<kube::Write> again;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]) continue;
      Code code = results[i].error().code;
      if (code == Code::not_found || code == Code::conflict || code == Code::invalid) continue;
      again.push_back(sent[i]);
    }
    if (again.empty()) return;
    client.executor().post_after(kRetry,
                                 [weak = weak_from_this(), again = std::move(again)]() mutable {
                                   auto self = weak.lock();
                                   if (!self) return;
                                   for (kube::Write& write : again)
                                     self->outgoing.push_back(std::move(write));
                                   self->send();
                                 });
  }
};

FakeNodes::FakeNodes(FakeNodesOptions options, kube::Client& client)
    : state_(std::make_shared<State>(std::move(options), client)) {}

FakeNodes::~FakeNodes() = default;

void FakeNodes::start() { state_->start(); }

}  // namespace hekla::agent
