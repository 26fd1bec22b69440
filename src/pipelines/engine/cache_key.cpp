#include "pipelines/engine/cache_key.h"

#include "base/crypto.h"
#include "pipelines/engine/fingerprint.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::engine {
namespace {

// A UUID's form over a digest: unique for each attempt, and the same when asked again.
std::string place_of(const Run& run, const Node& node) {
  const std::string hex =
      sha256_hex(run.facts.id + "\n" + node.id + "\n" + std::to_string(node.attempt));
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) + "-" +
         hex.substr(16, 4) + "-" + hex.substr(20, 12);
}

}  // namespace

Result<std::vector<std::string>> mounted_claims(const ir::Pipeline& pipeline, const Run& run,
                                                const Node& node) {
  std::vector<std::string> names;
  const auto settings = pipeline.kubernetes.find(component_of(pipeline, node.component).executor);
  if (settings == pipeline.kubernetes.end()) return names;
  const json::Value config(settings->second);
  const json::Array* mounts = json::array_at(config, {"pvcMount"});
  for (std::size_t i = 0; mounts && i < mounts->size(); ++i) {
    const json::Value& mount = (*mounts)[i];
    ir::ParameterSource source;
    if (const json::Value* given = json::find(mount, "pvcNameParameter")) {
      source = TRY(ir::read_parameter_source(*given, "pvcMount.pvcNameParameter"));
    } else if (const json::Value* constant = json::find(mount, "constant")) {
      source.constant = *constant;
    } else {
      json::Object old;
      for (const char* name : {"taskOutputParameter", "componentInputParameter"})
        if (const json::Value* value = json::find(mount, name)) old.emplace(name, *value);
      source = TRY(ir::read_parameter_source(old, "pvcMount"));
    }
    std::optional<json::Value> name = TRY(resolve_source(run, scope_of(run, node), source));
    names.push_back(name ? ir::text_of(*name) : std::string());
  }
  return names;
}

Result<std::string> cache_key(const ir::Pipeline& pipeline, const Run& run, const Node& node,
                              const ir::Task& task) {
  if (node.kind == NodeKind::delete_pvc) return std::string();
  if (node.kind == NodeKind::create_pvc &&
      json::find_path(json::Value(node.inputs), {"parameterValues", "pvc_name"}) == nullptr)
    return std::string();
  if (!task.cache_key.empty()) return fingerprint_of_key(task.component, task.cache_key);
  const ir::Component& component = component_of(pipeline, node.component);
  const ir::Container& container = *pipeline.executors.at(component.executor).container;
  FingerprintParts parts;
  parts.image = container.image;
  parts.command = container.command;
  parts.command.insert(parts.command.end(), container.args.begin(), container.args.end());
  if (!container.pod.is_null()) {
    // Of Argo's steps all of the template counts; one that differs in every run has no key.
    parts.command.push_back(json::serialize(container.pod) + container.pod_patch);
    for (const auto& [path, text] : container.files) parts.command.push_back(path + "\n" + text);
    for (const std::string& text : parts.command)
      for (const std::string_view fact : {"{{$.workflow.", "{{$.pod.", "{{$.retries"})
        if (text.find(fact) != std::string::npos) return std::string();
  }
  for (std::string& name : TRY(mounted_claims(pipeline, run, node)))
    if (!name.empty()) parts.claims.push_back(std::move(name));
  const json::Value inputs(node.inputs);
  parts.parameters = json::object_at(inputs, {"parameterValues"});
  if (const json::Object* artifacts = json::object_at(inputs, {"artifacts"}))
    for (const auto& member : *artifacts) {
      json::Array names;
      if (member.value().is_array())
        for (const json::Value& one : member.value().get_array())
          names.emplace_back(json::string_at(one, {"uri"}));
      parts.artifact_names.emplace(member.key(), std::move(names));
    }
  for (const auto& [name, definition] : component.output_artifacts) {
    json::Object spec{{"name", name}, {"type", definition.type}};
    if (!definition.metadata.empty()) spec.emplace("metadata", definition.metadata);
    parts.output_artifacts.emplace(name, std::move(spec));
  }
  for (const auto& [name, definition] : component.output_parameters)
    parts.output_parameters.emplace(name, ir::name_of(definition.type));
  return fingerprint(parts);
}

json::Value executor_input(const ir::Pipeline& pipeline, const Run& run, const Node& node) {
  const ir::Component& component = component_of(pipeline, node.component);
  std::string root = run.facts.pipeline_root;
  root.resize(std::min(root.find('?'), root.size()));
  while (root.ends_with('/')) root.pop_back();
  const std::string place =
      root + "/" + pipeline.name + "/" + run.facts.id + "/" + node.task + "/" + place_of(run, node);
  json::Object inputs, outputs, out_parameters, out_artifacts, in_artifacts;
  const json::Value given(node.inputs);
  const json::Value* parameters = json::find(given, "parameterValues");
  inputs.emplace("parameterValues", parameters ? *parameters : json::Value(json::Object{}));
  if (const json::Object* artifacts = json::object_at(given, {"artifacts"}))
    for (const auto& member : *artifacts) {
      json::Value list = member.value();
      const auto wanted = component.input_artifacts.find(std::string(member.key()));
      if (wanted != component.input_artifacts.end() && !wanted->second.path.empty() &&
          list.is_array())
        for (json::Value& one : list.get_array())
          json::at_path(one, {"custom_path"}) = json::Value(wanted->second.path);
      in_artifacts.emplace(member.key(), json::Object{{"artifacts", std::move(list)}});
    }
  inputs.emplace("artifacts", std::move(in_artifacts));
  for (const auto& [name, definition] : component.output_parameters)
    out_parameters.emplace(
        name, json::Object{{"outputFile", definition.path.empty() ? "/tmp/kfp/outputs/" + name
                                                                  : definition.path}});
  for (const auto& [name, definition] : component.output_artifacts) {
    json::Object artifact{{"name", name},
                          {"type", definition.type},
                          {"uri", place + "/" + name},
                          {"metadata", definition.metadata}};
    if (!definition.path.empty()) artifact.emplace("custom_path", definition.path);
    out_artifacts.emplace(name, json::Object{{"artifacts", json::Array{std::move(artifact)}}});
  }
  outputs.emplace("parameters", std::move(out_parameters));
  outputs.emplace("artifacts", std::move(out_artifacts));
  if (!pipeline.argo) {
    std::string file = local_path(place);
    if (file.empty()) file = "/tmp/kfp/" + place_of(run, node);
    outputs.emplace("outputFile", file + "/output_metadata.json");
  }
  return json::Object{{"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
}

}  // namespace hekla::pipelines::engine
