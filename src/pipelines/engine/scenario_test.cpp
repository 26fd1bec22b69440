// Runs test/scenarios/pipelines/*.yaml: a pipeline in short form, and steps. Between any two steps
// the run is written to JSON and read back, as after a crash.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "json/parse.h"
#include "model/time.h"
#include "pipelines/engine/engine.h"
#include "pipelines/ir/read.h"

namespace hekla::pipelines::engine {
namespace {

constexpr const char* kDirectory = "test/scenarios/pipelines";

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kDirectory))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().stem().string());
  std::sort(files.begin(), files.end());
  return files;
}

// The short form: components and root; components without a body are containers.
Result<ir::Pipeline> short_pipeline(const json::Value& document) {
  json::Object components, executors;
  if (const json::Object* given = json::object_at(document, {"components"}))
    for (const auto& member : *given) {
      json::Object component =
          member.value().is_object() ? member.value().get_object() : json::Object{};
      if (!component.contains("dag")) {
        json::Value executor = json::Object{
            {"container", json::Object{{"image", "busybox"}, {"command", json::Array{"true"}}}}};
        if (const json::Value* own = json::find(component, "executor")) executor = *own;
        component.erase("executor");
        component.emplace("executorLabel", member.key());
        executors.emplace(member.key(), std::move(executor));
      }
      components.emplace(member.key(), std::move(component));
    }
  json::Value spec =
      json::Object{{"pipelineInfo", json::Object{{"name", "scenario"}}},
                   {"schemaVersion", "2.1.0"},
                   {"components", std::move(components)},
                   {"deploymentSpec", json::Object{{"executors", std::move(executors)}}},
                   {"root", *json::find(document, "root")}};
  ir::Package package;
  package.spec = std::move(spec);
  return ir::read_pipeline(package);
}

class Scenario {
 public:
  explicit Scenario(const json::Value& document) : document_(document) {}

  void run() {
    Result<ir::Pipeline> read = short_pipeline(document_);
    ASSERT_TRUE(read) << read.error().message;
    pipeline_ = std::move(*read);
    run_.facts = {"11111111-2222", "a run", "scenario-abc", "minio://b/root", now_, now_};
    if (const json::Object* given = json::object_at(document_, {"parameters"}))
      run_.parameters = *given;
    advance_now();
    for (const json::Value& step : *json::array_at(document_, {"steps"})) {
      SCOPED_TRACE(json::serialize(step));
      take(step);
      round_trip();
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  void advance_now() {
    step_ = advance(pipeline_, run_, now_);
    // A second look finds nothing due.
    const Step again = advance(pipeline_, run_, now_);
    EXPECT_TRUE(again.changed.empty()) << *again.changed.begin();
  }

  void round_trip() {
    std::map<std::string, Node> copies;
    for (const auto& [id, node] : run_.nodes) {
      Result<Node> copy = Node::from_json(node.to_json());
      ASSERT_TRUE(copy) << copy.error().message;
      EXPECT_TRUE(json::equal(copy->to_json(), node.to_json()));
      copies.emplace(id, std::move(*copy));
    }
    run_.nodes = std::move(copies);
  }

  void end_all(const json::Object& ends, bool succeeded) {
    for (const auto& member : ends) {
      NodeEnd end;
      end.id = "root/" + std::string(member.key());
      const Node* node = run_.find(end.id);
      ASSERT_NE(node, nullptr) << end.id;
      end.attempt = node->attempt;
      end.succeeded = succeeded;
      if (succeeded && member.value().is_object()) {
        end.outputs = member.value().get_object();
        if (const json::Value* short_form = json::find(end.outputs, "out")) {
          json::Value values = *short_form;
          end.outputs = {{"parameterValues", std::move(values)}};
        }
      }
      if (!succeeded && member.value().is_string())
        end.error = json::sv(member.value().get_string());
      EXPECT_TRUE(end_node(pipeline_, run_, end, now_)) << end.id << " was not running";
      EXPECT_FALSE(end_node(pipeline_, run_, end, now_)) << "an end counts once";
    }
  }

  void take(const json::Value& step) {
    if (const json::Object* done = json::object_at(step, {"done"})) end_all(*done, true);
    if (const json::Object* failed = json::object_at(step, {"failed"})) end_all(*failed, false);
    if (const json::Object* cache = json::object_at(step, {"cache"}))
      for (const auto& member : *cache) {
        std::optional<json::Object> hit;
        if (member.value().is_object()) hit = member.value().get_object();
        EXPECT_TRUE(answer_cache(run_, "root/" + std::string(member.key()), hit, now_));
      }
    if (const std::string_view after = json::string_at(step, {"after"}); !after.empty())
      now_ += model::parse_go_duration(after).value();
    if (json::bool_at(step, {"terminate"})) terminate(run_, now_);
    if (json::bool_at(step, {"retry"})) retry(run_);
    advance_now();
    if (const json::Value* wanted = json::find(step, "expect")) expect(*wanted);
  }

  void expect(const json::Value& wanted) {
    if (const json::Array* pending = json::array_at(wanted, {"pending"})) {
      std::set<std::string> want, got;
      for (const json::Value& one : *pending)
        want.insert("root/" + std::string(json::sv(one.get_string())));
      for (const auto& [id, node] : run_.nodes)
        if (node.state == NodeState::pending || node.state == NodeState::checking) got.insert(id);
      EXPECT_EQ(got, want);
    }
    if (const json::Object* states = json::object_at(wanted, {"states"}))
      for (const auto& member : *states) {
        const Node* node = run_.find(id_of(member.key()));
        ASSERT_NE(node, nullptr) << member.key();
        EXPECT_EQ(name_of(node->state), json::sv(member.value().get_string())) << member.key();
      }
    for (const char* side : {"inputs", "outputs"})
      if (const json::Object* all = json::object_at(wanted, {side}))
        for (const auto& member : *all) {
          const Node* node = run_.find(id_of(member.key()));
          ASSERT_NE(node, nullptr) << member.key();
          const json::Value got(side == std::string_view("inputs") ? node->inputs : node->outputs);
          const bool artifacts = json::find(member.value(), "artifacts") != nullptr;
          const json::Value* part = json::find(got, artifacts ? "artifacts" : "parameterValues");
          const json::Value expected =
              artifacts ? *json::find(member.value(), "artifacts") : member.value();
          EXPECT_EQ(part ? json::serialize(*part) : "", json::serialize(expected));
        }
    if (const json::Object* errors = json::object_at(wanted, {"errors"})) {
      for (const auto& member : *errors) {
        const std::string& error = run_.find(id_of(member.key()))->error;
        EXPECT_NE(error.find(json::sv(member.value().get_string())), std::string::npos) << error;
      }
    }
    if (const std::string_view wake = json::string_at(wanted, {"wake"}); !wake.empty()) {
      ASSERT_TRUE(step_.wake_at);
      EXPECT_EQ(*step_.wake_at - now_, model::parse_go_duration(wake).value());
    }
  }

  static std::string id_of(std::string_view name) {
    return name == "root" ? "root" : "root/" + std::string(name);
  }

  const json::Value& document_;
  ir::Pipeline pipeline_;
  engine::Run run_;
  Step step_;
  WallTime now_{std::chrono::seconds(1'800'000'000)};
};

class EngineScenarios : public testing::TestWithParam<std::string> {};

TEST_P(EngineScenarios, Holds) {
  const Result<std::string> text = read_file(std::string(kDirectory) + "/" + GetParam() + ".yaml");
  ASSERT_TRUE(text);
  auto documents = json::parse_yaml(*text, nullptr, json::YamlBooleans::words);
  ASSERT_TRUE(documents) << documents.error().message;
  for (const json::YamlDocument& document : *documents) {
    SCOPED_TRACE(json::string_at(document.value, {"scenario"}));
    Scenario(document.value).run();
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, EngineScenarios, testing::ValuesIn(scenario_files()),
                         [](const auto& given) {
                           std::string name = given.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hekla::pipelines::engine
