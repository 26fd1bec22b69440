#include <algorithm>

#include "json/parse.h"
#include "pipelines/argo/references.h"
#include "pipelines/argo/templates.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::argo {
namespace {

using From = ir::ParameterSource::From;

constexpr const char* kItem = "item";

ir::ParameterSource input_named(const std::string& name) {
  ir::ParameterSource source;
  source.from = From::component_input;
  source.name = name;
  return source;
}

void depend_on(ir::Task& task, const std::string& producer) {
  if (std::ranges::find(task.dependencies, producer) == task.dependencies.end())
    task.dependencies.push_back(producer);
}

// The texts of one task: what they refer to becomes inputs of the task, named by the reference, and
// the text a constant that names those. A task over items is two: the loop around, whose inputs
// bring everything from the DAG, and the call within, which takes all from the loop.
class TaskTexts {
 public:
  TaskTexts(const Template& in, ir::Task& task, ir::Task* loop)
      : in_(in), task_(task), loop_(loop) {}

  Result<ir::ParameterSource> argument(std::string_view text, const std::string& where) {
    if (const std::optional<std::string> name = sole_reference(text))
      if (auto source = TRY(source_of(*name, where))) return *source;
    ir::ParameterSource made;
    made.constant = json::Value(TRY(filled_in(text, where)));
    return made;
  }

  // Text with {{$.inputs.parameters['...']}} for every reference.
  Result<std::string> filled_in(std::string_view text, const std::string& where) {
    return rewritten(text, where, [&](std::string_view name) -> Result<std::optional<std::string>> {
      if (name.starts_with("workflow.")) return workflow_placeholder(name);
      const std::string input(name);
      const auto source = TRY(source_of(input, where));
      if (!source) return std::nullopt;
      task_.parameters.emplace(input, *source);
      return "{{$.inputs.parameters['" + input + "']}}";
    });
  }

  Result<ir::ArtifactSource> artifact(std::string_view text, const std::string& name,
                                      const std::string& where) {
    const std::optional<std::string> reference = sole_reference(text);
    ir::ArtifactSource source;
    if (const auto output = reference ? task_output(*reference) : std::nullopt;
        output && output->kind == "artifacts") {
      source = {true, output->task, output->name};
      depend_on(loop_ ? *loop_ : task_, output->task);
    } else if (reference && reference->starts_with("inputs.artifacts.")) {
      source.name = reference->substr(17);
      if (!in_.component.input_artifacts.contains(source.name))
        return refuse(where, "failed to resolve {{" + *reference + "}}");
    } else {
      return refuse(where, "\"" + std::string(text) + "\" is no artifact of a task or an input");
    }
    if (!loop_) return source;
    loop_->artifacts.emplace(name, source);
    return ir::ArtifactSource{false, name, ""};
  }

 private:
  Result<std::optional<ir::ParameterSource>> source_of(const std::string& name,
                                                       const std::string& where) {
    if (loop_ && (name == kItem || name.starts_with("item."))) {
      ir::ParameterSource source = input_named(kItem);
      if (name != kItem) source.selector = "parseJson(string_value)[\"" + name.substr(5) + "\"]";
      return source;
    }
    ir::Task& outer = loop_ ? *loop_ : task_;
    std::optional<ir::ParameterSource> source;
    if (const auto output = task_output(name); output && output->kind == "parameters") {
      source = ir::ParameterSource{From::task_output, {}, output->task, output->name, {}};
      depend_on(outer, output->task);
    } else if (name.starts_with("inputs.parameters.")) {
      source = input_named(name.substr(18));
      if (!in_.component.input_parameters.contains(source->name))
        return refuse(where, "failed to resolve {{" + name + "}}");
    }
    if (!source || !loop_) return source;
    loop_->parameters.emplace(name, *source);
    return input_named(name);
  }

  const Template& in_;
  ir::Task& task_;
  ir::Task* loop_;
};

class Tasks {
 public:
  Tasks(const Template& of, const Templates& all, std::map<std::string, ir::Component>& components)
      : of_(of), all_(all), components_(components) {}

  Result<void> add(const json::Value& value, const std::string& where,
                   const std::vector<std::string>& after) {
    TRY(allow_only(value, where,
                   {"name", "template", "arguments", "dependencies", "depends", "when", "withItems",
                    "withParam", "withSequence"}));
    const std::string name = json::text_at(value, {"name"});
    if (name.empty() || name.find_first_of("/'\"") != std::string::npos)
      return refuse(where + ".name", "a name without quotes and slashes is required");
    if (dag.tasks.contains(name)) return refuse(where + ".name", "\"" + name + "\" is not unique");
    const std::string called = json::text_at(value, {"template"});
    const auto found = all_.find(called);
    if (found == all_.end())
      return refuse(where + ".template", "template name '" + called + "' undefined");
    ir::Task task;
    task.display_name = name;
    task.component = called;
    task.retry = found->second.retry;
    task.cache = found->second.cache;
    std::optional<ir::Task> loop = TRY(read_loop(value, where, name));
    TaskTexts texts(of_, task, loop ? &*loop : nullptr);
    TRY(read_arguments(value, where, texts, task));
    TRY(check_arguments(found->second, task, where));
    if (const json::Value* when = json::find(value, "when"))
      task.when = TRY(texts.filled_in(ir::text_of(*when), where + ".when"));
    ir::Task& outer = loop ? *loop : task;
    for (const std::string& one : after) depend_on(outer, one);
    TRY(read_dependencies(value, where, outer));
    if (loop) {
      loop->iterator->parallelism = found->second.parallelism;
      wrap(*loop, std::move(task), found->second.component);
      task = std::move(*loop);
    }
    dag.tasks.emplace(name, std::move(task));
    return {};
  }

  ir::Dag dag;

 private:
  // The task around a call for every item; nothing for a single call.
  Result<std::optional<ir::Task>> read_loop(const json::Value& value, const std::string& where,
                                            const std::string& name) {
    const json::Value* items = json::find(value, "withItems");
    const json::Value* parameter = json::find(value, "withParam");
    const json::Value* sequence = json::find(value, "withSequence");
    if (!items && !parameter && !sequence) return std::nullopt;
    ir::Task loop;
    loop.display_name = name;
    loop.component = of_.name + "/" + name;
    ir::Iterator iterator;
    iterator.item_input = kItem;
    if (items) {
      if (!items->is_array()) return refuse(where + ".withItems", "a list is wanted");
      iterator.raw = json::serialize(*items);
    } else if (sequence) {
      iterator.raw = TRY(sequence_items(*sequence, where + ".withSequence"));
    } else {
      iterator.input = "withParam";
      TaskTexts texts(of_, loop, nullptr);
      loop.parameters.emplace(iterator.input,
                              TRY(texts.argument(ir::text_of(*parameter), where + ".withParam")));
    }
    loop.iterator = std::move(iterator);
    return loop;
  }

  static Result<std::string> sequence_items(const json::Value& value, const std::string& where) {
    constexpr std::int64_t kMost = 10'000;
    TRY(allow_only(value, where, {"count", "start", "end"}));
    const auto number = [&](const char* member) -> Result<std::optional<std::int64_t>> {
      const json::Value* given = json::find(value, member);
      if (given == nullptr) return std::nullopt;
      return TRY(whole_number(*given, where + "." + member));
    };
    const auto count = TRY(number("count")), end = TRY(number("end"));
    const std::int64_t start = TRY(number("start")).value_or(0);
    if (count.has_value() == end.has_value())
      return refuse(where, "one of count and end is required");
    const std::int64_t last = count ? start + *count - 1 : *end;
    const std::int64_t step = !count && last < start ? -1 : 1;
    if ((last - start) * step >= kMost) return refuse(where, "more than 10000 items");
    json::Array items;
    for (std::int64_t at = start; (last - at) * step >= 0; at += step)
      items.emplace_back(std::to_string(at));
    return json::serialize(items);
  }

  Result<void> read_arguments(const json::Value& value, const std::string& where, TaskTexts& texts,
                              ir::Task& task) {
    if (const json::Value* arguments = json::find(value, "arguments"))
      TRY(allow_only(*arguments, where + ".arguments", {"parameters", "artifacts"}));
    const json::Array* parameters = json::array_at(value, {"arguments", "parameters"});
    for (std::size_t i = 0; parameters && i < parameters->size(); ++i) {
      const std::string at = where + ".arguments.parameters[" + std::to_string(i) + "]";
      const json::Value& one = (*parameters)[i];
      TRY(allow_only(one, at, {"name", "value"}));
      const json::Value* given = json::find(one, "value");
      if (given == nullptr) return refuse(at + ".value", "a value is required");
      task.parameters.insert_or_assign(json::text_at(one, {"name"}),
                                       TRY(texts.argument(ir::text_of(*given), at + ".value")));
    }
    const json::Array* artifacts = json::array_at(value, {"arguments", "artifacts"});
    for (std::size_t i = 0; artifacts && i < artifacts->size(); ++i) {
      const std::string at = where + ".arguments.artifacts[" + std::to_string(i) + "]";
      const json::Value& one = (*artifacts)[i];
      TRY(allow_only(one, at, {"name", "from"}));
      const std::string name = json::text_at(one, {"name"});
      task.artifacts.insert_or_assign(
          name, TRY(texts.artifact(json::text_at(one, {"from"}), name, at + ".from")));
    }
    return {};
  }

  Result<void> read_dependencies(const json::Value& value, const std::string& where,
                                 ir::Task& task) {
    const json::Array* named = json::array_at(value, {"dependencies"});
    for (std::size_t i = 0; named && i < named->size(); ++i)
      depend_on(task, ir::text_of((*named)[i]));
    std::string rest = json::text_at(value, {"depends"});
    // Conjunctions of names alone.
    while (!rest.empty()) {
      const std::size_t end = rest.find("&&");
      std::string one = rest.substr(0, end);
      rest = end == std::string::npos ? "" : rest.substr(end + 2);
      std::erase(one, ' ');
      if (one.ends_with(".Succeeded")) one.resize(one.size() - 10);
      if (one.empty() || one.find_first_of("|!&().") != std::string::npos)
        return refuse(where + ".depends", "only names joined by && are supported");
      depend_on(task, one);
    }
    return {};
  }

  void wrap(const ir::Task& loop, ir::Task call, const ir::Component& called) {
    ir::Component around;
    around.output_parameters = called.output_parameters;
    around.output_artifacts = called.output_artifacts;
    ir::Dag inner;
    for (const auto& [name, definition] : called.output_parameters)
      inner.parameters[name] = {{call.display_name, name}};
    for (const auto& [name, definition] : called.output_artifacts)
      inner.artifacts[name] = {{call.display_name, name}};
    const std::string name = call.display_name;
    inner.tasks.emplace(name, std::move(call));
    around.dag = std::move(inner);
    components_.emplace(loop.component, std::move(around));
  }

  const Template& of_;
  const Templates& all_;
  std::map<std::string, ir::Component>& components_;
};

Result<void> read_outputs(const Template& of, ir::Dag& dag) {
  for (const auto* side : {&of.references, &of.artifact_references})
    for (const auto& [name, text] : *side) {
      const bool artifact = side == &of.artifact_references;
      const std::string where =
          of.where + ".outputs." + (artifact ? "artifacts." : "parameters.") + name;
      const std::optional<std::string> reference = sole_reference(text);
      const auto output = reference ? task_output(*reference) : std::nullopt;
      if (!output || output->kind != (artifact ? "artifacts" : "parameters"))
        return refuse(where, "\"" + text + "\" is no output of a task");
      if (!dag.tasks.contains(output->task))
        return refuse(where, "there is no task \"" + output->task + "\"");
      (artifact ? dag.artifacts : dag.parameters)[name] = {{output->task, output->name}};
    }
  return {};
}

}  // namespace

Result<void> check_arguments(const Template& called, const ir::Task& task,
                             const std::string& where) {
  for (const auto& [name, definition] : called.component.input_parameters)
    if (!definition.default_value && !task.parameters.contains(name))
      return refuse(where, "inputs.parameters." + name + " was not supplied");
  for (const auto& [name, definition] : called.component.input_artifacts)
    if (!definition.optional && !task.artifacts.contains(name))
      return refuse(where, "inputs.artifacts." + name + " was not supplied");
  return {};
}

Result<ir::Dag> read_tasks(const Template& of, const Templates& all,
                           std::map<std::string, ir::Component>& components) {
  Tasks made(of, all, components);
  if (const json::Value* dag = json::find(*of.body, "dag")) {
    TRY(allow_only(*dag, of.where + ".dag", {"tasks", "failFast"}));
    const json::Array* list = json::array_at(*dag, {"tasks"});
    for (std::size_t i = 0; list && i < list->size(); ++i)
      TRY(made.add((*list)[i], of.where + ".dag.tasks[" + std::to_string(i) + "]", {}));
    made.dag.keeps_going = !json::bool_at(*dag, {"failFast"}, true);
  } else {
    std::vector<std::string> before;
    const json::Array* groups = json::array_at(*of.body, {"steps"});
    for (std::size_t i = 0; groups && i < groups->size(); ++i) {
      std::vector<std::string> names;
      const json::Value& group = (*groups)[i];
      if (!group.is_array())
        return refuse(of.where + ".steps[" + std::to_string(i) + "]", "a list is wanted");
      for (std::size_t k = 0; k < group.get_array().size(); ++k) {
        const json::Value& one = group.get_array()[k];
        TRY(made.add(one, of.where + ".steps[" + std::to_string(i) + "][" + std::to_string(k) + "]",
                     before));
        names.push_back(json::text_at(one, {"name"}));
      }
      if (!names.empty()) before = std::move(names);
    }
  }
  if (made.dag.tasks.empty()) return refuse(of.where, "it has no tasks");
  made.dag.parallelism = of.parallelism;
  TRY(read_outputs(of, made.dag));
  return std::move(made.dag);
}

}  // namespace hekla::pipelines::argo
