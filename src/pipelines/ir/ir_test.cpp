#include <gtest/gtest.h>

#include "json/parse.h"
#include "pipelines/ir/read.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::ir {
namespace {

constexpr const char* kSpec = R"(
components:
  comp-say:
    executorLabel: exec-say
    inputDefinitions: {parameters: {n: {parameterType: NUMBER_INTEGER}}}
    outputDefinitions: {parameters: {Output: {parameterType: STRING}}}
deploymentSpec:
  executors:
    exec-say: {container: {image: python, command: [sh], args: ['{{$}}']}}
pipelineInfo: {name: hello}
root:
  dag:
    tasks:
      a:
        componentRef: {name: comp-say}
        inputs: {parameters: {n: {componentInputParameter: n}}}
        taskInfo: {name: A}
        cachingOptions: {enableCache: true}
        retryPolicy: {maxRetryCount: 2, backoffDuration: 5s, backoffFactor: 2.0, backoffMaxDuration: 60s}
      b:
        componentRef: {name: comp-say}
        inputs: {parameters: {n: {taskOutputParameter: {producerTask: a, outputParameterKey: Output}}}}
        triggerPolicy: {strategy: ALL_UPSTREAM_TASKS_COMPLETED}
  inputDefinitions: {parameters: {n: {parameterType: NUMBER_INTEGER, literals: [1.0, 2.0]}}}
schemaVersion: 2.1.0
)";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<Pipeline> read(const std::string& text) { return read_pipeline(TRY(read_package(text))); }

std::string reason(const std::string& text) {
  Result<Pipeline> got = read(text);
  return got ? "accepted" : got.error().message;
}

TEST(Ir, ReadsTasksAndTheirImplicitDependencies) {
  Result<Pipeline> got = read(kSpec);
  ASSERT_TRUE(got) << got.error().message;
  const Dag& dag = *got->root.dag;
  EXPECT_EQ(dag.tasks.at("b").dependencies, std::vector<std::string>{"a"});
  EXPECT_TRUE(dag.tasks.at("b").exit_style);
  EXPECT_TRUE(dag.tasks.at("a").cache);
  EXPECT_EQ(dag.tasks.at("a").retry->backoff, std::chrono::seconds(5));
  EXPECT_EQ(dag.tasks.at("a").display_name, "A");
}

TEST(Ir, TakesBothSpellingsOfNames) {
  std::string text = with(kSpec, "pipelineInfo", "pipeline_info");
  text = with(text, "componentRef", "component_ref");
  EXPECT_EQ(reason(text), "accepted");
}

TEST(Ir, RefusesInTheOriginalsWords) {
  const std::string invalid = "Invalid input error: invalid pipeline spec: ";
  EXPECT_EQ(
      reason(with(kSpec, "2.1.0", "2.0.0")),
      invalid + "KFP only supports schema version 2.1.0, but the pipeline spec has version 2.0.0");
  EXPECT_EQ(reason(with(kSpec, "name: hello", "name: ''")),
            invalid + "invalid v2 pipeline spec: name is empty");
  EXPECT_EQ(reason("a: 1"), invalid + "unknown template format");
  EXPECT_EQ(reason(std::string(kSpec) + "---" + kSpec),
            invalid + "multiple pipeline specs provided");
  EXPECT_NE(
      reason(with(kSpec, "components:", "components_1:")).find("unknown field \"components_1\""),
      std::string::npos);
  EXPECT_NE(reason(with(kSpec, "producerTask: a", "producerTask: z")).find("unknown task \"z\""),
            std::string::npos);
  EXPECT_NE(reason(with(kSpec, "producerTask: a", "producerTask: b")).find("depend on each other"),
            std::string::npos);
  EXPECT_NE(
      reason(with(kSpec, "executorLabel: exec-say", "executorLabel: x")).find("executor \"x\""),
      std::string::npos);
}

TEST(Ir, KeepsThePlatformDocument) {
  const std::string text = std::string(kSpec) + R"(---
platforms: {kubernetes: {deploymentSpec: {executors: {exec-say: {imagePullPolicy: Always}}}}}
)";
  Result<Package> package = read_package(text);
  ASSERT_TRUE(package);
  EXPECT_NE(json::find(package->to_json(), "platform_spec"), nullptr);
  Result<Package> again = package_from_json(package->to_json());
  ASSERT_TRUE(again);
  EXPECT_TRUE(json::equal(again->to_json(), package->to_json()));
  EXPECT_EQ(json::string_at(json::Value(read_pipeline(*again)->kubernetes.at("exec-say")),
                            {"imagePullPolicy"}),
            "Always");
}

TEST(Ir, ChecksRunParameters) {
  Result<Pipeline> got = read(kSpec);
  const auto check = [&](const char* text) {
    Result<void> done = check_parameters(*got, json::parse(text)->get_object());
    return done ? "fine" : done.error().message;
  };
  EXPECT_EQ(check(R"({"n": 1})"), "fine");
  EXPECT_NE(check(R"({"n": 3})").find("allowed literals"), std::string::npos);
  EXPECT_NE(check(R"({"n": "1"})").find("requires type double or integer"), std::string::npos);
  EXPECT_NE(check("{}").find("parameter n is not optional"), std::string::npos);
  EXPECT_NE(check(R"({"n": 1, "m": 1})").find("not required by pipeline: m"), std::string::npos);
}

TEST(Ir, TextOfNumbersHasNoFractionAndNoExponent) {
  EXPECT_EQ(text_of(3.0), "3");
  EXPECT_EQ(text_of(0.5), "0.5");
  EXPECT_EQ(text_of(1e21), "1000000000000000000000");
  EXPECT_EQ(text_of(json::Array{1.0, json::Object{{"a", 2.0}}}), R"([1,{"a":2}])");
  EXPECT_EQ(text_of(nullptr), "");
  EXPECT_EQ(text_of(true), "true");
}

}  // namespace
}  // namespace hekla::pipelines::ir
