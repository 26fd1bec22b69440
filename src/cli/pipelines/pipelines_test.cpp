#include <gtest/gtest.h>

#include "cli/pipelines/graph_text.h"
#include "cli/pipelines/parameters.h"
#include "cli/pipelines/pipeline_file.h"
#include "cli/pipelines/run_view.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::cli {
namespace {

constexpr const char* kSpec = R"(
pipelineInfo: {name: train-and-score}
root:
  dag:
    tasks:
      load: {componentRef: {name: comp-load}}
      train:
        componentRef: {name: comp-train}
        inputs: {artifacts: {data: {taskOutputArtifact: {producerTask: load, outputArtifactKey: d}}}}
      for-loop-1:
        componentRef: {name: comp-loop}
        dependentTasks: [train]
        parameterIterator: {itemInput: x, items: {raw: "[1]"}}
      clean:
        componentRef: {name: comp-load}
        dependentTasks: [for-loop-1]
        triggerPolicy: {strategy: ALL_UPSTREAM_TASKS_COMPLETED}
  inputDefinitions:
    parameters:
      epochs: {parameterType: NUMBER_INTEGER}
      rate: {parameterType: NUMBER_DOUBLE}
      sizes: {parameterType: LIST}
      more: {parameterType: STRUCT}
      fast: {parameterType: BOOLEAN}
      name: {parameterType: STRING}
components:
  comp-load: {executorLabel: e}
  comp-train: {executorLabel: e}
  comp-loop:
    dag:
      tasks:
        score: {componentRef: {name: comp-load}, triggerPolicy: {condition: "x == 1"}}
schemaVersion: 2.1.0
)";

json::Value spec() { return json::parse_yaml(kSpec).value().front().value; }

TEST(RunParameters, AreReadByTheirTypes) {
  const json::Object made = run_parameters(spec(), {"epochs=3", "rate=1e-3", "sizes=[1, 2]",
                                                    "more={\"a\": 1}", "fast=true", "name=a=b"})
                                .value();
  EXPECT_EQ(json::Value(made),
            json::parse(R"({"epochs": 3, "rate": 1e-3, "sizes": [1, 2], "more": {"a": 1},
                            "fast": true, "name": "a=b"})")
                .value());
}

TEST(RunParameters, SayWhatIsWrongWithThem) {
  const auto why = [](const std::string& typed) {
    return run_parameters(spec(), {typed}).error().message;
  };
  EXPECT_EQ(why("epochs=3.5"), "parameter epochs is an integer: \"3.5\" is not one");
  EXPECT_EQ(why("epochs="), "parameter epochs is an integer: \"\" is not one");
  EXPECT_EQ(why("rate=fast"), "parameter rate is a number: \"fast\" is not one");
  EXPECT_EQ(why("sizes={}"), "parameter sizes is a list in JSON: \"{}\" is not one");
  EXPECT_EQ(why("fast=1"), "parameter fast is true or false: \"1\" is not one");
  EXPECT_EQ(
      why("epoch=3"),
      "the pipeline has no parameter \"epoch\": it has epochs, rate, sizes, more, fast, name");
  EXPECT_EQ(why("epochs"), "want -p NAME=VALUE, not \"epochs\"");
  // A Workflow declares no types here.
  EXPECT_EQ(json::serialize(run_parameters(json::Value(), {"n=3"}).value()), R"({"n":"3"})");
}

TEST(GraphText, HasOneLineForEachTaskInAnOrderThatWorks) {
  EXPECT_EQ(graph_text(spec(), {{"root/load", "succeeded"}}),
            "train-and-score\n"
            "  load                            succeeded\n"
            "  train                           after load\n"
            "  for-loop-1                      after train; for each item\n"
            "    score                         if x == 1\n"
            "  clean                           after for-loop-1; always at the end\n");
}

TEST(PipelineFileName, IsThePackagesOwn) {
  EXPECT_EQ(package_name(kSpec), "train-and-score");
  EXPECT_EQ(package_name("kind: Workflow\nmetadata: {generateName: my-flow-}\n"), "my-flow");
  EXPECT_EQ(package_name("a: 1\n"), "");
}

TEST(PipelineFileOfPython, SaysWhatToDoWithoutKfp) {
  PipelineFile file{.path = "/proc/self/none.py"};
  EXPECT_FALSE(read_pipeline_file(file));  // the file itself is missing
  file = {.path = testing::TempDir() + "p.py", .python = "/nonexistent/python"};
  std::fclose(std::fopen(file.path.c_str(), "w"));
  EXPECT_EQ(read_pipeline_file(file).error().message,
            "there is no /nonexistent/python to compile " + file.path +
                " with: name one that has kfp, --python VENV/bin/python");
}

ShownStep step(const std::string& path, const std::string& state, const std::string& reason,
               const std::string& started = "", const std::string& ended = "") {
  ShownStep made;
  made.path = path;
  made.name = path.substr(path.rfind('/') + 1);
  made.state = state;
  made.reason = reason;
  made.created = made.started = started;
  made.ended = ended;
  if (path.find("loop") == std::string::npos) made.pod = "pod-of-" + made.name;
  return made;
}

const WallTime kNow = model::parse_rfc3339("2026-01-01T00:00:10Z").value();

TEST(StepsText, IsATreeInTheOrderOfBeginning) {
  std::vector<ShownStep> steps{
      step("root/train", "RUNNING", "running", "2026-01-01T00:00:03Z"),
      step("root/clean", "PENDING", "waiting"),
      step("root/load", "SUCCEEDED", "succeeded", "2026-01-01T00:00:01Z", "2026-01-01T00:00:02.5Z"),
      step("root/old", "SKIPPED", "cached", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")};
  EXPECT_EQ(steps_text(steps, kNow),
            "  old    Cached     0.0 s\n"
            "  load   Succeeded  1.5 s\n"
            "  train  Running    7.0 s\n"
            "  clean  Waiting\n");
}

TEST(StepsText, CountsIterationsAndShowsThoseThatMatter) {
  std::vector<ShownStep> steps{step("root/loop-1", "RUNNING", "running", "2026-01-01T00:00:09Z")};
  for (int i = 0; i < 3; ++i) {
    const std::string path = "root/loop-1/" + std::to_string(i);
    steps.push_back(
        i == 1 ? step(path, "FAILED", "failed", "2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z")
               : step(path, "SUCCEEDED", "succeeded", "2026-01-01T00:00:09Z",
                      i == 0 ? "2026-01-01T00:00:10Z" : ""));
    steps.back().iteration = i;
  }
  steps[2].error = "exit code 1";
  EXPECT_EQ(steps_text(steps, kNow),
            "  loop-1  Running  1.0 s, 2 of 3\n"
            "    #1    Failed   1.0 s  exit code 1\n");
}

TEST(RunViewLines, TellOfEachStepOnce) {
  std::FILE* out = std::tmpfile();
  RunView view(out, false, "run r");
  std::vector<ShownStep> steps{step("root/a", "RUNNING", "running", "2026-01-01T00:00:09Z"),
                               step("root/b", "PENDING", "waiting")};
  view.update("RUNNING", steps, kNow);
  view.update("RUNNING", steps, kNow);
  steps[0] = step("root/a", "FAILED", "failed", "2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z");
  steps[0].error = "it broke";
  view.update("FAILED", steps, kNow);
  view.finish();
  std::rewind(out);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  EXPECT_EQ(text,
            "a: Running\n"
            "run r: Running\n"
            "a: Failed after 1.0 s: it broke\n"
            "run r: Failed\n");
}

TEST(ShownStepOfTask, KnowsItsPathAndItsNewestPod) {
  const ShownStep shown =
      shown_step(json::parse(R"({"run_id": "r", "task_id": "r/root/loop-1/0/score", "name": "score",
                      "state": "RUNNING", "reason": "running", "iteration": 2,
                      "pods": ["p-0", "p-1"]})")
                     .value());
  EXPECT_EQ(shown.path, "root/loop-1/0/score");
  EXPECT_EQ(shown.pod, "p-1");
  EXPECT_EQ(shown.iteration, 2);
  EXPECT_EQ(RunView::label_of(shown), "loop-1/0/score");
}

}  // namespace
}  // namespace hekla::cli
