#include <gtest/gtest.h>

#include "json/parse.h"
#include "pipelines/argo/nodes.h"
#include "pipelines/argo/workflow.h"
#include "pipelines/engine/engine.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/engine/when.h"

namespace hekla::pipelines::argo {
namespace {

using engine::NodeState;

json::Value parsed(const std::string& yaml) {
  return json::parse_yaml(yaml, nullptr, json::YamlBooleans::words).value().at(0).value;
}

// A Workflow that runs in thought: steps end as the test says.
class Played {
 public:
  explicit Played(const std::string& yaml, json::Object parameters = {}) {
    workflow = parsed(yaml);
    Result<ir::Pipeline> read = read_workflow(workflow);
    EXPECT_TRUE(read) << read.error().message;
    pipeline = std::move(*read);
    run.facts = {"the-uid", "a run", "wf-1", "minio://b/root", now, now, "ns", "sa"};
    run.parameters = std::move(parameters);
    advance();
  }

  void advance() { engine::advance(pipeline, run, now); }
  const engine::Node& at(const std::string& id) const { return run.nodes.at("root/" + id); }
  std::string state(const std::string& id) const {
    const engine::Node* node = run.find("root/" + id);
    return node ? std::string(name_of(node->state)) : "none";
  }
  void end(const std::string& id, json::Object parameters = {}, bool succeeded = true) {
    const engine::Node& node = at(id);
    EXPECT_TRUE(engine::end_node(
        pipeline, run,
        {node.id,
         node.attempt,
         succeeded,
         {{"parameterValues", std::move(parameters)}, {"artifacts", json::Object{}}},
         succeeded ? "" : "exit code 1",
         true},
        now));
    advance();
  }
  // The step's command once everything is filled in.
  std::string words(const std::string& id) const {
    const engine::Node& node = at(id);
    const ir::Component& component = engine::component_of(pipeline, node.component);
    const ir::Container& container = *pipeline.executors.at(component.executor).container;
    const json::Value input = json::Object{{"inputs", node.inputs}, {"outputs", json::Object{}}};
    std::string all;
    for (const auto* side : {&container.command, &container.args})
      for (const std::string& one : engine::fill_arguments(
               *side, {component, input, run, engine::parent_id(node.id), node.task, "the-pod", 2}))
        all += (all.empty() ? "" : " ") + one;
    return all;
  }

  json::Value workflow;
  ir::Pipeline pipeline;
  engine::Run run;
  WallTime now{std::chrono::seconds(1'800'000'000)};
};

std::string spec(const std::string& templates, const std::string& more = "") {
  return "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: w-}\nspec:\n"
         "  entrypoint: main\n" +
         more + "  templates:\n" + templates;
}

std::string refusal(const std::string& templates, const std::string& more = "") {
  const Result<ir::Pipeline> read = read_workflow(parsed(spec(templates, more)));
  return read ? "accepted" : read.error().message.substr(39);
}

constexpr const char* kSay =
    "  - name: say\n    inputs: {parameters: [{name: text}]}\n"
    "    outputs: {parameters: [{name: out, valueFrom: {path: /tmp/out}}]}\n"
    "    container: {image: i, command: [echo, '{{inputs.parameters.text}}']}\n";

TEST(When, IsEvaluated) {
  for (const auto& [text, holds] : {std::pair{"0.97 > 0.5", true},
                                    {"\"heads\" == \"heads\"", true},
                                    {"heads == heads && !(1 > 2)", true},
                                    {"'10' < '9'", true},
                                    {"10 < 9 || 1 + 2 * 3 == 7", true},
                                    {"\"a\" != \"a\"", false},
                                    {"5 % 2 == 1", true},
                                    {"b in (a, b)", true},
                                    {"c in ('a', 'b')", false},
                                    {"abc =~ '^a.c$'", true},
                                    {"-1 < 0", true},
                                    {"true", true}}) {
    const Result<bool> got = engine::evaluate_when(text);
    ASSERT_TRUE(got) << text << ": " << got.error().message;
    EXPECT_EQ(*got, holds) << text;
  }
  for (const char* text : {"", "1 >", "a-b", "(1 == 1", "1", "\"x", "a ? b", "true && 1"})
    EXPECT_FALSE(engine::evaluate_when(text)) << text;
}

TEST(Workflow, TasksPassParametersOnAndWaitForEachOther) {
  Played played(
      spec(std::string(kSay) +
               "  - name: main\n    inputs: {parameters: [{name: word}]}\n    dag:\n"
               "      tasks:\n"
               "      - {name: a, template: say, arguments: {parameters:"
               " [{name: text, value: '{{inputs.parameters.word}} of {{workflow.name}}'}]}}\n"
               "      - {name: b, template: say, dependencies: [a], arguments:"
               " {parameters: [{name: text, value:"
               " 'got {{tasks.a.outputs.parameters.out}}'}]}}\n",
           "  arguments: {parameters: [{name: word, value: hello}]}\n"),
      {{"word", "bye"}});
  EXPECT_EQ(played.words("main/a"), "echo bye of wf-1");
  EXPECT_EQ(played.state("main/b"), "none");
  played.end("main/a", {{"out", "x"}});
  EXPECT_EQ(played.words("main/b"), "echo got x");
  played.end("main/b");
  EXPECT_EQ(played.run.state(), NodeState::succeeded);
}

TEST(Workflow, ASkippedTaskHoldsNobodyUp) {
  Played played(
      spec(std::string(kSay) +
           "  - name: main\n    dag:\n      tasks:\n"
           "      - {name: a, template: say, arguments: {parameters: [{name: text, value: 1}]}}\n"
           "      - {name: b, template: say, dependencies: [a], when:"
           " '{{tasks.a.outputs.parameters.out}} > 0.5', arguments: {parameters: [{name: text, "
           "value: 2}]}}\n"
           "      - {name: c, template: say, dependencies: [b], arguments: {parameters: [{name: "
           "text, value: 3}]}}\n"));
  played.end("main/a", {{"out", "0.1"}});
  EXPECT_EQ(played.state("main/b"), "skipped");
  EXPECT_EQ(played.state("main/c"), "pending");
}

TEST(Workflow, ItemsMakeALoopWithItsOwnConditions) {
  Played played(
      spec(std::string(kSay) +
           "  - name: main\n    dag:\n      tasks:\n"
           "      - {name: l, template: say, withItems: [{k: 1}, {k: 2}], when: '{{item.k}} > 1',"
           " arguments: {parameters: [{name: text, value: '{{item.k}} {{item}}'}]}}\n"
           "      - {name: m, template: say, dependencies: [l], withParam: '[\"x\", 7]',"
           " arguments: {parameters: [{name: text, value: '{{item}}'}]}}\n"));
  EXPECT_EQ(played.state("main/l/0/l"), "skipped");
  EXPECT_EQ(played.words("main/l/1/l"), "echo 2 {\"k\":2}");
  played.end("main/l/1/l", {{"out", ""}});
  EXPECT_EQ(played.words("main/m/0/m"), "echo x");
  EXPECT_EQ(played.words("main/m/1/m"), "echo 7");
}

TEST(Workflow, StepsFollowGroupByGroup) {
  Played played(
      spec(std::string(kSay) +
           "  - name: main\n    steps:\n"
           "    - - {name: a, template: say, arguments: {parameters: [{name: text, value: 1}]}}\n"
           "      - {name: b, template: say, arguments: {parameters: [{name: text, value: 2}]}}\n"
           "    - - {name: c, template: say, arguments: {parameters: [{name: text,"
           " value: '{{steps.a.outputs.parameters.out}}'}]}}\n"));
  played.end("main/a", {{"out", "one"}});
  EXPECT_EQ(played.state("main/c"), "none");
  played.end("main/b", {{"out", "two"}});
  EXPECT_EQ(played.words("main/c"), "echo one");
}

TEST(Workflow, TheExitHandlerRunsOnceAndKnowsTheOutcome) {
  Played played(
      spec("  - name: main\n    retryStrategy: {limit: '1'}\n"
           "    container: {image: i, command: [sh, '{{retries}}', '{{pod.name}}']}\n"
           "  - name: bye\n    container: {image: i, command: [echo, '{{workflow.status}}',"
           " '{{workflow.uid}}']}\n",
           "  onExit: bye\n"));
  EXPECT_EQ(played.words("main"), "sh 2 the-pod");
  played.end("main", {}, false);
  EXPECT_EQ(played.state("onExit"), "none");
  EXPECT_EQ(played.at("main").attempt, 2);
  played.end("main", {}, false);
  EXPECT_EQ(played.words("onExit"), "echo Failed the-uid");
  played.end("onExit");
  EXPECT_EQ(played.run.state(), NodeState::failed);
}

TEST(Workflow, ATemplateMayCallItselfUntilItsConditionFails) {
  Played played(
      spec(std::string(kSay) +
           "  - name: main\n    dag:\n      tasks:\n"
           "      - {name: s, template: say, arguments: {parameters: [{name: text, value: x}]}}\n"
           "      - {name: again, template: main, dependencies: [s], when:"
           " '{{tasks.s.outputs.parameters.out}} < 2'}\n"));
  played.end("main/s", {{"out", "1"}});
  played.end("main/again/s", {{"out", "2"}});
  EXPECT_EQ(played.state("main/again/again"), "skipped");
  EXPECT_EQ(played.run.state(), NodeState::succeeded);
}

TEST(Workflow, EndlessNestingFails) {
  Played played(
      spec("  - name: main\n    dag:\n      tasks:\n"
           "      - {name: again, template: main}\n"));
  EXPECT_EQ(played.run.state(), NodeState::failed);
  EXPECT_LE(played.run.nodes.size(), 600u);
}

TEST(Workflow, ParallelismLimitsWhatRunsAtOnce) {
  Played played(spec(
      std::string(kSay) +
      "  - name: main\n    parallelism: 1\n    dag:\n      tasks:\n"
      "      - {name: a, template: say, arguments: {parameters: [{name: text, value: 1}]}}\n"
      "      - {name: b, template: say, arguments: {parameters: [{name: text, value: 2}]}}\n"));
  EXPECT_EQ(played.state("main/a"), "pending");
  EXPECT_EQ(played.state("main/b"), "none");
  played.end("main/a", {{"out", ""}});
  EXPECT_EQ(played.state("main/b"), "pending");
}

TEST(Workflow, ContainersKeepTheirPodAndFiles) {
  Played played(spec(
      "  - name: main\n    nodeSelector: {disk: ssd}\n    activeDeadlineSeconds: 5\n"
      "    metadata: {labels: {l: v}}\n    sidecars: [{name: s, image: j}]\n"
      "    volumes: [{name: v, emptyDir: {}}]\n"
      "    inputs: {artifacts: [{name: f, path: /tmp/f, raw: {data: 'of {{workflow.name}}'}}]}\n"
      "    container: {image: i, command: [cat, '{{inputs.artifacts.f.path}}'],"
      " resources: {limits: {memory: 1Mi}}}\n",
      "  imagePullSecrets: [{name: p}]\n  parallelism: 3\n  activeDeadlineSeconds: 60\n"));
  const ir::Container& made = *played.pipeline.executors.at("main").container;
  EXPECT_EQ(json::string_at(made.pod, {"spec", "nodeSelector", "disk"}), "ssd");
  EXPECT_EQ(json::string_at(made.pod, {"metadata", "labels", "l"}), "v");
  const json::Array& init = *json::array_at(made.pod, {"spec", "initContainers"});
  EXPECT_EQ(json::string_at(init[0], {"restartPolicy"}), "Always");
  EXPECT_EQ(made.files.at("/tmp/f"), "of {{$.workflow.name}}");
  EXPECT_EQ(played.words("main"), "cat /tmp/f");
  EXPECT_EQ(played.pipeline.parallelism, 3);
  EXPECT_EQ(played.pipeline.deadline, std::chrono::seconds(60));
}

TEST(Workflow, KubectlDeleteOfTheSdkNeedsNoPod) {
  Played played(
      spec("  - name: main\n    container: {image: gcr.io/cloud-builders/kubectl, command:"
           " [kubectl, delete, PersistentVolumeClaim, x, --ignore-not-found, --output, name,"
           " --wait=false]}\n"));
  EXPECT_EQ(played.pipeline.executors.at("main").resource->action, "delete");
  EXPECT_EQ(played.at("main").kind, engine::NodeKind::resource);
}

TEST(Workflow, WhatCannotRunIsRefusedByItsPath) {
  const std::string main = "  - name: main\n    container: {image: i, command: [c]}\n";
  EXPECT_EQ(refusal("  - name: main\n    daemon: true\n"),
            "spec.templates[0].daemon: not supported");
  EXPECT_EQ(refusal("  - name: main\n    suspend: {}\n"),
            "spec.templates[0].suspend: not supported");
  EXPECT_EQ(refusal("  - name: main\n    container: {image: i}\n").substr(0, 33),
            "spec.templates[0].container.comma");
  EXPECT_EQ(
      refusal("  - name: main\n    container: {image: i, command: ['{{inputs.parameters.x}}']}\n"),
      "spec.templates[0].container.command: failed to resolve {{inputs.parameters.x}}");
  EXPECT_EQ(refusal("  - name: main\n    container: {image: i, command: ['{{=1+1}}']}\n"),
            "spec.templates[0].container.command: expressions ({{=...}}) are not supported");
  EXPECT_EQ(refusal(main, "  synchronization: {}\n"), "spec.synchronization: not supported");
  EXPECT_EQ(refusal(main, "  onExit: x\n"), "spec.onExit: template name 'x' undefined");
  EXPECT_EQ(refusal(main + main), "spec.templates[1].name: \"main\" is not unique");
  EXPECT_EQ(
      refusal(std::string(kSay) + "  - name: main\n    dag: {tasks: [{name: a, template: say}]}\n"),
      "spec.templates[1].dag.tasks[0]: inputs.parameters.text was not supplied");
  EXPECT_EQ(
      refusal("  - name: main\n    dag: {tasks: [{name: a, template: main, dependencies: [z]}]}\n"),
      "components.main.tasks.a: depends on the unknown task \"z\"");
  EXPECT_EQ(
      refusal("  - name: main\n    dag: {tasks: [{name: a, template: main, depends: 'b || c'}]}\n"),
      "spec.templates[0].dag.tasks[0].depends: only names joined by && are supported");
  // A program's own braces are left alone.
  EXPECT_EQ(
      refusal("  - name: main\n    container: {image: i, command: ['{{}}', '{{ x }}', '{{a']}\n"),
      "accepted");
}

TEST(Nodes, ShowTheRunAsArgoDoes) {
  Played played(
      spec(std::string(kSay) +
               "  - name: main\n    dag:\n      tasks:\n"
               "      - {name: a, template: say, arguments: {parameters: [{name: text, value: "
               "1}]}}\n"
               "      - {name: l, template: say, dependencies: [a], withItems: [x], arguments:"
               " {parameters: [{name: text, value: '{{item}}'}]}}\n"
               "      - {name: n, template: say, dependencies: [a], when: 1 > 2, arguments:"
               " {parameters: [{name: text, value: z}]}}\n",
           "  arguments: {parameters: [{name: p, value: d}]}\n"),
      {{"p", "given"}});
  played.end("main/a", {{"out", "o"}});
  played.end("main/l/0/l", {}, false);
  const json::Value shown =
      shown_workflow({played.workflow, played.pipeline, played.run, "FAILED", "a step has failed"});
  EXPECT_EQ(json::string_at(shown, {"status", "phase"}), "Failed");
  EXPECT_EQ(json::string_at(shown, {"status", "progress"}), "1/2");
  EXPECT_EQ(json::string_at(shown, {"metadata", "labels", "workflows.argoproj.io/completed"}),
            "true");
  EXPECT_EQ(
      json::text_at(json::array_at(shown, {"spec", "arguments", "parameters"})->front(), {"value"}),
      "given");
  std::map<std::string, json::Value> nodes;
  for (const auto& member : *json::object_at(shown, {"status", "nodes"})) {
    EXPECT_EQ(json::string_at(member.value(), {"id"}), std::string_view(member.key()));
    nodes.emplace(json::text_at(member.value(), {"name"}), member.value());
  }
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(json::string_at(nodes.at("wf-1"), {"type"}), "DAG");
  const json::Value& a = nodes.at("wf-1.a");
  EXPECT_EQ(json::text_at(a, {"id"}), engine::step_pod_name(played.run, played.at("main/a")));
  EXPECT_EQ(json::text_at(json::array_at(a, {"outputs", "parameters"})->front(), {"value"}), "o");
  EXPECT_EQ(json::array_at(a, {"children"})->size(), 2u);
  EXPECT_EQ(json::string_at(nodes.at("wf-1.l"), {"type"}), "TaskGroup");
  EXPECT_EQ(json::string_at(nodes.at("wf-1.l(0:x)"), {"phase"}), "Failed");
  EXPECT_EQ(json::string_at(nodes.at("wf-1.n"), {"type"}), "Skipped");
}

}  // namespace
}  // namespace hekla::pipelines::argo
