#include "pipelines/ir/read.h"

#include <algorithm>
#include <set>

#include "json/go_text.h"
#include "model/time.h"
#include "pipelines/ir/fields.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::ir {
namespace {

// Tasks of all DAGs together, and components: far beyond what anybody compiles.
constexpr std::size_t kTasksMax = 20'000;

Error invalid(std::string reason) {
  return {
      Code::bad_request,
      "Invalid input error: invalid pipeline spec: invalid v2 pipeline spec: " + std::move(reason)};
}

Result<ParameterType> type_from(const std::string& name, const std::string& where) {
  for (int i = 0; i <= static_cast<int>(ParameterType::task_config); ++i)
    if (name_of(static_cast<ParameterType>(i)) == name) return static_cast<ParameterType>(i);
  return fail(Code::bad_request, "invalid value for enum field parameterType: " +
                                     json::go_quote(name) + " (in " + where + ")");
}

template <class Read>
Result<void> each(const json::Object* map, Read read) {
  if (map == nullptr) return {};
  for (const auto& member : *map) TRY(read(std::string(member.key()), member.value()));
  return {};
}

Result<std::map<std::string, ParameterDefinition>> read_parameters(const json::Object* map,
                                                                   const std::string& where) {
  std::map<std::string, ParameterDefinition> made;
  TRY(each(map, [&](const std::string& name, const json::Value& value) -> Result<void> {
    Fields fields(&value, where + "." + name);
    ParameterDefinition one;
    std::string type = fields.text("parameterType");
    if (type.empty()) {
      // Schema 2.0's own names, still allowed by the messages.
      const std::string old = fields.text("type");
      type = old == "INT" ? "NUMBER_INTEGER" : old == "DOUBLE" ? "NUMBER_DOUBLE" : old;
    }
    if (!type.empty()) one.type = TRY(type_from(type, fields.where()));
    if (const json::Value* given = fields.take("defaultValue")) one.default_value = *given;
    one.optional = fields.boolean("isOptional");
    if (const json::Array* literals = fields.array("literals")) one.literals = *literals;
    fields.take("description");
    TRY(fields.finish());
    made.emplace(name, std::move(one));
    return {};
  }));
  return made;
}

Result<std::map<std::string, ArtifactDefinition>> read_artifacts(const json::Object* map,
                                                                 const std::string& where) {
  std::map<std::string, ArtifactDefinition> made;
  TRY(each(map, [&](const std::string& name, const json::Value& value) -> Result<void> {
    Fields fields(&value, where + "." + name);
    ArtifactDefinition one;
    if (const json::Value* type = fields.take("artifactType")) {
      Fields inner(type, fields.where() + ".artifactType");
      for (const char* member : {"schemaTitle", "schemaUri", "instanceSchema", "schemaVersion"})
        if (std::string text = inner.text(member); !text.empty()) one.type.emplace(member, text);
      TRY(inner.finish());
    }
    one.list = fields.boolean("isArtifactList");
    one.optional = fields.boolean("isOptional");
    if (const json::Object* metadata = fields.object("metadata")) one.metadata = *metadata;
    for (const char* ignored : {"description", "properties", "customProperties"})
      fields.take(ignored);
    TRY(fields.finish());
    made.emplace(name, std::move(one));
    return {};
  }));
  return made;
}

Result<void> read_inputs(const json::Value* value, const std::string& where, Task& task) {
  Fields inputs(value, where);
  TRY(each(inputs.object("parameters"),
           [&](const std::string& name, const json::Value& one) -> Result<void> {
             task.parameters.emplace(name, TRY(read_parameter_source(one, where + "." + name)));
             return {};
           }));
  TRY(each(inputs.object("artifacts"),
           [&](const std::string& name, const json::Value& one) -> Result<void> {
             Fields fields(&one, where + "." + name);
             ArtifactSource source;
             source.name = fields.text("componentInputArtifact");
             if (const json::Value* output = fields.take("taskOutputArtifact")) {
               Fields inner(output, fields.where());
               source.from_task = true;
               source.name = inner.text("producerTask");
               source.key = inner.text("outputArtifactKey");
               TRY(inner.finish());
             }
             TRY(fields.finish());
             if (source.name.empty())
               return fail(Code::bad_request, fields.where() + ": no source is given");
             task.artifacts.emplace(name, std::move(source));
             return {};
           }));
  return inputs.finish();
}

Result<void> read_policies(Fields& fields, Task& task) {
  const std::string& where = fields.where();
  Fields caching(fields.take("cachingOptions"), where + ".cachingOptions");
  task.cache = caching.boolean("enableCache");
  task.cache_key = caching.text("cacheKey");
  TRY(caching.finish());
  Fields trigger(fields.take("triggerPolicy"), where + ".triggerPolicy");
  task.condition = trigger.text("condition");
  const std::string strategy = trigger.text("strategy");
  task.exit_style = strategy == "ALL_UPSTREAM_TASKS_COMPLETED";
  if (!task.exit_style && !strategy.empty() && strategy != "ALL_UPSTREAM_TASKS_SUCCEEDED" &&
      strategy != "TRIGGER_STRATEGY_UNSPECIFIED")
    return fail(Code::bad_request,
                where + ": invalid value for enum field strategy: " + json::go_quote(strategy));
  TRY(trigger.finish());
  if (const json::Value* retry = fields.take("retryPolicy")) {
    Fields inner(retry, where + ".retryPolicy");
    RetryPolicy policy;
    policy.max_retries = inner.integer("maxRetryCount");
    const std::string backoff = inner.text("backoffDuration");
    if (!backoff.empty()) policy.backoff = TRY(model::parse_go_duration(backoff));
    if (inner.take("backoffFactor")) policy.factor = inner.real("backoffFactor");
    const std::string window = inner.text("backoffMaxDuration");
    if (!window.empty()) policy.window = TRY(model::parse_go_duration(window));
    TRY(inner.finish());
    task.retry = policy;
  }
  return {};
}

Result<void> read_iterator(Fields& fields, Task& task) {
  const json::Value* parameter = fields.take("parameterIterator");
  const json::Value* artifact = fields.take("artifactIterator");
  Fields policy(fields.take("iteratorPolicy"), fields.where() + ".iteratorPolicy");
  const std::int64_t parallelism = policy.integer("parallelismLimit");
  TRY(policy.finish());
  if (parameter == nullptr && artifact == nullptr) return {};
  Iterator iterator;
  iterator.artifacts = parameter == nullptr;
  iterator.parallelism = std::max<std::int64_t>(parallelism, 0);
  Fields inner(parameter ? parameter : artifact, fields.where() + ".iterator");
  iterator.item_input = inner.text("itemInput");
  Fields items(inner.take("items"), inner.where() + ".items");
  if (const json::Value* raw = items.take("raw"); raw && raw->is_string())
    iterator.raw = std::string(json::sv(raw->get_string()));
  iterator.input = items.text(parameter ? "inputParameter" : "inputArtifact");
  TRY(items.finish());
  TRY(inner.finish());
  if (iterator.item_input.empty() || (!iterator.raw && iterator.input.empty()))
    return fail(Code::bad_request, fields.where() + ": an iterator needs itemInput and items");
  task.iterator = std::move(iterator);
  return {};
}

void depend_on(Task& task, const std::string& producer) {
  if (std::ranges::find(task.dependencies, producer) == task.dependencies.end())
    task.dependencies.push_back(producer);
}

Result<Task> read_task(const std::string& name, const json::Value& value,
                       const std::string& where) {
  Fields fields(&value, where);
  Task task;
  Fields info(fields.take("taskInfo"), where + ".taskInfo");
  task.display_name = info.text("name");
  info.take("taskId");
  TRY(info.finish());
  if (task.display_name.empty()) task.display_name = name;
  Fields component(fields.take("componentRef"), where + ".componentRef");
  task.component = component.text("name");
  TRY(component.finish());
  TRY(read_inputs(fields.take("inputs"), where + ".inputs", task));
  for (const std::string& one : fields.texts("dependentTasks")) depend_on(task, one);
  TRY(read_policies(fields, task));
  TRY(read_iterator(fields, task));
  TRY(fields.finish());
  for (const auto& [input, source] : task.parameters)
    if (source.from == ParameterSource::From::task_output ||
        source.from == ParameterSource::From::final_status)
      depend_on(task, source.name);
  for (const auto& [input, source] : task.artifacts)
    if (source.from_task) depend_on(task, source.name);
  return task;
}

Result<OutputSelector> read_selector(const json::Value& value, const char* key,
                                     const std::string& where) {
  Fields fields(&value, where);
  OutputSelector made{fields.text("producerSubtask"), fields.text(key)};
  TRY(fields.finish());
  return made;
}

Result<void> read_dag_outputs(const json::Value* value, const std::string& where, Dag& dag) {
  Fields outputs(value, where);
  TRY(each(
      outputs.object("parameters"),
      [&](const std::string& name, const json::Value& one) -> Result<void> {
        std::vector<OutputSelector>& selectors = dag.parameters[name];
        Fields fields(&one, where + "." + name);
        if (const json::Value* single = fields.take("valueFromParameter"))
          selectors.push_back(TRY(read_selector(*single, "outputParameterKey", fields.where())));
        Fields several(fields.take("valueFromOneof"), fields.where());
        if (const json::Array* list = several.array("parameterSelectors"))
          for (const json::Value& each_one : *list)
            selectors.push_back(TRY(read_selector(each_one, "outputParameterKey", fields.where())));
        TRY(several.finish());
        return fields.finish();
      }));
  TRY(each(outputs.object("artifacts"),
           [&](const std::string& name, const json::Value& one) -> Result<void> {
             Fields fields(&one, where + "." + name);
             if (const json::Array* list = fields.array("artifactSelectors"))
               for (const json::Value& each_one : *list)
                 dag.artifacts[name].push_back(
                     TRY(read_selector(each_one, "outputArtifactKey", fields.where())));
             return fields.finish();
           }));
  return outputs.finish();
}

Result<Dag> read_dag(const json::Value& value, const std::string& where) {
  Fields fields(&value, where);
  Dag dag;
  TRY(each(fields.object("tasks"),
           [&](const std::string& name, const json::Value& one) -> Result<void> {
             if (name.empty() || name.find('/') != std::string::npos)
               return fail(Code::bad_request,
                           where + ": a task cannot be named " + json::go_quote(name));
             dag.tasks.emplace(name, TRY(read_task(name, one, where + ".tasks." + name)));
             return {};
           }));
  TRY(read_dag_outputs(fields.take("outputs"), where + ".outputs", dag));
  TRY(fields.finish());
  return dag;
}

Result<Component> read_component(const json::Value& value, const std::string& where) {
  Fields fields(&value, where);
  Component made;
  Fields inputs(fields.take("inputDefinitions"), where + ".inputDefinitions");
  made.input_parameters = TRY(read_parameters(inputs.object("parameters"), inputs.where()));
  made.input_artifacts = TRY(read_artifacts(inputs.object("artifacts"), inputs.where()));
  TRY(inputs.finish());
  Fields outputs(fields.take("outputDefinitions"), where + ".outputDefinitions");
  made.output_parameters = TRY(read_parameters(outputs.object("parameters"), outputs.where()));
  made.output_artifacts = TRY(read_artifacts(outputs.object("artifacts"), outputs.where()));
  TRY(outputs.finish());
  if (const json::Value* dag = fields.take("dag")) made.dag = TRY(read_dag(*dag, where + ".dag"));
  made.executor = fields.text("executorLabel");
  for (const char* ignored : {"singlePlatformSpecs", "taskConfigPassthroughs"})
    fields.take(ignored);
  TRY(fields.finish());
  return made;
}

Result<Container> read_container(const json::Value& value, const std::string& where) {
  Fields fields(&value, where);
  Container made;
  made.image = fields.text("image");
  made.command = fields.texts("command");
  made.args = fields.texts("args");
  if (const json::Array* env = fields.array("env")) made.env = *env;
  if (const json::Object* resources = fields.object("resources")) made.resources = *resources;
  fields.take("lifecycle");
  TRY(fields.finish());
  return made;
}

Result<Importer> read_importer(const json::Value& value, const std::string& where) {
  Fields fields(&value, where);
  Importer made;
  Fields uri(fields.take("artifactUri"), where + ".artifactUri");
  if (const json::Value* constant = uri.take("constant")) made.uri = *constant;
  if (const json::Value* old = uri.take("constantValue"))
    made.uri = json::Value(json::text_at(*old, {"stringValue"}));
  made.uri_parameter = uri.text("runtimeParameter");
  TRY(uri.finish());
  if (const json::Object* type = fields.object("typeSchema")) made.type = *type;
  if (const json::Object* metadata = fields.object("metadata")) made.metadata = *metadata;
  made.reimport = fields.boolean("reimport");
  made.to_workspace = fields.boolean("downloadToWorkspace");
  for (const char* ignored : {"properties", "customProperties"}) fields.take(ignored);
  TRY(fields.finish());
  return made;
}

Result<void> read_executors(const json::Value* deployment, Pipeline& pipeline) {
  Fields fields(deployment, "deploymentSpec");
  TRY(each(fields.object("executors"),
           [&](const std::string& name, const json::Value& value) -> Result<void> {
             Fields one(&value, "deploymentSpec.executors." + name);
             Executor executor;
             if (const json::Value* container = one.take("container"))
               executor.container = TRY(read_container(*container, one.where()));
             if (const json::Value* importer = one.take("importer"))
               executor.importer = TRY(read_importer(*importer, one.where()));
             if (const json::Value* resolver = one.take("resolver")) {
               executor.is_resolver = true;
               if (const json::Object* queries =
                       json::object_at(*resolver, {"outputArtifactQueries"}))
                 executor.resolver = *queries;
             }
             if (one.take("customJob"))
               return fail(Code::bad_request,
                           one.where() + ": customJob runs on Google's Vertex AI alone");
             TRY(one.finish());
             pipeline.executors.emplace(name, std::move(executor));
             return {};
           }));
  return fields.finish();
}

Result<void> read_platform(const json::Value& platform, Pipeline& pipeline) {
  const json::Object* kubernetes = json::object_at(platform, {"platforms", "kubernetes"});
  if (kubernetes == nullptr) return {};
  const json::Value value(*kubernetes);
  Fields fields(&value, "platforms.kubernetes");
  Fields deployment(fields.take("deploymentSpec"), "platforms.kubernetes.deploymentSpec");
  TRY(each(deployment.object("executors"),
           [&](const std::string& name, const json::Value& one) -> Result<void> {
             if (!one.is_object())
               return fail(Code::bad_request, deployment.where() + "." + name + ": not an object");
             pipeline.kubernetes.emplace(name, one.get_object());
             return {};
           }));
  TRY(deployment.finish());
  if (const json::Object* config = fields.object("pipelineConfig")) pipeline.config = *config;
  for (const char* ignored : {"platform", "version", "config"}) fields.take(ignored);
  return fields.finish();
}

// Whether tasks wait for each other in a circle.
bool cyclic(const Dag& dag) {
  std::map<std::string, int> mark;  // 1: on the way, 2: done
  const auto visit = [&](const auto& self, const std::string& name) -> bool {
    int& state = mark[name];
    if (state != 0) return state == 1;
    state = 1;
    for (const std::string& next : dag.tasks.at(name).dependencies)
      if (self(self, next)) return true;
    mark[name] = 2;
    return false;
  };
  return std::ranges::any_of(dag.tasks,
                             [&](const auto& entry) { return visit(visit, entry.first); });
}

Result<void> check_dag(const Pipeline& pipeline, const Component& owner, const std::string& where) {
  const Dag& dag = *owner.dag;
  const auto known = [&](const std::string& task) { return dag.tasks.contains(task); };
  for (const auto& [name, task] : dag.tasks) {
    const std::string at = where + ".tasks." + name;
    if (!pipeline.components.contains(task.component))
      return fail(Code::bad_request,
                  at + ": component " + json::go_quote(task.component) + " is not defined");
    for (const std::string& dependency : task.dependencies)
      if (!known(dependency))
        return fail(Code::bad_request,
                    at + ": depends on the unknown task " + json::go_quote(dependency));
  }
  for (const auto* outputs : {&dag.parameters, &dag.artifacts})
    for (const auto& [name, selectors] : *outputs)
      for (const OutputSelector& one : selectors)
        if (!known(one.task))
          return fail(Code::bad_request, where + ".outputs." + name +
                                             ": is made by the unknown task " +
                                             json::go_quote(one.task));
  if (cyclic(dag)) return fail(Code::bad_request, where + ": its tasks depend on each other");
  return {};
}

Result<void> check_component(const Pipeline& pipeline, const Component& component,
                             const std::string& where) {
  if (component.dag) return check_dag(pipeline, component, where);
  if (!pipeline.executors.contains(component.executor))
    return fail(Code::bad_request,
                where + ": executor " + json::go_quote(component.executor) + " is not defined");
  return {};
}

Result<Pipeline> read_checked(const Package& package) {
  Fields fields(&package.spec, "the spec");
  Pipeline made;
  Fields info(fields.take("pipelineInfo"), "pipelineInfo");
  made.name = info.text("name");
  made.display_name = info.text("displayName");
  made.description = info.text("description");
  TRY(info.finish());
  TRY(each(fields.object("components"),
           [&](const std::string& name, const json::Value& value) -> Result<void> {
             made.components.emplace(name, TRY(read_component(value, "components." + name)));
             return {};
           }));
  if (const json::Value* root = fields.take("root")) made.root = TRY(read_component(*root, "root"));
  TRY(read_executors(fields.take("deploymentSpec"), made));
  made.default_root = fields.text("defaultPipelineRoot");
  for (const char* ignored : {"sdkVersion", "schemaVersion"}) fields.text(ignored);
  TRY(fields.finish());
  TRY(read_platform(package.platform, made));
  TRY(check_pipeline(made));
  return made;
}

}  // namespace

Result<ParameterSource> read_parameter_source(const json::Value& value, const std::string& where) {
  using From = ParameterSource::From;
  Fields fields(&value, where);
  ParameterSource made;
  int sources = 0;
  if (const json::Value* runtime = fields.take("runtimeValue")) {
    ++sources;
    Fields inner(runtime, where + ".runtimeValue");
    if (const json::Value* constant = inner.take("constant")) made.constant = *constant;
    if (const json::Value* old = inner.take("constantValue"); old && old->is_object())
      for (const auto& member : old->get_object()) made.constant = member.value();
    if (std::string parameter = inner.text("runtimeParameter"); !parameter.empty()) {
      made.from = From::component_input;
      made.name = std::move(parameter);
    }
    TRY(inner.finish());
  }
  if (std::string input = fields.text("componentInputParameter"); !input.empty()) {
    ++sources;
    made.from = From::component_input;
    made.name = std::move(input);
  }
  if (const json::Value* output = fields.take("taskOutputParameter")) {
    ++sources;
    Fields inner(output, where);
    made.from = From::task_output;
    made.name = inner.text("producerTask");
    made.key = inner.text("outputParameterKey");
    TRY(inner.finish());
  }
  if (const json::Value* status = fields.take("taskFinalStatus")) {
    ++sources;
    Fields inner(status, where);
    made.from = From::final_status;
    made.name = inner.text("producerTask");
    TRY(inner.finish());
  }
  made.selector = fields.text("parameterExpressionSelector");
  TRY(fields.finish());
  if (sources > 1) return fail(Code::bad_request, where + ": more than one source is given");
  return made;
}

Result<void> check_pipeline(const Pipeline& pipeline) {
  std::size_t tasks = 0;
  TRY(check_component(pipeline, pipeline.root, "root"));
  if (pipeline.root.dag) tasks += pipeline.root.dag->tasks.size();
  for (const auto& [name, component] : pipeline.components) {
    TRY(check_component(pipeline, component, "components." + name));
    if (component.dag) tasks += component.dag->tasks.size();
  }
  if (tasks > kTasksMax)
    return fail(Code::bad_request, "more than " + std::to_string(kTasksMax) + " tasks");
  return {};
}

Result<Pipeline> read_pipeline(const Package& package) {
  if (package.argo)
    return fail(Code::bad_request, "a Workflow of Argo is no pipeline spec of version 2");
  Result<Pipeline> made = read_checked(package);
  if (!made) return std::unexpected(invalid(made.error().message));
  return made;
}

}  // namespace hekla::pipelines::ir
