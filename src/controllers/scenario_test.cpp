// Runs test/scenarios/controllers/*.yaml: objects in, steps, objects and events out, on the whole
// set of Volcano controllers, a fake API and simulated time. The format stands in that directory's
// README.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "controllers/volcano_controllers.h"
#include "json/parse.h"
#include "model/time.h"
#include "support/fake_client.h"
#include "support/sim_executor.h"
#include "support/subset.h"

namespace hekla::controllers {
namespace {

namespace fs = std::filesystem;
namespace resources = kube::resources;

const kube::Resource* resource_of(std::string_view kind, std::string_view api_version) {
  for (const kube::Resource* one : {&resources::vcjobs,
                                    &resources::pod_groups,
                                    &resources::queues,
                                    &resources::commands,
                                    &resources::pods,
                                    &resources::services,
                                    &resources::config_maps,
                                    &resources::secrets,
                                    &resources::network_policies,
                                    &resources::persistent_volume_claims,
                                    &resources::priority_classes,
                                    &resources::events,
                                    &resources::replica_sets,
                                    &resources::stateful_sets,
                                    &resources::vc_cron_jobs,
                                    &resources::job_flows,
                                    &resources::job_templates,
                                    &resources::hyper_nodes,
                                    &resources::nodes,
                                    &resources::daemon_sets,
                                    &resources::batch_jobs})
    if (one->kind == kind && (api_version.empty() || one->api_version() == api_version)) return one;
  return nullptr;
}

std::string text_of(const json::Value& value) {
  return value.is_string() ? std::string(json::sv(value.get_string())) : json::serialize(value);
}

// Pods in which some ports answer.
class ListeningPods final : public kube::PodStreams {
 public:
  // The answer to a request, by "pod:port".
  std::map<std::string, std::string> answers;

  void logs(const std::string&, const std::string&, const std::string&, const kube::LogOptions&,
            std::shared_ptr<kube::ByteSink>, std::move_only_function<void(Result<void>)>) override {
  }
  void exec(const std::string&, const std::string&, const std::string&, const kube::ExecOptions&,
            std::move_only_function<void(Result<std::shared_ptr<kube::PodProcess>>)>) override {}
  void attach(const std::string&, const std::string&, const std::string&, const kube::ExecOptions&,
              std::move_only_function<void(Result<std::shared_ptr<kube::PodProcess>>)>) override {}
  void forward(const std::string&, const std::string& pod, const std::string&, std::uint16_t port,
               std::shared_ptr<kube::ForwardClient> client,
               std::move_only_function<void(Result<std::shared_ptr<kube::ForwardedConnection>>)>
                   ready) override {
    auto found = answers.find(pod + ":" + std::to_string(port));
    if (found == answers.end()) return ready(fail(Code::unavailable, "connection refused"));
    ready(std::make_shared<Connection>(std::move(client), found->second));
  }

 private:
  struct Connection final : kube::ForwardedConnection {
    std::shared_ptr<kube::ForwardClient> client;
    std::string answer;
    Connection(std::shared_ptr<kube::ForwardClient> c, std::string a)
        : client(std::move(c)), answer(std::move(a)) {}
    void write(std::string request) override {
      std::string path = request.substr(0, request.find(" HTTP/"));
      if (answer.empty()) return client->end();
      client->write(
          "HTTP/1.1 " +
          (answer.starts_with(path + " ") ? answer.substr(path.size() + 1) : std::string("404")) +
          " x\r\n");
    }
    void end() override {}
    void leave() override {}
  };
};

class Scenario {
 public:
  Scenario()
      : simulation_(1), api_(simulation_.clock()), executor_(&simulation_.add("controllers")) {}

  void run(const json::Value& document) {
    if (const json::Array* names = json::array_at(document, {"disabled"}))
      for (const json::Value& name : *names) options_.disabled.insert(text_of(name));
    options_.max_requeue = static_cast<int>(json::int_at(document, {"maxRequeue"}, 15));
    options_.queue_commands = json::bool_at(document, {"queueCommands"}, true);
    options_.follow_owners = json::bool_at(document, {"followOwners"}, true);
    options_.inherit_owner_annotations = json::bool_at(document, {"inheritAnnotations"}, true);
    if (const json::Array* given = json::array_at(document, {"given"}))
      for (const json::Value& object : *given) apply(object);
    start();
    settle();
    const json::Array* steps = json::array_at(document, {"steps"});
    ASSERT_TRUE(steps) << "a scenario needs steps";
    for (std::size_t i = 0; i < steps->size(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i + 1) + ": " + json::serialize((*steps)[i]));
      ASSERT_TRUE((*steps)[i].is_object());
      for (const auto& member : (*steps)[i].get_object())
        step(std::string(member.key()), member.value());
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  void start() {
    client_ = std::make_unique<test::FakeClient>(api_, *executor_);
    controllers_ = std::make_unique<VolcanoControllers>(*client_, options_, &metrics_);
    controllers_->start();
    if (streams_) controllers_->set_pod_streams(streams_.get());
  }

  void settle() {
    ASSERT_TRUE(simulation_.run_until_idle(100'000)) << "the controllers are spinning";
  }

  void step(const std::string& verb, const json::Value& value) {
    if (verb == "apply") {
      apply(value);
    } else if (verb == "delete") {
      remove(value);
    } else if (verb == "pods") {
      for (const auto& member : value.get_object())
        set_pod(std::string(member.key()), member.value());
    } else if (verb == "gone") {
      for (const json::Value& pod : value.get_array())
        api_.finish_termination(kube::Key{"default", text_of(pod)});
    } else if (verb == "group") {
      set_group(value);
    } else if (verb == "command") {
      issue(value);
    } else if (verb == "listen") {
      listen(value);
    } else if (verb == "advance") {
      Result<Nanos> duration = model::parse_go_duration(text_of(value));
      ASSERT_TRUE(duration);
      ASSERT_TRUE(simulation_.run_for(*duration, 100'000));
    } else if (verb == "restart") {
      controllers_.reset();
      executor_ = &simulation_.add("controllers again");
      start();
    } else if (verb == "refuse") {
      refuse(value);
    } else if (verb == "expect") {
      expect(value);
    } else {
      FAIL() << "unknown step " << verb;
    }
    settle();
  }

  void apply(const json::Value& object) {
    const kube::Resource* resource =
        resource_of(json::string_at(object, {"kind"}), json::string_at(object, {"apiVersion"}));
    ASSERT_TRUE(resource) << "no such kind: " << json::serialize(object);
    kube::Key key = key_of(*resource, object);
    kube::WriteResult done = api_.find(*resource, key) ? api_.patch(*resource, key, object)
                                                       : api_.create(*resource, object);
    ASSERT_TRUE(done) << done.error().message;
    const json::Value* status = json::find(object, "status");
    if (*resource != resources::pods || !status) return;  // the node writes it by itself
    ASSERT_TRUE(api_.patch(*resource, key, json::Object{{"status", *status}}, "status"));
  }

  static kube::Key key_of(const kube::Resource& resource, const json::Value& object) {
    std::string name(json::string_at(object, {"name"}));
    if (name.empty()) name = json::string_at(object, {"metadata", "name"});
    std::string ns(json::string_at(object, {"metadata", "namespace"}));
    if (resource.namespaced && ns.empty()) ns = "default";
    return {resource.namespaced ? ns : "", name};
  }

  void remove(const json::Value& object) {
    const kube::Resource* resource = resource_of(json::string_at(object, {"kind"}), "");
    ASSERT_TRUE(resource);
    ASSERT_TRUE(api_.remove(*resource, key_of(*resource, object)));
  }

  // "Running", "Failed 137 OOMKilled" (exit code and the container's reason), "Running x3"
  // (restarts).
  void set_pod(const std::string& name, const json::Value& value) {
    std::istringstream text(text_of(value));
    std::string phase, more, why;
    text >> phase >> more >> why;
    json::Object container{{"name", "main"}, {"ready", phase == "Running"}, {"restartCount", 0}};
    if (more.starts_with('x')) container["restartCount"] = std::stoi(more.substr(1));
    if (phase == "Failed" || phase == "Succeeded") {
      int code = phase == "Succeeded" ? 0 : more.empty() ? 1 : std::stoi(more);
      json::Object ended{{"exitCode", code},
                         {"finishedAt", model::format_rfc3339(simulation_.clock().wall())}};
      if (!why.empty()) ended["reason"] = why;
      container["state"] = json::Object{{"terminated", std::move(ended)}};
    }
    kube::Key key{"default", name};
    ASSERT_TRUE(api_.find(resources::pods, key)) << "no pod " << name;
    if (phase != "Pending") {
      json::Object bound{{"spec", json::Object{{"nodeName", "n1"}}}};
      ASSERT_TRUE(api_.patch(resources::pods, key, std::move(bound)));
    }
    ASSERT_TRUE(api_.patch(
        resources::pods, key,
        json::Object{{"status", json::Object{{"phase", phase},
                                             {"containerStatuses", json::Array{container}}}}},
        "status"));
  }

  // {job: j, phase: Inqueue, unschedulable: message}
  void set_group(const json::Value& value) {
    std::string job(json::string_at(value, {"job"}));
    const json::Value* found = api_.find(resources::vcjobs, kube::Key{"default", job});
    ASSERT_TRUE(found);
    kube::Key key{"default", job + "-" + std::string(json::string_at(*found, {"metadata", "uid"}))};
    json::Object status;
    if (const json::Value* phase = json::find(value, "phase")) status["phase"] = *phase;
    if (const json::Value* message = json::find(value, "unschedulable"))
      status["conditions"] = json::Array{
          json::Object{{"type", "Unschedulable"},
                       {"status", "True"},
                       {"reason", "NotEnoughResources"},
                       {"lastTransitionTime", model::format_rfc3339(simulation_.clock().wall())},
                       {"message", *message}}};
    ASSERT_TRUE(
        api_.patch(resources::pod_groups, key, json::Object{{"status", std::move(status)}}));
  }

  // {pod:80: ""} takes connections there, {pod:80: GET /ready 200} answers requests too.
  void listen(const json::Value& value) {
    if (!streams_) streams_ = std::make_unique<ListeningPods>();
    controllers_->set_pod_streams(streams_.get());
    for (const auto& member : value.get_object())
      streams_->answers[std::string(member.key())] = text_of(member.value());
  }

  // {job: j, action: AbortJob} or {queue: q, action: CloseQueue}
  void issue(const json::Value& value) {
    bool job = json::find(value, "job") != nullptr;
    json::Object target{
        {"apiVersion", job ? "batch.volcano.sh/v1alpha1" : "scheduling.volcano.sh/v1beta1"},
        {"kind", job ? "Job" : "Queue"},
        {"name", *json::find(value, job ? "job" : "queue")},
        {"uid", "any"}};
    ASSERT_TRUE(api_.create(resources::commands,
                            json::Object{{"metadata", json::Object{{"generateName", "command-"}}},
                                         {"action", *json::find(value, "action")},
                                         {"target", std::move(target)}}));
  }

  // {kind: Pod, verb: create, times: 2}: the next writes of that kind fail.
  void refuse(const json::Value& value) {
    auto left = std::make_shared<std::int64_t>(json::int_at(value, {"times"}, 1));
    std::string kind(json::string_at(value, {"kind"})), verb(json::string_at(value, {"verb"}));
    std::string cause(json::string_at(value, {"cause"}));
    api_.on_write = [left, kind, verb, cause](const kube::Write& write) -> std::optional<Error> {
      bool hit = write.resource.kind == kind &&
                 ((verb == "create" && write.verb == kube::Write::Verb::create) ||
                  (verb == "patch" && write.verb == kube::Write::Verb::patch) ||
                  (verb == "delete" && write.verb == kube::Write::Verb::remove));
      if (!hit || *left <= 0) return std::nullopt;
      --*left;
      Error error{Code::unavailable, "the server is busy"};
      if (!cause.empty()) error.details.causes.push_back({cause, "", ""});
      return error;
    };
  }

  void expect(const json::Value& value) {
    for (const auto& member : value.get_object()) {
      std::string what(member.key());
      if (what == "objects") {
        for (const json::Value& object : member.value().get_array()) expect_object(object);
      } else if (what == "absent") {
        for (const json::Value& object : member.value().get_array()) expect_absent(object);
      } else if (what == "pods") {
        EXPECT_EQ(pods(), json::serialize(member.value()));
      } else if (what == "events") {
        for (const json::Value& event : member.value().get_array()) expect_event(event);
      } else if (what == "metrics") {
        for (const json::Value& line : member.value().get_array()) expect_metric(text_of(line));
      } else if (what == "status") {
        for (const auto& job : member.value().get_object())
          expect_object(
              json::Object{{"kind", "Job"}, {"name", job.key()}, {"status", job.value()}});
      } else {
        ADD_FAILURE() << "unknown expectation " << what;
      }
    }
  }

  // A subset, except for kind and name, which say where to look.
  void expect_object(const json::Value& wanted) {
    const kube::Resource* resource = resource_of(json::string_at(wanted, {"kind"}), "");
    ASSERT_TRUE(resource) << json::serialize(wanted);
    kube::Key key = key_of(*resource, wanted);
    const json::Value* found = api_.find(*resource, key);
    ASSERT_TRUE(found) << "no " << resource->kind << " " << key.name
                       << "; there are: " << names(*resource);
    json::Value members = wanted;
    members.get_object().erase("kind");
    members.get_object().erase("name");
    EXPECT_EQ(test::subset_mismatch(members, found, resource->kind + " " + key.name), "")
        << json::serialize(*found);
  }

  void expect_absent(const json::Value& wanted) {
    const kube::Resource* resource = resource_of(json::string_at(wanted, {"kind"}), "");
    ASSERT_TRUE(resource);
    EXPECT_FALSE(api_.find(*resource, key_of(*resource, wanted))) << json::serialize(wanted);
  }

  // "Warning Reason message" in one string; a leading "no " wants it absent.
  void expect_event(const json::Value& wanted) {
    std::string text = text_of(wanted);
    bool absent = text.starts_with("no ");
    if (absent) text.erase(0, 3);
    std::string all;
    bool found = false;
    for (const json::Value* event : api_.list(resources::events)) {
      std::string line = std::string(json::string_at(*event, {"type"})) + " " +
                         std::string(json::string_at(*event, {"reason"})) + " " +
                         std::string(json::string_at(*event, {"message"}));
      found |= absent ? line.starts_with(text) : line == text;
      all += line + "\n";
    }
    EXPECT_NE(found, absent) << "wanted event: " << text << "\nthere are:\n" << all;
  }

  // A line of the text form; a leading "no " wants no line to begin with the rest.
  void expect_metric(const std::string& wanted) {
    std::string all = "\n" + metrics_.text();
    if (wanted.starts_with("no "))
      EXPECT_EQ(all.find("\n" + wanted.substr(3)), std::string::npos) << all;
    else
      EXPECT_NE(all.find("\n" + wanted + "\n"), std::string::npos) << wanted << " in" << all;
  }

  std::string names(const kube::Resource& resource) const {
    std::string all;
    for (const json::Value* object : api_.list(resource))
      all += std::string(json::string_at(*object, {"metadata", "name"})) + " ";
    return all;
  }

  // {name: phase} of all pods; a terminating one says so.
  std::string pods() const {
    json::Object all;
    for (const json::Value* pod : api_.list(resources::pods)) {
      std::string phase(json::string_at(*pod, {"status", "phase"}));
      if (!json::string_at(*pod, {"metadata", "deletionTimestamp"}).empty()) phase = "terminating";
      all[json::string_at(*pod, {"metadata", "name"})] = phase.empty() ? "Pending" : phase;
    }
    return json::serialize(all);
  }

  VolcanoControllers::Options options_;
  sim::Simulation simulation_;
  test::FakeApi api_;
  sim::SimExecutor* executor_;
  std::unique_ptr<ListeningPods> streams_;
  Metrics metrics_;
  std::unique_ptr<test::FakeClient> client_;
  std::unique_ptr<VolcanoControllers> controllers_;
};

class ControllerScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(ControllerScenario, Holds) {
  std::ifstream file("test/scenarios/controllers/" + GetParam() + ".yaml");
  ASSERT_TRUE(file) << "run from the source directory";
  std::stringstream text;
  text << file.rdbuf();
  Result<std::vector<json::YamlDocument>> documents = json::parse_yaml(text.str());
  ASSERT_TRUE(documents) << documents.error().message;
  for (const json::YamlDocument& document : *documents) {
    SCOPED_TRACE(std::string(json::string_at(document.value, {"scenario"})));
    Scenario().run(document.value);
  }
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("test/scenarios/controllers", error))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Files, ControllerScenario, ::testing::ValuesIn(scenario_names()),
                         [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ControllerScenario);

}  // namespace
}  // namespace hekla::controllers
