#include "cli/pipelines/parameters.h"

#include <charconv>

#include "json/parse.h"

namespace hekla::cli {
namespace {

std::unexpected<Error> wrong(const std::string& name, const char* wanted, const std::string& text) {
  return fail(Code::bad_request,
              "parameter " + name + " is " + wanted + ": \"" + text + "\" is not one");
}

Result<json::Value> value_of(const std::string& name, std::string_view type,
                             const std::string& text) {
  if (type == "NUMBER_INTEGER") {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
      return wrong(name, "an integer", text);
    return json::Value(number);
  }
  if (type == "BOOLEAN") {
    if (text != "true" && text != "false" && text != "True" && text != "False")
      return wrong(name, "true or false", text);
    return json::Value(text == "true" || text == "True");
  }
  if (type == "NUMBER_DOUBLE" || type == "LIST" || type == "STRUCT") {
    Result<json::Value> value = json::parse(text);
    const bool fits = value && (type == "LIST"     ? value->is_array()
                                : type == "STRUCT" ? value->is_object()
                                                   : value->is_number());
    if (!fits)
      return wrong(name,
                   type == "LIST"     ? "a list in JSON"
                   : type == "STRUCT" ? "an object in JSON"
                                      : "a number",
                   text);
    return value;
  }
  return json::Value(text);
}

std::string names_of(const json::Object& declared) {
  std::string names;
  for (const auto& member : declared)
    names += (names.empty() ? "" : ", ") + std::string(member.key());
  return names.empty() ? "it has none" : "it has " + names;
}

}  // namespace

Result<json::Object> run_parameters(const json::Value& spec,
                                    const std::vector<std::string>& typed) {
  const bool declares = json::find_path(spec, {"root"}) != nullptr;
  const json::Object* declared = json::object_at(spec, {"root", "inputDefinitions", "parameters"});
  json::Object made;
  for (const std::string& one : typed) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Code::bad_request, "want -p NAME=VALUE, not \"" + one + "\"");
    const std::string name = one.substr(0, equals), text = one.substr(equals + 1);
    std::string_view type;
    if (declares) {
      const auto found = declared ? declared->find(name) : nullptr;
      if (!declared || found == declared->end())
        return fail(Code::bad_request, "the pipeline has no parameter \"" + name + "\": " +
                                           names_of(declared ? *declared : json::Object{}));
      type = json::string_at(found->value(), {"parameterType"});
    }
    made.insert_or_assign(name, TRY(value_of(name, type, text)));
  }
  return made;
}

}  // namespace hekla::cli
