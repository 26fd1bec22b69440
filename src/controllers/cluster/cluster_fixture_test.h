// Controllers of the cluster on a fake API in simulated time. Removals honour finalizers and
// propagation policies; nothing is collected unless a collector does it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "json/parse.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"

namespace hekla::controllers {

class FixedDiscovery final : public kube::Discovery {
 public:
  explicit FixedDiscovery(std::vector<kube::Resource> all) : all_(std::move(all)) {}
  std::vector<kube::Resource> resources() const override { return all_; }
  void on_change(Executor&, std::function<void()>) override {}

 private:
  std::vector<kube::Resource> all_;
};

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : api_(simulation_.clock()), client_(api_, simulation_.add("cluster")) {
    api_.collects_garbage = false;
  }

  void settle() { ASSERT_TRUE(simulation_.run_until_idle(200'000)) << "spinning"; }
  void advance(Nanos time) { ASSERT_TRUE(simulation_.run_for(time, 200'000)) << "spinning"; }

  // YAML flow or JSON; settles.
  void create(const kube::Resource& resource, const std::string& yaml) {
    Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().message;
    kube::WriteResult done = api_.create(resource, (*parsed)[0].value);
    ASSERT_TRUE(done) << done.error().message;
    settle();
  }
  void patch(const kube::Resource& resource, const kube::Key& key, const std::string& yaml,
             const std::string& subresource = {}) {
    Result<std::vector<json::YamlDocument>> parsed = json::parse_yaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().message;
    kube::WriteResult done = api_.patch(resource, key, (*parsed)[0].value, subresource);
    ASSERT_TRUE(done) << done.error().message;
    settle();
  }
  void remove(const kube::Resource& resource, const kube::Key& key,
              const std::string& policy = {}) {
    kube::Write write;
    write.verb = kube::Write::Verb::remove;
    write.resource = resource;
    write.key = key;
    write.propagation_policy = policy;
    ASSERT_TRUE(api_.write(write));
    settle();
  }
  bool has(const kube::Resource& resource, const kube::Key& key) const {
    return api_.find(resource, key) != nullptr;
  }
  // The JSON text at a path, "" when there is nothing.
  std::string at(const kube::Resource& resource, const kube::Key& key,
                 std::initializer_list<std::string_view> path) const {
    const json::Value* object = api_.find(resource, key);
    const json::Value* found = object ? json::find_path(*object, path) : nullptr;
    return found ? json::serialize(*found) : "";
  }
  // "Normal NodeNotReady: ..." of every event, in order of their making.
  std::vector<std::string> events() const {
    std::vector<std::string> found;
    for (const json::Value* event : api_.list(kube::resources::events))
      found.push_back(std::string(json::string_at(*event, {"type"})) + " " +
                      std::string(json::string_at(*event, {"reason"})) + ": " +
                      std::string(json::string_at(*event, {"message"})));
    return found;
  }
  // Who says the first event of a reason.
  std::string source_of(std::string_view reason) const {
    for (const json::Value* event : api_.list(kube::resources::events))
      if (json::string_at(*event, {"reason"}) == reason)
        return std::string(json::string_at(*event, {"source", "component"}));
    return "";
  }
  bool has_event(const std::string& text) const {
    std::vector<std::string> all = events();
    return std::find(all.begin(), all.end(), text) != all.end();
  }

  sim::Simulation simulation_{1};
  test::FakeApi api_;
  test::FakeClient client_;
};

}  // namespace hekla::controllers
