#include "pipelines/driver/step_result.h"

#include <algorithm>
#include <charconv>

#include "json/parse.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::driver {
namespace {

std::unexpected<Error> bad(const std::string& name, std::string_view wanted,
                           const std::string& text) {
  return fail(Code::bad_request, "output parameter " + name + ": expect " + std::string(wanted) +
                                     ", got \"" + text.substr(0, 100) + "\"");
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::ranges::find(words, text) != words.end();
}

// A parameter file's text as the type the component declares.
Result<json::Value> typed_text(const std::string& name, ir::ParameterType type,
                               const std::string& text) {
  const char* end = text.data() + text.size();
  switch (type) {
    case ir::ParameterType::number_integer: {
      std::int64_t number = 0;
      const auto got = std::from_chars(text.data(), end, number);
      if (got.ec != std::errc{} || got.ptr != end) return bad(name, "NUMBER_INTEGER", text);
      return json::Value(number);
    }
    case ir::ParameterType::number_double: {
      double number = 0;
      const auto got = std::from_chars(text.data(), end, number);
      if (got.ec != std::errc{} || got.ptr != end) return bad(name, "NUMBER_DOUBLE", text);
      return ir::plain_numbers(number);
    }
    case ir::ParameterType::boolean:
      if (is_one_of(text, {"1", "t", "T", "true", "TRUE", "True"})) return json::Value(true);
      if (is_one_of(text, {"0", "f", "F", "false", "FALSE", "False"})) return json::Value(false);
      return bad(name, "BOOLEAN", text);
    case ir::ParameterType::list:
    case ir::ParameterType::structure: {
      Result<json::Value> parsed = json::parse(text);
      if (!parsed || !ir::is_of_type(*parsed, type)) return bad(name, ir::name_of(type), text);
      return parsed;
    }
    default:
      return json::Value(text);
  }
}

// Words of the program about an artifact, over what was provided for it.
json::Array merged(const json::Array& provided, const json::Array* written) {
  json::Array made;
  const std::size_t count = std::max(provided.size(), written ? written->size() : 0);
  for (std::size_t i = 0; i < count; ++i) {
    json::Object artifact;
    if (i < provided.size() && provided[i].is_object()) artifact = provided[i].get_object();
    if (i >= provided.size() && !provided.empty() && provided[0].is_object())
      artifact.emplace("type", *json::find(provided[0], "type"));
    if (written && i < written->size())
      for (const char* member : {"name", "uri", "metadata", "custom_path"})
        if (const json::Value* value = json::find((*written)[i], member);
            value && !value->is_null())
          artifact[member] = ir::plain_numbers(*value);
    made.push_back(std::move(artifact));
  }
  return made;
}

}  // namespace

Result<json::Object> step_outputs(const ir::Component& component, const json::Value& executor_input,
                                  const json::Value& result) {
  json::Value written;
  if (const std::string_view text = json::string_at(result, {"output"}); !text.empty()) {
    Result<json::Value> parsed = json::parse(text);
    if (!parsed)
      return fail(Code::bad_request,
                  "the executor's output file is no JSON: " + parsed.error().message);
    written = std::move(*parsed);
  }
  json::Object parameters, artifacts;
  for (const auto& [name, definition] : component.output_parameters) {
    const json::Value* direct = json::find_path(written, {"parameterValues", name});
    const json::Value* file = json::find_path(result, {"parameters", name});
    if (direct && !direct->is_null()) {
      if (!ir::is_of_type(*direct, definition.type))
        return bad(name, ir::name_of(definition.type), json::serialize(*direct));
      parameters.emplace(name, ir::plain_numbers(*direct));
    } else if (file && file->is_string()) {
      std::string text(json::sv(file->get_string()));
      if (!definition.path.empty() && text.ends_with('\n')) text.pop_back();
      parameters.emplace(name, TRY(typed_text(name, definition.type, text)));
    } else if (!definition.path.empty() && definition.default_value) {
      parameters.emplace(name, *definition.default_value);
    } else if (!definition.optional) {
      return fail(Code::bad_request, "output parameter " + name + " was not written");
    }
  }
  for (const auto& [name, definition] : component.output_artifacts) {
    const json::Array* provided =
        json::array_at(executor_input, {"outputs", "artifacts", name, "artifacts"});
    artifacts.emplace(name, merged(provided ? *provided : json::Array{},
                                   json::array_at(written, {"artifacts", name, "artifacts"})));
  }
  return json::Object{{"parameterValues", std::move(parameters)},
                      {"artifacts", std::move(artifacts)}};
}

}  // namespace hekla::pipelines::driver
