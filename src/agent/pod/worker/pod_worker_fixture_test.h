// A pod worker on a machine that only remembers, under virtual time.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "agent/pod/worker/pod_worker.h"
#include "json/codec.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::agent {

using std::chrono::seconds;

class FakeMachine final : public PodMachine {
 public:
  explicit FakeMachine(Executor& executor) : executor_(executor) {}

  std::vector<std::string> calls;
  std::map<std::string, int> exits;  // containers that end, by name
  std::string config_failure, sandbox_failure, launch_failure, removal_failure, resize_failure,
      dismantle_failure;
  std::vector<std::string> env, args;
  Limits resized_pod;
  PodRecord saved;  // by the last resize
  std::vector<OciDevice> devices;
  std::string cwd;
  std::map<std::string, StoredImage> images, registry;  // by canonical name
  std::optional<RegistryLogin> login;
  bool endless_pulls = false;       // they are never answered
  std::vector<std::string> probed;  // the first words of their commands
  std::set<std::string> failing;

  Result<std::string> take_address() override { return std::string("10.244.0.2"); }
  void release_address(const std::string&) override { calls.push_back("release"); }
  void make_sandbox(SandboxRequest, Done<void> done) override {
    calls.push_back("sandbox");
    if (sandbox_failure.empty()) return answer<void>(std::move(done), {});
    answer<void>(std::move(done), fail(Code::internal, sandbox_failure));
  }
  void find_image(const ImageReference& image, Done<std::optional<StoredImage>> done) override {
    auto found = images.find(image.canonical());
    answer<std::optional<StoredImage>>(
        std::move(done), found == images.end() ? std::nullopt : std::optional(found->second));
  }
  void pull_image(const ImageReference& image, RegistryLogins logins,
                  Done<StoredImage> done) override {
    calls.push_back("pull " + image.canonical());
    login = logins.find(image.registry, image.repository);
    if (endless_pulls) return unanswered_.push_back(std::move(done));
    auto found = registry.find(image.canonical());
    if (found == registry.end())
      return answer<StoredImage>(std::move(done), fail(Code::not_found, "no such image"));
    images[image.canonical()] = found->second;
    answer<StoredImage>(std::move(done), found->second);
  }
  void make_image(const std::string& recipe, BuildProgress progress,
                  Done<StoredImage> done) override {
    calls.push_back("make " + recipe);
    progress("downloads much");
    auto found = images.find(recipe);
    if (found == images.end())
      return answer<StoredImage>(std::move(done), fail(Code::unavailable, "no such package"));
    answer<StoredImage>(std::move(done), found->second);
  }
  void launch(LaunchRequest request, Done<Launch> done) override {
    args = request.bundle.args;
    cwd = request.bundle.cwd;
    devices = request.bundle.devices;
    const ContainerRecord& container = request.record.containers[request.container];
    calls.push_back("launch " + container.name + "#" + std::to_string(container.current->attempt));
    env = request.bundle.env;
    if (!config_failure.empty())
      return answer<Launch>(std::move(done), fail(Code::invalid, config_failure));
    Launch launch{executor_.clock().wall(), {}};
    if (!launch_failure.empty()) launch.failure = launch_failure;
    answer<Launch>(std::move(done), launch);
  }
  void signal(const PodRecord& record, const ContainerRun& run, int number) override {
    std::string call = ::sigabbrev_np(number);
    for (const ContainerRecord& one : record.containers)
      if (record.containers.size() > 1 && one.current && one.current->id == run.id)
        call += " " + one.name;
    calls.push_back(call);
  }
  void resize(const PodRecord& record, const ContainerRun&, const Limits& limits,
              const Limits& pod_limits, Done<void> done) override {
    calls.push_back("resize " + std::to_string(limits.cpu_limit_milli.value_or(0)) + "m " +
                    std::to_string(limits.memory_limit_bytes.value_or(0)));
    resized_pod = pod_limits;
    saved = record;
    if (resize_failure.empty()) return answer<void>(std::move(done), {});
    answer<void>(std::move(done), fail(Code::conflict, resize_failure));
  }
  void probe(const PodRecord&, std::size_t, const ProbeAction& action,
             Done<ProbeOutcome> done) override {
    const std::string name = action.command.empty() ? "?" : action.command.front();
    probed.push_back(name);
    answer<ProbeOutcome>(std::move(done), ProbeOutcome{!failing.contains(name), "no " + name});
  }
  void inspect(std::shared_ptr<const model::Pod>, PodRecord record, Done<PodRecord> done) override {
    for (ContainerRecord& container : record.containers) {
      if (container.current && container.current->phase == run_phase::starting) {
        container.current.reset();
        --container.attempts;
      }
      auto exit = exits.find(container.name);
      if (exit == exits.end() || !container.current || !container.current->is_live()) continue;
      container.current->phase = run_phase::exited;
      container.current->exit_code = exit->second;
      container.current->finished_ns = to_ns(executor_.clock().wall());
      exits.erase(exit);
    }
    answer<PodRecord>(std::move(done), std::move(record));
  }
  void remove_container(PodRecord record, std::size_t container, Done<void> done) override {
    calls.push_back("remove " + record.containers[container].name);
    if (removal_failure.empty()) return answer<void>(std::move(done), {});
    answer<void>(std::move(done), fail(Code::internal, removal_failure));
  }
  void dismantle(PodRecord, Done<void> done) override {
    calls.push_back("dismantle");
    if (dismantle_failure.empty()) return answer<void>(std::move(done), {});
    answer<void>(std::move(done), fail(Code::internal, dismantle_failure));
  }
  void erase(PodRecord, Done<void> done) override {
    calls.push_back("erase");
    answer<void>(std::move(done), {});
  }
  void refresh_volumes(const std::string&, std::vector<VolumePlan>) override {
    calls.push_back("refresh");
  }

 private:
  template <class T>
  void answer(Done<T> done, Result<T> result) {
    executor_.post([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }
  Executor& executor_;
  std::vector<Done<StoredImage>> unanswered_;
};

// A node with room for everything, unless a test says otherwise.
class FakeNode final : public NodeView, public PodObserver {
 public:
  std::optional<PodShortage> lacking;
  std::optional<Refusal> refusal;
  std::vector<std::int32_t> cards_in_use;
  std::vector<std::shared_ptr<const model::Service>> all_services;
  std::function<void()> on_change = [] {};
  bool gone = false;

  std::optional<PodShortage> shortage(const AgentPod&) const override { return lacking; }
  std::optional<Refusal> resize_refusal(const AgentPod&) const override { return refusal; }
  bool host_port_taken(const AgentPod&) const override { return false; }
  std::vector<std::int32_t> gpus_in_use() const override { return cards_in_use; }
  std::vector<std::shared_ptr<const model::Service>> services(const std::string&) const override {
    return all_services;
  }
  void pod_changed() override { on_change(); }
  void pod_gone(const std::string&) override { gone = true; }
};

class PodWorkerTest : public ::testing::Test {
 protected:
  PodWorkerTest() {
    context_.images = ImageMap::parse({}).value();
    context_.node_name = "n";
    context_.host_ip = "192.168.0.1";
    context_.cluster_domain = "cluster.local";
  }

  void begin(const std::string& policy, const std::string& spec_members = "",
             const std::string& image = "host", const std::string& container_members = "") {
    std::string text = R"({"metadata":{"name":"p","namespace":"default"},"spec":{"nodeName":"n",)" +
                       spec_members + R"("restartPolicy":")" + policy +
                       R"(","containers":[{"name":"c",)" + container_members + R"("image":")" +
                       image + R"(","command":["x"]}]},"status":{"phase":"Pending"}})";
    api_.create(kube::resources::pods, json::parse(text).value());
    AgentPod pod = decoded();
    worker_ = std::make_shared<PodWorker>(context_, std::make_shared<AgentPod>(pod),
                                          new_record(pod, simulation_.clock().wall()), false);
    worker_->start();
    simulation_.run_until_idle();
  }
  const json::Value& object() { return *api_.find(kube::resources::pods, {"default", "p"}); }
  AgentPod decoded() { return json::decode<AgentPod>(object()).value(); }
  std::string phase() { return std::string(json::string_at(object(), {"status", "phase"})); }
  model::ContainerStatus container() { return decoded().status.containerStatuses.at(0); }
  void exit(int code, const std::string& container = "c") {
    machine_.exits[container] = code;
    worker_->look();
    simulation_.run_until_idle();
  }
  void pass(Nanos time) { simulation_.run_for(time); }
  void change(const char* merge) {
    api_.patch(kube::resources::pods, {"default", "p"}, json::parse(merge).value());
    worker_->update(std::make_shared<AgentPod>(decoded()));
    simulation_.run_until_idle();
  }
  std::string calls() {
    std::string out;
    for (const std::string& call : machine_.calls) out += (out.empty() ? "" : ", ") + call;
    machine_.calls.clear();
    return out;
  }
  bool has_event(const std::string& reason, const std::string& message) {
    pass(seconds(1));
    for (const json::Value* event : api_.list(kube::resources::events))
      if (json::string_at(*event, {"reason"}) == reason &&
          json::string_at(*event, {"message"}).find(message) != std::string_view::npos)
        return true;
    return false;
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_{simulation_.clock()};
  test::FakeClient client_{api_, simulation_.add("agent")};
  kube::EventRecorder events_{client_, "kubelet", "n"};
  FakeMachine machine_{client_.executor()};
  FakeNode node_;
  PodContext context_{client_, events_, machine_, node_, node_};
  std::shared_ptr<PodWorker> worker_;
};

}  // namespace hekla::agent
