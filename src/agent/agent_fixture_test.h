// A real agent on a fake API, for tests that run containers. Everything of the agent's is in a data
// directory of its own and is gone when the fixture goes, also after a failure.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>

#include "agent/agent.h"
#include "agent/os/instance.h"
#include "base/disk.h"
#include "base/loop.h"
#include "base/patience_test.h"
#include "base/temp_dir_test.h"
#include "json/parse.h"
#include "support/fake_client.h"

namespace hekla::agent {

// Collects what a log stream delivers.
class CollectingSink final : public kube::ByteSink {
 public:
  void write(std::string bytes) override {
    std::lock_guard lock(mutex_);
    text_ += bytes;
    changed_.notify_all();
  }
  void end() override {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  bool is_closed() const override { return false; }
  std::size_t pending_bytes() const override { return 0; }

  bool wait_for_text(const std::string& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience,
                             [&] { return text_.find(wanted) != std::string::npos; });
  }
  std::string wait_for_end() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return ended_; }));
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool ended_ = false;
};

class AgentTest : public ::testing::Test {
 protected:
  static constexpr const char* kNode = "test-node";

  void SetUp() override {
    ASSERT_EQ(::geteuid(), 0u) << "these tests run containers: run them as root";
    begin();
  }
  void TearDown() override {
    if (::geteuid() != 0) return;
    if (!agent_) begin();  // finds what a test that gave up early left behind
    if (agent_) end(false);
  }

  virtual Options options() {
    Options out;
    out.data_dir = data_dir_;
    out.node_name = kNode;
    out.image_map = {"busybox*=host"};
    out.eviction.hard =
        "memory.available<1Mi";  // whatever else fills this machine's disk and memory
    return out;
  }

  void begin() {
    auto made = Agent::create(options(), client_, nullptr);
    ASSERT_TRUE(made) << made.error().message;
    agent_ = std::move(*made);
    agent_->start();
  }
  // As a killed process would: nothing is told, nothing is stopped.
  void drop() { agent_.reset(); }
  void end(bool keep_pods) {
    std::promise<void> promise;
    agent_->shutdown(keep_pods, [&] { promise.set_value(); });
    EXPECT_EQ(promise.get_future().wait_for(kPatience), std::future_status::ready);
    agent_.reset();
  }

  // The API lives on the loop.
  template <class Call>
  auto on_loop(Call call) {
    std::promise<decltype(call())> promise;
    loop_.post([&] { promise.set_value(call()); });
    return promise.get_future().get();
  }
  void create(const kube::Resource& resource, const std::string& text) {
    Result<json::Value> object = json::parse(text);
    ASSERT_TRUE(object) << object.error().message;
    ASSERT_TRUE(on_loop([&] { return api_.create(resource, *object).has_value(); }));
  }
  // A pod in the namespace default with one container `c` that runs a shell script.
  void create_pod(const std::string& name, const std::string& script,
                  const std::string& spec_members = "", const std::string& container_members = "",
                  const std::string& labels = "{}") {
    std::string quoted;
    json::append_quoted(script, quoted);
    create(kube::resources::pods,
           R"({"metadata":{"name":")" + name + R"(","namespace":"default","labels":)" + labels +
               R"(},"spec":{"nodeName":")" + kNode + R"(","restartPolicy":"Never",)" +
               spec_members + R"("containers":[{"name":"c","image":"host",)" + container_members +
               R"("command":["/bin/sh","-c",)" + quoted + R"(]}]},"status":{"phase":"Pending"}})");
  }
  // The same with a script in which `await X` returns after let_go("X"): it lives as long as the
  // test wants it to.
  void create_led_pod(const std::string& name, const std::string& script) {
    create_pod(name, "await() { until test -e /gates/$1; do sleep 0.05; done; }; " + script,
               R"("volumes":[{"name":"gates","hostPath":{"path":")" + gates_.path() + R"("}}],)",
               R"("volumeMounts":[{"name":"gates","mountPath":"/gates"}],)");
  }
  void let_go(const std::string& gate) {
    ASSERT_TRUE(write_file_atomically(gates_.path() + "/" + gate, "", 0644));
  }
  json::Value pod(const std::string& name) {
    return on_loop([&] {
      const json::Value* found = api_.find(kube::resources::pods, {"default", name});
      return found ? *found : json::Value(nullptr);
    });
  }
  bool wait_for_phase(const std::string& name, const std::string& phase) {
    bool reached = soon([&] { return json::string_at(pod(name), {"status", "phase"}) == phase; });
    if (!reached) ADD_FAILURE() << json::serialize(pod(name)) << "\n" << events();
    return reached;
  }
  const json::Value terminated(const std::string& name) {
    json::Value object = pod(name);
    const json::Array* statuses = json::array_at(object, {"status", "containerStatuses"});
    if (!statuses || statuses->empty()) return nullptr;
    const json::Value* found = json::find_path(statuses->at(0), {"state", "terminated"});
    return found ? *found : json::Value(nullptr);
  }
  std::string events() {
    return on_loop([&] {
      std::string out;
      for (const json::Value* event : api_.list(kube::resources::events))
        out += std::string(json::string_at(*event, {"type"})) + " " +
               std::string(json::string_at(*event, {"reason"})) + " " +
               std::string(json::string_at(*event, {"message"})) + "\n";
      return out;
    });
  }
  // Deletes as kubectl does, with a grace period the fake API does not know.
  void delete_pod(const std::string& name, int grace_seconds) {
    Result<json::Value> patch = json::parse(
        R"({"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z","deletionGracePeriodSeconds":)" +
        std::to_string(grace_seconds) + "}}");
    on_loop(
        [&] { return api_.patch(kube::resources::pods, {"default", name}, *patch).has_value(); });
  }
  bool wait_until_deleted(const std::string& name) {
    return soon([&] { return pod(name).is_null(); });
  }
  std::string logs(const std::string& name, kube::LogOptions log_options = {}) {
    auto sink = std::make_shared<CollectingSink>();
    Result<void> result = begin_logs(name, log_options, sink);
    return result ? sink->wait_for_end() : "error: " + result.error().message;
  }
  Result<void> begin_logs(const std::string& name, const kube::LogOptions& log_options,
                          std::shared_ptr<CollectingSink> sink) {
    std::promise<Result<void>> started;
    agent_->streams().logs({"default", name, ""}, log_options, sink,
                           [&](Result<void> result) { started.set_value(std::move(result)); });
    return started.get_future().get();
  }
  std::string uid(const std::string& name) {
    return std::string(json::string_at(pod(name), {"metadata", "uid"}));
  }
  InstancePaths paths() const { return instance_paths(data_dir_); }

  TempDir temp_, gates_;
  const std::string& data_dir_ = temp_.path();
  Loop loop_{"agent-test"};
  test::FakeApi api_{real_clock()};
  test::FakeClient client_{api_, loop_};
  std::unique_ptr<Agent> agent_;
};

}  // namespace hekla::agent
