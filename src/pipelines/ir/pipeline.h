// A compiled pipeline (IR 2.1.0) as values: components, tasks, executors. Made by read_pipeline();
// the engine and the driver know nothing of the text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "json/value.h"

namespace hekla::pipelines::ir {

enum class ParameterType {
  unspecified,
  number_double,
  number_integer,
  string,
  boolean,
  list,
  structure,
  task_final_status,
  task_config
};
std::string_view name_of(ParameterType type);  // NUMBER_DOUBLE

struct ParameterDefinition {
  ParameterType type = ParameterType::unspecified;
  std::optional<json::Value> default_value;
  bool optional = false;
  json::Array literals;
};

struct ArtifactDefinition {
  json::Object type;  // schemaTitle or another, schemaVersion
  bool list = false;
  bool optional = false;
  json::Object metadata;
};

// Where a task's input parameter comes from.
struct ParameterSource {
  enum class From { constant, component_input, task_output, final_status } from = From::constant;
  json::Value constant;
  std::string name;  // the component's input, or the task that makes it
  std::string key;   // of the task's output
  std::string selector;
};

struct ArtifactSource {
  bool from_task = false;
  std::string name, key;
};

struct Iterator {
  bool artifacts = false;
  std::string item_input;
  std::optional<std::string> raw;  // a JSON list
  std::string input;               // otherwise: the input whose value is the list
  std::int64_t parallelism = 0;    // 0: no limit
};

struct RetryPolicy {
  std::int64_t max_retries = 0;
  Nanos backoff{0};
  double factor = 2.0;
  Nanos window{std::chrono::hours(1)};  // of all attempts together
};

struct Task {
  std::string display_name, component;
  std::map<std::string, ParameterSource> parameters;
  std::map<std::string, ArtifactSource> artifacts;
  std::vector<std::string> dependencies;  // named ones and producers of inputs, each once
  std::string condition;
  bool exit_style = false;  // ALL_UPSTREAM_TASKS_COMPLETED
  std::optional<Iterator> iterator;
  std::optional<RetryPolicy> retry;
  bool cache = false;
  std::string cache_key;
};

// One output of a DAG: the first of these whose task has it.
struct OutputSelector {
  std::string task, key;
};

struct Dag {
  std::map<std::string, Task> tasks;
  std::map<std::string, std::vector<OutputSelector>> parameters, artifacts;
};

struct Component {
  std::map<std::string, ParameterDefinition> input_parameters, output_parameters;
  std::map<std::string, ArtifactDefinition> input_artifacts, output_artifacts;
  std::optional<Dag> dag;
  std::string executor;
};

struct Container {
  std::string image;
  std::vector<std::string> command, args;
  json::Array env;
  json::Object resources;
};

struct Importer {
  json::Value uri;  // a string, or null: from `uri_parameter`
  std::string uri_parameter;
  json::Object type;
  json::Object metadata;
  bool reimport = false;
  bool to_workspace = false;
};

struct Executor {
  std::optional<Container> container;
  std::optional<Importer> importer;
  json::Object resolver;  // outputArtifactQueries
  bool is_resolver = false;
};

struct Pipeline {
  std::string name, display_name, description, default_root;
  std::map<std::string, Component> components;
  Component root;
  std::map<std::string, Executor> executors;
  // platforms.kubernetes of the second document: settings by executor, and of the pipeline.
  std::map<std::string, json::Object> kubernetes;
  json::Object config;
};

}  // namespace hekla::pipelines::ir
