// A compiled pipeline as values: components, tasks, executors. Made by read_pipeline() of IR 2.1.0
// and by argo::read_workflow() of a Workflow; the engine and the driver know nothing of the text.
// Members marked "Argo" are empty in the former.
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
  std::string path;  // Argo: the file of an output; a newline at its end is not part of the value
};

struct ArtifactDefinition {
  json::Object type;  // schemaTitle or another, schemaVersion
  bool list = false;
  bool optional = false;
  json::Object metadata;
  std::string path;       // Argo: its place in the pod
  bool required = false;  // Argo: the step fails without this output
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
  std::string when;         // Argo: a condition with {{$...}} to be filled in
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
  std::int64_t parallelism = 0;  // Argo: tasks at the same time; 0: no limit
  bool keeps_going = false;  // Argo: a failure does not stop the tasks that need not wait for it
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
  // Argo: the pod with its first container ("main", without command and args); a patch of it, as
  // YAML; files with their texts that are there before the command. All may have {{$...}}.
  json::Value pod;
  std::string pod_patch;
  std::map<std::string, std::string> files;
};

// Argo: an object that is made, changed or removed.
struct ResourceStep {
  std::string action;    // create, apply, patch, get, delete
  std::string manifest;  // YAML with {{$...}}
  std::string merge;     // of a patch: strategic, merge, json
  std::string success, failure;
  bool may_be_missing = false;                 // when it is deleted
  std::map<std::string, std::string> outputs;  // parameter: JSONPath
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
  std::optional<ResourceStep> resource;
};

struct Pipeline {
  std::string name, display_name, description, default_root;
  std::map<std::string, Component> components;
  Component root;
  std::map<std::string, Executor> executors;
  // platforms.kubernetes of the second document: settings by executor, and of the pipeline.
  std::map<std::string, json::Object> kubernetes;
  json::Object config;
  bool argo = false;             // a skipped task does not hold up those that come after it
  std::int64_t parallelism = 0;  // Argo: pods at the same time; 0: no limit
  Nanos deadline{0};             // Argo: of the run; 0: none
  std::string service_account;   // Argo
};

}  // namespace hekla::pipelines::ir
