#include "pipelines/engine/placeholders.h"

#include <functional>
#include <optional>

#include "json/parse.h"
#include "model/time.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::engine {
namespace {

constexpr int kNestedMax = 32;

// Replaces each {{$...}} whose name `lookup` knows; others stay as they are.
std::string replace_each(
    const std::string& text,
    const std::function<std::optional<std::string>(std::string_view)>& lookup) {
  std::string made;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find("{{$", at);
    const std::size_t end = begin == std::string::npos ? begin : text.find("}}", begin);
    if (end == std::string::npos) return made + text.substr(at);
    made += text.substr(at, begin - at);
    const std::string_view name = std::string_view(text).substr(begin + 3, end - begin - 3);
    if (std::optional<std::string> value = lookup(name))
      made += *value;
    else
      made += text.substr(begin, end + 2 - begin);
    at = end + 2;
  }
}

// inputs.parameters['x'] -> x, with what follows the bracket in `rest`.
std::optional<std::string> key_after(std::string_view name, std::string_view prefix,
                                     std::string_view* rest = nullptr) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.size() < 4 || name[0] != '[' || (name[1] != '\'' && name[1] != '"')) return std::nullopt;
  const std::size_t end = name.find(std::string{name[1], ']'}, 2);
  if (end == std::string_view::npos) return std::nullopt;
  if (rest) *rest = name.substr(end + 2);
  return std::string(name.substr(2, end - 2));
}

// The part of a Workflow that its exit handler follows.
const Node* guarded_part(const Run& run) {
  for (auto at = run.nodes.lower_bound("root/"); at != run.nodes.end(); ++at)
    if (parent_id(at->first) == "root" && at->second.task != kExitTask) return &at->second;
  return nullptr;
}

std::string failures_below(const Run& run, const std::string& id) {
  json::Array failures;
  for (auto at = run.nodes.lower_bound(id); at != run.nodes.end() && at->first.starts_with(id);
       ++at) {
    const Node& node = at->second;
    if (node.state != NodeState::failed || node.kind == NodeKind::dag ||
        node.kind == NodeKind::loop)
      continue;
    json::Object one{{"displayName", node.task},
                     {"message", node.error},
                     {"templateName", node.component},
                     {"phase", "Failed"}};
    if (node.finished) one.emplace("finishedAt", model::format_rfc3339(*node.finished));
    failures.push_back(std::move(one));
  }
  return json::serialize(failures);
}

std::optional<std::string> workflow_fact(std::string_view name, const Run& run) {
  if (name == ".name") return run.facts.resource_name;
  if (name == ".uid") return run.facts.id;
  if (name == ".namespace") return run.facts.ns;
  if (name == ".serviceAccountName") return run.facts.service_account;
  if (name == ".creationTimestamp") return model::format_rfc3339(run.facts.created);
  const Node* root = run.find("root");
  const json::Value* values = root ? json::find(root->inputs, "parameterValues") : nullptr;
  if (const auto key = key_after(name, ".parameters")) {
    const json::Value* value = values ? json::find(*values, *key) : nullptr;
    return value ? ir::text_of(*value) : "";
  }
  const Node* part = guarded_part(run);
  if (part == nullptr) return std::nullopt;
  if (name == ".failures") return failures_below(run, part->id);
  if (name == ".status") return part->state == NodeState::succeeded ? "Succeeded" : "Failed";
  if (name == ".duration" && part->finished)
    return std::to_string(
        std::chrono::duration<double>(*part->finished - run.facts.created).count());
  return std::nullopt;
}

std::optional<std::string> run_fact(std::string_view name, const Run& run,
                                    const std::string& dag_id, const std::string& task_name) {
  if (name == ".pipeline_job_name") return run.facts.display_name;
  if (name == ".pipeline_job_resource_name") return run.facts.resource_name;
  if (name == ".pipeline_job_uuid") return run.facts.id;
  if (name == ".pipeline_task_name") return task_name;
  if (name == ".pipeline_task_uuid") return dag_id;
  if (name == ".pipeline_job_create_time_utc") return model::format_rfc3339(run.facts.created);
  if (name == ".pipeline_job_schedule_time_utc") return model::format_rfc3339(run.facts.scheduled);
  if (name == ".pipeline_root") return run.facts.pipeline_root;
  if (name == ".workspace_path") return "/kfp-workspace";
  if (name.starts_with(".workflow.")) return workflow_fact(name.substr(9), run);
  return std::nullopt;
}

// .path, .uri, .name, .metadata, .metadata['k'] of the first artifact of a list.
std::optional<std::string> artifact_fact(const json::Value& side, const std::string& name,
                                         std::string_view member) {
  const json::Array* list = json::array_at(side, {"artifacts", name, "artifacts"});
  if (list == nullptr || list->empty()) return "";
  const json::Value& artifact = list->front();
  if (member == ".uri") return json::text_at(artifact, {"uri"});
  if (member == ".path") {
    const std::string custom = json::text_at(artifact, {"custom_path"});
    return custom.empty() ? local_path(json::string_at(artifact, {"uri"})) : custom;
  }
  if (member == ".name") return json::text_at(artifact, {"name"});
  const json::Value* metadata = json::find(artifact, "metadata");
  if (member == ".metadata") return metadata ? ir::text_of(*metadata) : "{}";
  if (const auto key = key_after(member, ".metadata")) {
    const json::Value* value = metadata ? json::find(*metadata, *key) : nullptr;
    return value ? ir::text_of(*value) : "";
  }
  return std::nullopt;
}

std::optional<std::string> container_fact(std::string_view name, const ContainerScope& scope) {
  const json::Value& inputs = *json::find(scope.executor_input, "inputs");
  const json::Value& outputs = *json::find(scope.executor_input, "outputs");
  if (name.empty()) return json::serialize(scope.executor_input);
  std::string_view rest;
  if (const auto key = key_after(name, ".inputs.parameters", &rest); key && rest.empty()) {
    const json::Value* value = json::find_path(inputs, {"parameterValues", *key});
    if (value) return ir::text_of(*value);
    const auto wanted = scope.component.input_parameters.find(*key);
    if (wanted != scope.component.input_parameters.end() && wanted->second.default_value)
      return ir::text_of(*wanted->second.default_value);
    return "";
  }
  if (const auto key = key_after(name, ".inputs.artifacts", &rest))
    return artifact_fact(inputs, *key, rest);
  if (const auto key = key_after(name, ".outputs.artifacts", &rest))
    return artifact_fact(outputs, *key, rest);
  if (const auto key = key_after(name, ".outputs.parameters", &rest); key && rest == ".output_file")
    return json::text_at(outputs, {"parameters", *key, "outputFile"});
  if (name == ".outputs.output_file" || name == ".outputs.output_metadata_uri")
    return json::text_at(outputs, {"outputFile"});
  if (name == ".pod.name") return scope.pod_name;
  if (name == ".retries") return std::to_string(scope.retries);
  return run_fact(name, scope.run, scope.dag_id, scope.task_name);
}

bool is_present(const std::string& name, const ContainerScope& scope) {
  const json::Value& inputs = *json::find(scope.executor_input, "inputs");
  const json::Value* value = json::find_path(inputs, {"parameterValues", name});
  if (value && !value->is_null()) return true;
  const json::Array* list = json::array_at(inputs, {"artifacts", name, "artifacts"});
  return list && !list->empty();
}

void add_structured(const json::Value& value, const ContainerScope& scope, int depth,
                    std::vector<std::string>& out);

std::string concatenated(const json::Value& parts, const ContainerScope& scope, int depth) {
  std::vector<std::string> pieces;
  if (parts.is_array())
    for (const json::Value& part : parts.get_array())
      add_structured(part, scope, depth + 1, pieces);
  std::string made;
  for (const std::string& piece : pieces) made += piece;
  return made;
}

void add_structured(const json::Value& value, const ContainerScope& scope, int depth,
                    std::vector<std::string>& out) {
  if (depth > kNestedMax) return;
  if (value.is_array()) {
    for (const json::Value& one : value.get_array()) add_structured(one, scope, depth + 1, out);
  } else if (const json::Value* condition = json::find(value, "IfPresent")) {
    const bool present = is_present(json::text_at(*condition, {"InputName"}), scope);
    if (const json::Value* branch = json::find(*condition, present ? "Then" : "Else"))
      add_structured(*branch, scope, depth + 1, out);
  } else if (const json::Value* parts = json::find(value, "Concat")) {
    out.push_back(concatenated(*parts, scope, depth));
  } else if (!value.is_null()) {
    out.push_back(fill_text(ir::text_of(value), scope));
  }
}

}  // namespace

std::string fill_constant(std::string text, const json::Object& parameters, const Run& run,
                          const std::string& dag_id, const std::string& task_name) {
  if (text.find("{{$") == std::string::npos) return text;
  return replace_each(text, [&](std::string_view name) -> std::optional<std::string> {
    std::string_view rest;
    if (const auto key = key_after(name, ".inputs.parameters", &rest); key && rest.empty()) {
      const json::Value* value = json::find(parameters, *key);
      return value ? std::optional(ir::text_of(*value)) : std::nullopt;
    }
    return run_fact(name, run, dag_id, task_name);
  });
}

std::string fill_text(const std::string& text, const ContainerScope& scope) {
  return replace_each(text, [&](std::string_view name) { return container_fact(name, scope); });
}

json::Value fill_value(const json::Value& value, const ContainerScope& scope) {
  if (value.is_string())
    return json::Value(fill_text(std::string(json::sv(value.get_string())), scope));
  if (value.is_array()) {
    json::Array made;
    for (const json::Value& one : value.get_array()) made.push_back(fill_value(one, scope));
    return made;
  }
  if (!value.is_object()) return value;
  json::Object made;
  for (const auto& member : value.get_object())
    made.emplace(member.key(), fill_value(member.value(), scope));
  return made;
}

std::vector<std::string> fill_arguments(const std::vector<std::string>& texts,
                                        const ContainerScope& scope) {
  std::vector<std::string> made;
  for (const std::string& text : texts) {
    if (text.starts_with("{\"IfPresent\"") || text.starts_with("{\"Concat\"")) {
      // The compiler writes inner quotes of a placeholder with apostrophes, so this is JSON.
      if (Result<json::Value> structured = json::parse(text)) {
        add_structured(*structured, scope, 0, made);
        continue;
      }
    }
    made.push_back(fill_text(text, scope));
  }
  return made;
}

std::string local_path(std::string_view uri) {
  for (const auto& [scheme, root] :
       {std::pair<std::string_view, std::string_view>{"gs://", "/gcs/"},
        {"minio://", "/minio/"},
        {"s3://", "/s3/"}})
    if (uri.starts_with(scheme)) return std::string(root) + std::string(uri.substr(scheme.size()));
  if (uri.starts_with("oci://")) {
    std::string name(uri.substr(6));
    for (char& c : name)
      if (c == '/') c = '_';
    return "/oci/" + name + "/models";
  }
  return {};
}

}  // namespace hekla::pipelines::engine
