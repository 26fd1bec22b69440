#include "pipelines/driver/step_pod.h"

#include "framework/pods.h"
#include "pipelines/driver/argo_pod.h"
#include "pipelines/driver/platform_settings.h"
#include "pipelines/engine/cache_key.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::driver {
namespace {

constexpr const char* kLauncher = "/kfp-launcher/hekla-launch";
constexpr const char* kResultBucket = "mlpipeline";

const ir::Container& container_of(const ir::Pipeline& pipeline, const engine::Node& node) {
  const std::string& executor = engine::component_of(pipeline, node.component).executor;
  return *pipeline.executors.at(executor).container;
}

json::Object field_env(const char* name, const char* path) {
  return {{"name", name},
          {"valueFrom", json::Object{{"fieldRef", json::Object{{"fieldPath", path}}}}}};
}

// minio://bucket/key; nothing for other schemes.
std::optional<ObjectPlace> place_of(std::string_view uri) {
  for (const std::string_view scheme : {"minio://", "s3://", "gs://"}) {
    if (!uri.starts_with(scheme)) continue;
    uri.remove_prefix(scheme.size());
    const std::size_t slash = uri.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == uri.size())
      return std::nullopt;
    return ObjectPlace{std::string(uri.substr(0, slash)), std::string(uri.substr(slash + 1))};
  }
  return std::nullopt;
}

// New string fields win over the old numbers; memory of those is in units of 10^9 bytes.
void set_resource(const ir::Container& container, const engine::ContainerScope& scope,
                  const char* text_field, const char* number_field, const char* unit,
                  const char* side, const char* resource, json::Value& resources) {
  const json::Value all(container.resources);
  if (const std::string text = json::text_at(all, {text_field}); !text.empty()) {
    if (std::string filled = engine::fill_text(text, scope); !filled.empty())
      json::at_path(resources, {side, resource}) = json::Value(filled);
    return;
  }
  const json::Value* number = json::find(all, number_field);
  if (number && number->is_number() && ir::text_of(*number) != "0")
    json::at_path(resources, {side, resource}) = json::Value(ir::text_of(*number) + unit);
}

json::Value resources_of(const ir::Container& container, const engine::ContainerScope& scope) {
  json::Value made = json::Object{};
  set_resource(container, scope, "resourceCpuLimit", "cpuLimit", "", "limits", "cpu", made);
  set_resource(container, scope, "resourceCpuRequest", "cpuRequest", "", "requests", "cpu", made);
  set_resource(container, scope, "resourceMemoryLimit", "memoryLimit", "G", "limits", "memory",
               made);
  set_resource(container, scope, "resourceMemoryRequest", "memoryRequest", "G", "requests",
               "memory", made);
  const json::Value all(container.resources);
  std::string type = json::text_at(all, {"accelerator", "resourceType"});
  std::string count = json::text_at(all, {"accelerator", "resourceCount"});
  if (type.empty()) type = json::text_at(all, {"accelerator", "type"});
  if (count.empty()) count = json::text_at(all, {"accelerator", "count"});
  type = engine::fill_text(type, scope);
  count = engine::fill_text(count, scope);
  if (!type.empty() && !count.empty() && count != "0")
    json::at_path(made, {"limits", type}) = json::Value(count);
  return made;
}

json::Array launcher_env(const engine::Node& node, const StepOptions& options) {
  return {field_env("KFP_POD_NAME", "metadata.name"), field_env("KFP_POD_UID", "metadata.uid"),
          json::Object{{"name", "KFP_RETRY_INDEX"},
                       {"value", std::to_string(node.attempt - node.first_attempt)}},
          json::Object{{"name", "HEKLA_LAUNCH_ADDRESS"}, {"value", options.launch_address}},
          json::Object{{"name", "HEKLA_LAUNCH_TOKEN"}, {"value", options.launch_token}}};
}

json::Array& list_in(json::Value& value, std::initializer_list<std::string_view> path) {
  json::Value& list = json::at_path(value, path);
  if (!list.is_array()) list = json::Array{};
  return list.get_array();
}

void set_queue(json::Value& pod, const std::string& queue) {
  if (queue.empty()) return;
  json::at_path(pod, {"spec", "schedulerName"}) = "volcano";
  json::at_path(pod, {"metadata", "annotations", "scheduling.volcano.sh/queue-name"}) = queue;
}

// Makes a pod that its author has written a step of the run: the launcher in place of the command,
// name, account and labels.
void add_launcher(json::Value& pod, json::Array env, const engine::Run& run,
                  const engine::Node& node, const StepOptions& options) {
  json::Value& main = list_in(pod, {"spec", "containers"})[0];
  json::at_path(main, {"command"}) = json::Array{kLauncher};
  for (json::Value& one : env) list_in(main, {"env"}).push_back(std::move(one));
  list_in(main, {"volumeMounts"})
      .push_back(json::Object{
          {"name", "kfp-launcher"}, {"mountPath", "/kfp-launcher"}, {"readOnly", true}});
  list_in(pod, {"spec", "volumes"})
      .push_back(
          json::Object{{"name", "kfp-launcher"},
                       {"csi", json::Object{{"driver", kLauncherVolume}, {"readOnly", true}}}});
  json::at_path(pod, {"spec", "restartPolicy"}) = "Never";
  if (json::string_at(pod, {"spec", "serviceAccountName"}).empty())
    json::at_path(pod, {"spec", "serviceAccountName"}) = json::Value(options.service_account);
  json::at_path(pod, {"metadata", "name"}) = json::Value(engine::step_pod_name(run, node));
  json::at_path(pod, {"metadata", "labels", "pipeline/runid"}) = json::Value(run.facts.id);
  json::at_path(pod, {"metadata", "labels", "workflows.argoproj.io/workflow"}) =
      json::Value(run.facts.resource_name);
  json::at_path(pod, {"metadata", "annotations", "hekla.io/pipeline-node"}) = json::Value(node.id);
  set_queue(pod, options.queue);
}

engine::ContainerScope scope_of_step(const ir::Component& component, const json::Value& input,
                                     const engine::Run& run, const engine::Node& node) {
  return {component,
          input,
          run,
          engine::parent_id(node.id),
          node.task,
          engine::step_pod_name(run, node),
          node.attempt - node.first_attempt};
}

// In a pod the author's path, if there is one, else the place that follows from the URI.
std::string pod_path(const json::Value& artifact) {
  const std::string chosen = json::text_at(artifact, {"custom_path"});
  return chosen.empty() ? engine::local_path(json::string_at(artifact, {"uri"})) : chosen;
}

}  // namespace

ObjectPlace step_result_place(const engine::Run& run, const engine::Node& node) {
  return {kResultBucket,
          "launch/" + run.facts.id + "/" + engine::step_pod_name(run, node) + "/result.json"};
}

Result<json::Value> step_pod(const ir::Pipeline& pipeline, const engine::Run& run,
                             const engine::Node& node, const StepOptions& options) {
  const ir::Container& container = container_of(pipeline, node);
  const ir::Component& component = engine::component_of(pipeline, node.component);
  const json::Value input = engine::executor_input(pipeline, run, node);
  const engine::ContainerScope scope = scope_of_step(component, input, run, node);
  json::Array env = launcher_env(node, options);
  if (!container.pod.is_null()) {
    json::Value pod = TRY(argo_pod(container, scope));
    add_launcher(pod, std::move(env), run, node, options);
    return pod;
  }
  for (const json::Value& one : container.env)
    env.push_back(json::Object{{"name", json::string_at(one, {"name"})},
                               {"value", engine::fill_text(json::text_at(one, {"value"}), scope)}});
  json::Array mounts{
      json::Object{{"name", "kfp-launcher"}, {"mountPath", "/kfp-launcher"}, {"readOnly", true}}};
  json::Array volumes{
      json::Object{{"name", "kfp-launcher"},
                   {"csi", json::Object{{"driver", kLauncherVolume}, {"readOnly", true}}}}};
  for (const auto& [name, path] :
       {std::pair{"gcs-scratch", "/gcs"}, std::pair{"s3-scratch", "/s3"},
        std::pair{"minio-scratch", "/minio"}, std::pair{"dot-local-scratch", "/.local"},
        std::pair{"dot-cache-scratch", "/.cache"}, std::pair{"dot-config-scratch", "/.config"}}) {
    mounts.push_back(json::Object{{"name", name}, {"mountPath", path}});
    volumes.push_back(json::Object{{"name", name}, {"emptyDir", json::Object{}}});
  }
  json::Object main{{"name", "main"},
                    {"image", engine::fill_text(container.image, scope)},
                    {"command", json::Array{kLauncher}},
                    {"env", std::move(env)},
                    {"volumeMounts", std::move(mounts)},
                    {"resources", resources_of(container, scope)}};
  json::Value pod = json::Object{
      {"metadata",
       json::Object{
           {"name", engine::step_pod_name(run, node)},
           {"labels", json::Object{{"pipeline/runid", run.facts.id},
                                   {"pipelines.kubeflow.org/v2_component", "true"},
                                   {"workflows.argoproj.io/workflow", run.facts.resource_name}}},
           {"annotations", json::Object{{"hekla.io/pipeline-node", node.id}}}}},
      {"spec", json::Object{{"restartPolicy", "Never"},
                            {"serviceAccountName", options.service_account},
                            {"containers", json::Array{std::move(main)}},
                            {"volumes", std::move(volumes)}}}};
  set_queue(pod, options.queue);
  TRY(apply_settings(pipeline, run, node, pod));
  return pod;
}

Result<LaunchGrant> step_grant(const ir::Pipeline& pipeline, const engine::Run& run,
                               const engine::Node& node) {
  const ir::Container& container = container_of(pipeline, node);
  const ir::Component& component = engine::component_of(pipeline, node.component);
  const json::Value input = engine::executor_input(pipeline, run, node);
  const engine::ContainerScope scope = scope_of_step(component, input, run, node);
  LaunchGrant grant;
  json::Array argv, inputs, parents, parameters, artifacts, files;
  for (const auto& [path, text] : container.files)
    files.push_back(json::Object{{"path", path}, {"text", engine::fill_text(text, scope)}});
  for (const auto* texts : {&container.command, &container.args})
    for (std::string& word : engine::fill_arguments(*texts, scope)) argv.emplace_back(word);
  if (const json::Object* all = json::object_at(input, {"inputs", "artifacts"}))
    for (const auto& member : *all) {
      const json::Array* list = json::array_at(member.value(), {"artifacts"});
      for (std::size_t i = 0; list && i < list->size(); ++i) {
        const std::string_view uri = json::string_at((*list)[i], {"uri"});
        const std::optional<ObjectPlace> place = place_of(uri);
        if (!place) continue;
        inputs.push_back(json::Object{{"name", member.key()},
                                      {"bucket", place->bucket},
                                      {"key", place->key},
                                      {"path", pod_path((*list)[i])}});
        grant.reads.push_back(*place);
      }
    }
  for (const auto& [name, definition] : component.output_parameters) {
    const std::string path = json::text_at(input, {"outputs", "parameters", name, "outputFile"});
    parents.emplace_back(path);
    parameters.push_back(json::Object{{"name", name}, {"path", path}});
  }
  for (const auto& [name, definition] : component.output_artifacts) {
    const json::Array* list = json::array_at(input, {"outputs", "artifacts", name, "artifacts"});
    const std::string uri = json::text_at(list->front(), {"uri"});
    const std::optional<ObjectPlace> place = place_of(uri);
    if (!place)
      return fail(Code::bad_request, "the pipeline root " + run.facts.pipeline_root +
                                         " is neither minio://, s3:// nor gs://");
    const std::string path = pod_path(list->front());
    parents.emplace_back(path);
    json::Object artifact{
        {"name", name}, {"path", path}, {"bucket", place->bucket}, {"key", place->key}};
    if (definition.required) artifact.emplace("required", true);
    artifacts.push_back(std::move(artifact));
    grant.writes.push_back(*place);
  }
  const std::string file = json::text_at(input, {"outputs", "outputFile"});
  if (!file.empty()) parents.emplace_back(file);
  grant.task =
      json::Object{{"argv", std::move(argv)},           {"inputs", std::move(inputs)},
                   {"makeParents", std::move(parents)}, {"parameters", std::move(parameters)},
                   {"artifacts", std::move(artifacts)}, {"outputFile", file},
                   {"files", std::move(files)}};
  grant.result = step_result_place(run, node);
  return grant;
}

}  // namespace hekla::pipelines::driver
