#include "pipelines/engine/outputs.h"

#include "base/crypto.h"
#include "json/parse.h"
#include "pipelines/engine/inputs.h"
#include "pipelines/engine/placeholders.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::engine {
namespace {

const json::Value* output_of(const Node& node, std::string_view side, const std::string& key) {
  const json::Value* all = json::find(node.outputs, side);
  return all ? json::find(*all, key) : nullptr;
}

// True where an output is a list because a loop inside has made one.
bool is_collected(const ir::Pipeline& pipeline, const ir::Component& component,
                  const std::string& key, bool artifact, int depth = 0) {
  if (!component.dag || depth > 64) return false;
  const auto& outputs = artifact ? component.dag->artifacts : component.dag->parameters;
  const auto found = outputs.find(key);
  if (found == outputs.end()) return false;
  for (const ir::OutputSelector& one : found->second) {
    const ir::Task& task = component.dag->tasks.at(one.task);
    if (task.iterator) return true;
    if (is_collected(pipeline, component_of(pipeline, task.component), one.key, artifact,
                     depth + 1))
      return true;
  }
  return false;
}

}  // namespace

Result<json::Array> loop_items(const ir::Iterator& iterator, const Node& loop) {
  if (iterator.artifacts) {
    json::Array items;
    const json::Value* all = json::find(loop.inputs, "artifacts");
    const json::Array* list = all ? json::array_at(*all, {iterator.input}) : nullptr;
    if (list) items = *list;
    return items;
  }
  json::Value value;
  if (iterator.raw) {
    value = json::Value(*iterator.raw);
  } else if (const json::Value* all = json::find(loop.inputs, "parameterValues")) {
    if (const json::Value* found = json::find(*all, iterator.input)) value = *found;
  }
  if (value.is_string()) {
    Result<json::Value> parsed = json::parse(json::sv(value.get_string()));
    if (!parsed)
      return fail(Code::bad_request,
                  "the loop's items are no JSON list: " + parsed.error().message);
    value = std::move(*parsed);
  }
  if (!value.is_array())
    return fail(Code::bad_request,
                "the loop's items are no list but " + std::string(ir::kind_of(value)));
  return ir::plain_numbers(value).get_array();
}

json::Object with_item(const ir::Iterator& iterator, const json::Object& inputs,
                       const json::Value& item) {
  json::Value made(inputs);
  if (iterator.artifacts)
    json::at_path(made, {"artifacts", iterator.item_input}) = json::Array{item};
  else
    json::at_path(made, {"parameterValues", iterator.item_input}) = item;
  return made.get_object();
}

Result<json::Object> dag_outputs(const Run& run, const Node& dag, const ir::Dag& tasks) {
  json::Object parameters, artifacts;
  const auto collect = [&](const auto& wanted, std::string_view side, json::Object& into) {
    for (const auto& [name, selectors] : wanted)
      for (const ir::OutputSelector& one : selectors) {
        const Node* node = run.find(child_id(dag.id, one.task));
        if (!node || !has_outputs(node->state)) continue;
        const json::Value* value = output_of(*node, side, one.key);
        if (value == nullptr) continue;
        into.emplace(name, *value);
        break;
      }
  };
  collect(tasks.parameters, "parameterValues", parameters);
  collect(tasks.artifacts, "artifacts", artifacts);
  return json::Object{{"parameterValues", std::move(parameters)},
                      {"artifacts", std::move(artifacts)}};
}

json::Object loop_outputs(const ir::Pipeline& pipeline, const Node& loop,
                          const std::vector<const Node*>& members) {
  const ir::Component& component = component_of(pipeline, loop.component);
  json::Object parameters, artifacts;
  for (const auto& [name, definition] : component.output_parameters) {
    const bool flat = is_collected(pipeline, component, name, false);
    json::Array list;
    for (const Node* member : members) {
      const json::Value* value = output_of(*member, "parameterValues", name);
      if (value == nullptr) continue;
      if (flat && value->is_array())
        list.insert(list.end(), value->get_array().begin(), value->get_array().end());
      else
        list.push_back(*value);
    }
    parameters.emplace(name, std::move(list));
  }
  for (const auto& [name, definition] : component.output_artifacts) {
    json::Array list;
    for (const Node* member : members)
      if (const json::Value* value = output_of(*member, "artifacts", name);
          value && value->is_array())
        list.insert(list.end(), value->get_array().begin(), value->get_array().end());
    artifacts.emplace(name, std::move(list));
  }
  return json::Object{{"parameterValues", std::move(parameters)},
                      {"artifacts", std::move(artifacts)}};
}

Result<json::Object> importer_outputs(const ir::Pipeline& pipeline, const Run& run,
                                      const Node& node) {
  const ir::Component& component = component_of(pipeline, node.component);
  const ir::Importer& importer = *pipeline.executors.at(component.executor).importer;
  const json::Value* parameters = json::find(node.inputs, "parameterValues");
  const json::Object none;
  const json::Object& values =
      parameters && parameters->is_object() ? parameters->get_object() : none;
  std::string uri = ir::text_of(importer.uri);
  if (!importer.uri_parameter.empty()) {
    const json::Value* given = json::find(values, importer.uri_parameter);
    if (given == nullptr)
      return fail(Code::bad_request,
                  "the importer's parameter " + importer.uri_parameter + " has no value");
    uri = ir::text_of(*given);
  }
  const auto fill = [&](const std::string& text) {
    return fill_constant(text, values, run, parent_id(node.id), node.task);
  };
  const auto fill_all = [&](const auto& self, const json::Value& value) -> json::Value {
    if (value.is_string()) return json::Value(fill(std::string(json::sv(value.get_string()))));
    if (value.is_array()) {
      json::Array made;
      for (const json::Value& one : value.get_array()) made.push_back(self(self, one));
      return made;
    }
    if (value.is_object()) {
      json::Object made;
      for (const auto& member : value.get_object())
        made.emplace(fill(std::string(member.key())), self(self, member.value()));
      return made;
    }
    return ir::plain_numbers(value);
  };
  uri = fill(uri);
  if (uri.empty()) return fail(Code::bad_request, "the importer has no URI");
  json::Object artifact{{"name", "artifact"},
                        {"type", importer.type},
                        {"uri", uri},
                        {"metadata", fill_all(fill_all, importer.metadata)}};
  return json::Object{{"parameterValues", json::Object{}},
                      {"artifacts", json::Object{{"artifact", json::Array{std::move(artifact)}}}}};
}

}  // namespace hekla::pipelines::engine
