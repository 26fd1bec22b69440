#include "pipelines/argo/workflow.h"

#include "json/parse.h"
#include "pipelines/argo/references.h"
#include "pipelines/argo/templates.h"
#include "pipelines/engine/run.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::argo {
namespace {

constexpr std::size_t kTemplatesMax = 5'000;

Result<void> read_body(const Template& of, const Templates& all, const json::Value& spec,
                       ir::Pipeline& made) {
  int kinds = 0;
  for (const char* kind : {"container", "script", "dag", "steps", "resource"})
    kinds += json::find(*of.body, kind) != nullptr;
  if (kinds != 1)
    return refuse(of.where,
                  "exactly one of container, script, dag, steps and resource is required");
  ir::Component component = of.component;
  const bool group = json::find(*of.body, "dag") || json::find(*of.body, "steps");
  if (group) {
    for (const char* name : {"activeDeadlineSeconds", "timeout", "podSpecPatch", "volumes",
                             "initContainers", "sidecars"})
      if (json::find(*of.body, name))
        return refuse(of.where + "." + name, "not supported in a template of tasks");
    component.dag = TRY(read_tasks(of, all, made.components));
  } else {
    component.executor = of.name;
    std::optional<ir::Executor> executor = kubectl_delete(of);
    if (!executor)
      executor =
          TRY(json::find(*of.body, "resource") ? read_resource(of) : read_container(of, spec));
    made.executors.emplace(of.name, std::move(*executor));
  }
  made.components.insert_or_assign(of.name, std::move(component));
  return {};
}

// The task below the root that calls a template with the Workflow's own arguments.
Result<ir::Task> read_call(const std::string& name, const std::string& where, const Templates& all,
                           const ir::Component& root) {
  const auto found = all.find(name);
  if (found == all.end()) return refuse(where, "template name '" + name + "' undefined");
  ir::Task task;
  task.display_name = task.component = name;
  task.retry = found->second.retry;
  task.cache = found->second.cache;
  for (const auto& [input, definition] : found->second.component.input_parameters) {
    if (!root.input_parameters.contains(input)) continue;
    ir::ParameterSource source;
    source.from = ir::ParameterSource::From::component_input;
    source.name = input;
    task.parameters.emplace(input, std::move(source));
  }
  TRY(check_arguments(found->second, task, where));
  return task;
}

Result<void> read_root(const json::Value& spec, const Templates& all, ir::Pipeline& made) {
  if (const json::Value* arguments = json::find(spec, "arguments"))
    TRY(allow_only(*arguments, "spec.arguments", {"parameters"}));
  const json::Array* parameters = json::array_at(spec, {"arguments", "parameters"});
  for (std::size_t i = 0; parameters && i < parameters->size(); ++i) {
    const std::string where = "spec.arguments.parameters[" + std::to_string(i) + "]";
    const json::Value& one = (*parameters)[i];
    TRY(allow_only(one, where, {"name", "value", "default", "description", "enum"}));
    ir::ParameterDefinition definition;
    definition.type = ir::ParameterType::string;
    for (const char* member : {"default", "value"})
      if (const json::Value* given = json::find(one, member))
        definition.default_value = json::Value(ir::text_of(*given));
    made.root.input_parameters.emplace(json::text_at(one, {"name"}), std::move(definition));
  }
  ir::Dag dag;
  const std::string entry = json::text_at(spec, {"entrypoint"});
  if (entry.empty()) return refuse("spec.entrypoint", "an entry point is required");
  std::string main = entry == engine::kExitTask ? "main" : entry;
  dag.tasks.emplace(main, TRY(read_call(entry, "spec.entrypoint", all, made.root)));
  if (const std::string exit = json::text_at(spec, {"onExit"}); !exit.empty()) {
    ir::Task task = TRY(read_call(exit, "spec.onExit", all, made.root));
    task.exit_style = true;
    task.dependencies = {main};
    task.cache = false;
    dag.tasks.emplace(engine::kExitTask, std::move(task));
  }
  made.root.dag = std::move(dag);
  return {};
}

Result<ir::Pipeline> read_checked(const json::Value& workflow) {
  const json::Value* spec = json::find(workflow, "spec");
  if (spec == nullptr) return refuse("spec", "a spec is required");
  TRY(allow_only(*spec, "spec",
                 {"entrypoint",
                  "onExit",
                  "arguments",
                  "templates",
                  "serviceAccountName",
                  "volumes",
                  "nodeSelector",
                  "tolerations",
                  "affinity",
                  "imagePullSecrets",
                  "parallelism",
                  "activeDeadlineSeconds",
                  "podMetadata",
                  "securityContext",
                  "schedulerName",
                  "hostNetwork",
                  "dnsPolicy",
                  "dnsConfig",
                  "hostAliases",
                  "automountServiceAccountToken",
                  "podPriorityClassName",
                  "ttlStrategy",
                  "ttlSecondsAfterFinished",
                  "podGC",
                  "shutdown",
                  "workflowMetadata"}));
  ir::Pipeline made;
  made.argo = true;
  made.name = workflow_name(workflow);
  made.display_name = made.name;
  made.service_account = json::text_at(*spec, {"serviceAccountName"});
  for (const auto& [name, into] : {std::pair{"parallelism", &made.parallelism}})
    if (const json::Value* given = json::find(*spec, name))
      *into = TRY(whole_number(*given, std::string("spec.") + name));
  if (const json::Value* seconds = json::find(*spec, "activeDeadlineSeconds"))
    made.deadline = std::chrono::seconds(TRY(whole_number(*seconds, "spec.activeDeadlineSeconds")));
  const json::Array* list = json::array_at(*spec, {"templates"});
  if (list == nullptr || list->empty()) return refuse("spec.templates", "templates are required");
  if (list->size() > kTemplatesMax)
    return refuse("spec.templates", "more than " + std::to_string(kTemplatesMax));
  Templates templates;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Template one = TRY(read_head((*list)[i], "spec.templates[" + std::to_string(i) + "]"));
    const std::string name = one.name;
    if (!templates.emplace(name, std::move(one)).second)
      return refuse("spec.templates[" + std::to_string(i) + "].name",
                    "\"" + name + "\" is not unique");
  }
  for (const auto& [name, one] : templates) TRY(read_body(one, templates, *spec, made));
  TRY(read_root(*spec, templates, made));
  TRY(ir::check_pipeline(made));
  return made;
}

}  // namespace

std::string workflow_name(const json::Value& workflow) {
  const Result<json::Value> described = json::parse(json::string_at(
      workflow, {"metadata", "annotations", "pipelines.kubeflow.org/pipeline_spec"}));
  if (described)
    if (std::string name = json::text_at(*described, {"name"}); !name.empty()) return name;
  std::string name = json::text_at(workflow, {"metadata", "name"});
  if (name.empty()) name = json::text_at(workflow, {"metadata", "generateName"});
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "workflow" : name;
}

Result<ir::Pipeline> read_workflow(const json::Value& workflow) {
  Result<ir::Pipeline> made = read_checked(workflow);
  if (!made)
    return fail(Code::bad_request,
                "Invalid input error: invalid Workflow: " + made.error().message);
  return made;
}

Result<ir::Pipeline> read_pipeline(const ir::Package& package) {
  return package.argo ? read_workflow(package.spec) : ir::read_pipeline(package);
}

}  // namespace hekla::pipelines::argo
