#include <gtest/gtest.h>

#include "json/parse.h"
#include "pipelines/engine/expression.h"
#include "pipelines/engine/fingerprint.h"
#include "pipelines/engine/placeholders.h"

namespace hekla::pipelines::engine {
namespace {

json::Object object(const char* text) { return json::parse(text)->get_object(); }

TEST(Fingerprint, IsTheOriginals) {
  FingerprintParts small;
  small.image = "python:3.11";
  small.command = {"sh", "ec", "run"};
  small.artifact_names = object(R"({"dataset": ["10"]})");
  small.output_parameters = object(R"({"output_parameter": "DOUBLE"})");
  EXPECT_TRUE(fingerprint(small).starts_with("3d9a2a77"));
  EXPECT_TRUE(fingerprint(small).ends_with("da464"));

  FingerprintParts large;
  large.image = "python:3.11";
  large.command = {"sh", "ec", "test"};
  large.artifact_names = object(R"({"dataset_one": ["1"], "dataset_two": ["2"]})");
  const json::Object parameters = object(R"({"message": "Some string value", "num_steps": 5.0})");
  large.parameters = &parameters;
  large.output_artifacts = object(
      R"({"model": {"name": "model", "type": {)"
      R"("instanceSchema": "title: kfp.Model\ntype: object\nproperties:\n  framework:\n    type: string\n)"
      R"(  framework_version:\n    type: string\n"}, "metadata": {"name": "model"}},
          "metrics": {"name": "metrics", "type": {"schemaTitle": "kfp.Metrics"}, "metadata": {"name": "metrics"}}})");
  large.output_parameters =
      object(R"({"output_parameter_one": "STRING", "output_parameter_two": "INT"})");
  EXPECT_TRUE(fingerprint(large).starts_with("b498530c")) << fingerprint(large);
  EXPECT_TRUE(fingerprint(large).ends_with("f22e4e"));

  const std::string before = fingerprint(large);
  large.claims = {"b", "a", "b"};
  EXPECT_NE(fingerprint(large), before);
}

TEST(Expression, ConditionsAreThoseTheCompilerWrites) {
  const json::Object inputs =
      object(R"({"parameterValues": {"s": "heads", "n": 3.0, "f": 0.5, "b": true, "t": "1"}})");
  const auto holds = [&](const char* text) {
    Result<bool> got = evaluate_condition(text, inputs);
    return got ? (*got ? "yes" : "no") : got.error().message;
  };
  EXPECT_EQ(holds("inputs.parameter_values['s'] == 'heads'"), "yes");
  EXPECT_EQ(holds("!(inputs.parameter_values['s'] == 'heads')"), "no");
  EXPECT_EQ(
      holds("int(inputs.parameter_values['n']) >= 3 && !(inputs.parameter_values['s'] == 'x')"),
      "yes");
  EXPECT_EQ(holds("double(int(inputs.parameter_values['n'])) > 2.5"), "yes");
  EXPECT_EQ(holds("inputs.parameter_values['f'] < 0.6"), "yes");
  EXPECT_EQ(holds("inputs.parameter_values['b'] == true"), "yes");
  EXPECT_EQ(holds("inputs.parameter_values['t'] == '1'"), "yes");
  EXPECT_EQ(holds("inputs.parameter_values['n'] == 3"), "yes");
  EXPECT_NE(holds("inputs.parameter_values['zz'] == 1"), "yes");
  EXPECT_NE(holds("1 +"), "yes");
}

TEST(Expression, SelectorsReadJson) {
  const json::Value value = object(R"({"a": {"b": [1, 2]}, "k": "v"})");
  EXPECT_EQ(json::serialize(*select("parseJson(string_value)[\"k\"]", value)), "\"v\"");
  EXPECT_EQ(json::serialize(*select("parseJson(string_value)[\"a\"][\"b\"][1]", value)), "2");
  EXPECT_EQ(
      json::serialize(*select("parseJson(string_value).a.b", json::Value(json::serialize(value)))),
      "[1,2]");
  EXPECT_FALSE(select("parseJson(string_value)[\"x\"]", value));
  EXPECT_FALSE(select("parseJson(string_value)[9]", value));
  EXPECT_FALSE(select("eval(string_value)", value));
}

TEST(Placeholders, AreFilledInArguments) {
  ir::Component component;
  component.input_parameters["d"].default_value = 7.0;
  const json::Value input = object(R"({
    "inputs": {"parameterValues": {"x": "hi", "n": 3, "none": null},
               "artifacts": {"a": {"artifacts": [{"name": "a1", "uri": "minio://b/k", "metadata": {"rows": 5}}]}}},
    "outputs": {"parameters": {"o": {"outputFile": "/tmp/kfp/outputs/o"}},
                "artifacts": {"m": {"artifacts": [{"uri": "s3://b/m"}]}}, "outputFile": "/minio/x.json"}})");
  engine::Run run;
  run.facts.id = "r1";
  run.facts.display_name = "my run";
  const ContainerScope scope{component, input, run, "root", "t"};
  const auto fill = [&](const std::string& text) { return fill_text(text, scope); };
  EXPECT_EQ(fill("--x={{$.inputs.parameters['x']}} {{$.inputs.parameters['n']}}"), "--x=hi 3");
  EXPECT_EQ(fill("{{$.inputs.parameters['d']}}|{{$.inputs.parameters['gone']}}"), "7|");
  EXPECT_EQ(fill("{{$.inputs.artifacts['a'].path}} {{$.inputs.artifacts['a'].uri}}"),
            "/minio/b/k minio://b/k");
  EXPECT_EQ(fill("{{$.inputs.artifacts['a'].metadata['rows']}}"), "5");
  EXPECT_EQ(fill("{{$.outputs.parameters['o'].output_file}} {{$.outputs.artifacts['m'].path}}"),
            "/tmp/kfp/outputs/o /s3/b/m");
  EXPECT_EQ(
      fill("{{$.pipeline_job_uuid}} {{$.pipeline_job_name}} {{$.pipeline_google_cloud_location}}"),
      "r1 my run {{$.pipeline_google_cloud_location}}");
  EXPECT_EQ(fill("{{$}}"), json::serialize(input));
  const auto arguments = [&](const char* text) { return fill_arguments({text}, scope); };
  using Words = std::vector<std::string>;
  EXPECT_EQ(
      arguments(
          R"({"IfPresent": {"InputName": "x", "Then": ["--x", "{{$.inputs.parameters['x']}}"]}})"),
      (Words{"--x", "hi"}));
  EXPECT_EQ(arguments(R"({"IfPresent": {"InputName": "none", "Then": ["--x"]}})"), Words{});
  EXPECT_EQ(arguments(R"({"Concat": ["a=", "{{$.inputs.parameters['n']}}",)"
                      R"({"IfPresent": {"InputName": "z", "Then": "t", "Else": "e"}}]})"),
            Words{"a=3e"});
}

}  // namespace
}  // namespace hekla::pipelines::engine
