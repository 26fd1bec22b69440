#include "pipelines/argo/references.h"

#include <algorithm>
#include <array>

namespace hekla::pipelines::argo {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// Whether Argo would want to fill this in.
bool is_reference(std::string_view name) {
  static constexpr std::array<std::string_view, 9> words = {
      "inputs", "outputs", "tasks", "steps", "workflow", "item", "pod", "node", "retries"};
  if (name.empty() || !std::ranges::all_of(name, is_name_char)) return false;
  const std::string_view word = name.substr(0, name.find('.'));
  return std::ranges::find(words, word) != words.end();
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// a.b.NAME -> NAME behind a prefix, with what follows it after a dot in `rest`.
std::optional<std::string_view> behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return std::nullopt;
  return name.substr(prefix.size());
}

}  // namespace

Result<std::string> rewritten(std::string_view text, const std::string& where,
                              const Lookup& lookup) {
  std::string made;
  std::size_t at = 0;
  for (;;) {
    const std::size_t begin = text.find("{{", at);
    const std::size_t end = begin == text.npos ? begin : text.find("}}", begin);
    if (end == text.npos) return made.append(text.substr(at));
    made.append(text.substr(at, begin - at));
    const std::string_view name = trimmed(text.substr(begin + 2, end - begin - 2));
    if (name.starts_with('='))
      return fail(Code::bad_request, where + ": expressions ({{=...}}) are not supported");
    if (!is_reference(name)) {
      made.append(text.substr(begin, 2));
      at = begin + 2;
      continue;
    }
    const std::optional<std::string> value = TRY(lookup(name));
    if (!value)
      return fail(Code::bad_request, where + ": failed to resolve {{" + std::string(name) + "}}");
    made += *value;
    at = end + 2;
  }
}

Result<json::Value> rewritten(const json::Value& value, const std::string& where,
                              const Lookup& lookup) {
  if (value.is_string())
    return json::Value(TRY(rewritten(json::sv(value.get_string()), where, lookup)));
  if (value.is_array()) {
    json::Array made;
    for (const json::Value& one : value.get_array())
      made.push_back(TRY(rewritten(one, where + "[" + std::to_string(made.size()) + "]", lookup)));
    return made;
  }
  if (!value.is_object()) return value;
  json::Object made;
  for (const auto& member : value.get_object())
    made.emplace(member.key(),
                 TRY(rewritten(member.value(), where + "." + std::string(member.key()), lookup)));
  return made;
}

std::optional<std::string> sole_reference(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with("{{") || !text.ends_with("}}")) return std::nullopt;
  const std::string_view name = trimmed(text.substr(2, text.size() - 4));
  return is_reference(name) ? std::optional(std::string(name)) : std::nullopt;
}

std::optional<std::string> workflow_placeholder(std::string_view name) {
  if (const auto parameter = behind(name, "workflow.parameters."))
    return "{{$.workflow.parameters['" + std::string(*parameter) + "']}}";
  for (const std::string_view known : {"name", "uid", "namespace", "serviceAccountName",
                                       "creationTimestamp", "status", "failures", "duration"})
    if (name == "workflow." + std::string(known)) return "{{$." + std::string(name) + "}}";
  return std::nullopt;
}

Lookup body_lookup(const ir::Component& component) {
  return [&component](std::string_view name) -> Result<std::optional<std::string>> {
    if (name.starts_with("workflow.")) return workflow_placeholder(name);
    if (name == "pod.name" || name == "node.name") return "{{$.pod.name}}";
    if (name == "retries") return "{{$.retries}}";
    if (const auto input = behind(name, "inputs.parameters.")) {
      if (!component.input_parameters.contains(std::string(*input))) return std::nullopt;
      return "{{$.inputs.parameters['" + std::string(*input) + "']}}";
    }
    if (!name.ends_with(".path")) return std::nullopt;
    name.remove_suffix(5);
    for (const auto& [prefix, artifacts] :
         {std::pair{std::string_view("inputs.artifacts."), &component.input_artifacts},
          std::pair{std::string_view("outputs.artifacts."), &component.output_artifacts}})
      if (const auto artifact = behind(name, prefix))
        if (const auto found = artifacts->find(std::string(*artifact)); found != artifacts->end())
          return found->second.path;
    if (const auto output = behind(name, "outputs.parameters."))
      if (const auto found = component.output_parameters.find(std::string(*output));
          found != component.output_parameters.end())
        return found->second.path;
    return std::nullopt;
  };
}

std::optional<TaskOutput> task_output(std::string_view reference) {
  for (const std::string_view word : {"tasks.", "steps."})
    if (const auto rest = behind(reference, word))
      for (const std::string_view kind : {"parameters", "artifacts"}) {
        const std::string middle = ".outputs." + std::string(kind) + ".";
        const std::size_t at = rest->find(middle);
        if (at == std::string_view::npos || at == 0 || at + middle.size() == rest->size()) continue;
        return TaskOutput{std::string(rest->substr(0, at)), std::string(kind),
                          std::string(rest->substr(at + middle.size()))};
      }
  return std::nullopt;
}

}  // namespace hekla::pipelines::argo
