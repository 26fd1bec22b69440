#include <algorithm>
#include <charconv>

#include "model/time.h"
#include "pipelines/argo/references.h"
#include "pipelines/argo/templates.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::argo {
namespace {

using Definitions = std::map<std::string, ir::ParameterDefinition>;

Result<std::string> name_in(const json::Value& value, const std::string& where) {
  const std::string name = json::text_at(value, {"name"});
  if (name.empty()) return refuse(where + ".name", "a name is required");
  if (name.find_first_of("/'\"") != std::string::npos)
    return refuse(where + ".name", "quotes and slashes are not allowed in \"" + name + "\"");
  return name;
}

// Each element of a list with its path.
template <class Read>
Result<void> each(const json::Value& value, std::initializer_list<std::string_view> path,
                  const std::string& where, Read read) {
  const json::Array* list = json::array_at(value, path);
  for (std::size_t i = 0; list && i < list->size(); ++i)
    TRY(read((*list)[i], where + "[" + std::to_string(i) + "]"));
  return {};
}

Result<void> read_inputs(const json::Value& body, Template& made) {
  const std::string where = made.where + ".inputs";
  if (const json::Value* inputs = json::find(body, "inputs"))
    TRY(allow_only(*inputs, where, {"parameters", "artifacts"}));
  TRY(each(body, {"inputs", "parameters"}, where + ".parameters",
           [&](const json::Value& one, const std::string& at) -> Result<void> {
             TRY(allow_only(one, at, {"name", "value", "default", "description", "enum"}));
             ir::ParameterDefinition definition;
             for (const char* member : {"default", "value"})
               if (const json::Value* given = json::find(one, member))
                 definition.default_value = json::Value(ir::text_of(*given));
             made.component.input_parameters.emplace(TRY(name_in(one, at)), definition);
             return {};
           }));
  return each(body, {"inputs", "artifacts"}, where + ".artifacts",
              [&](const json::Value& one, const std::string& at) -> Result<void> {
                TRY(allow_only(one, at, {"name", "path", "raw", "optional", "mode"}));
                ir::ArtifactDefinition definition;
                definition.path = json::text_at(one, {"path"});
                definition.optional = json::bool_at(one, {"optional"});
                const std::string name = TRY(name_in(one, at));
                if (json::find(one, "raw")) {
                  if (definition.path.empty()) return refuse(at + ".path", "a path is required");
                  made.files.emplace(definition.path, json::text_at(one, {"raw", "data"}));
                  definition.optional = true;
                }
                made.component.input_artifacts.emplace(name, std::move(definition));
                return {};
              });
}

Result<void> read_output(const json::Value& one, const std::string& at, Template& made) {
  TRY(allow_only(one, at, {"name", "valueFrom", "description"}));
  const std::string name = TRY(name_in(one, at));
  const json::Value* from = json::find(one, "valueFrom");
  if (from == nullptr) return refuse(at + ".valueFrom", "a source is required");
  TRY(allow_only(*from, at + ".valueFrom", {"path", "parameter", "jsonPath", "default"}));
  ir::ParameterDefinition definition;
  definition.path = json::text_at(*from, {"path"});
  if (const json::Value* given = json::find(*from, "default"))
    definition.default_value = json::Value(ir::text_of(*given));
  if (const json::Value* reference = json::find(*from, "parameter"))
    made.references.emplace(name, ir::text_of(*reference));
  else if (const json::Value* path = json::find(*from, "jsonPath"))
    made.json_paths.emplace(name, ir::text_of(*path));
  else if (definition.path.empty())
    return refuse(at + ".valueFrom", "one of path, parameter and jsonPath is required");
  made.component.output_parameters.emplace(name, std::move(definition));
  return {};
}

Result<void> read_outputs(const json::Value& body, Template& made) {
  const std::string where = made.where + ".outputs";
  if (const json::Value* outputs = json::find(body, "outputs"))
    TRY(allow_only(*outputs, where, {"parameters", "artifacts"}));
  TRY(each(
      body, {"outputs", "parameters"}, where + ".parameters",
      [&](const json::Value& one, const std::string& at) { return read_output(one, at, made); }));
  return each(body, {"outputs", "artifacts"}, where + ".artifacts",
              [&](const json::Value& one, const std::string& at) -> Result<void> {
                TRY(allow_only(one, at, {"name", "path", "from", "optional", "archive"}));
                const std::string name = TRY(name_in(one, at));
                ir::ArtifactDefinition definition;
                definition.path = json::text_at(one, {"path"});
                definition.optional = json::bool_at(one, {"optional"});
                definition.required = !definition.optional;
                definition.type = {{"schemaTitle", "system.Artifact"}, {"schemaVersion", "0.0.1"}};
                if (const json::Value* from = json::find(one, "from"))
                  made.artifact_references.emplace(name, ir::text_of(*from));
                else if (definition.path.empty())
                  return refuse(at + ".path", "a path is required");
                made.component.output_artifacts.emplace(name, std::move(definition));
                return {};
              });
}

Result<std::optional<ir::RetryPolicy>> read_retry(const json::Value& body,
                                                  const std::string& where) {
  const json::Value* given = json::find(body, "retryStrategy");
  if (given == nullptr || given->is_null()) return std::nullopt;
  TRY(allow_only(*given, where, {"limit", "retryPolicy", "backoff"}));
  ir::RetryPolicy policy;
  // Without a limit a step is tried again for ever.
  policy.max_retries = 1'000'000;
  if (const json::Value* limit = json::find(*given, "limit"))
    policy.max_retries = TRY(whole_number(*limit, where + ".limit"));
  policy.factor = 1;
  policy.window = Nanos(0);
  const json::Value* backoff = json::find(*given, "backoff");
  if (backoff == nullptr) return policy;
  TRY(allow_only(*backoff, where + ".backoff", {"duration", "factor", "maxDuration"}));
  for (const auto& [member, into] :
       {std::pair{"duration", &policy.backoff}, std::pair{"maxDuration", &policy.window}}) {
    const json::Value* text = json::find(*backoff, member);
    std::string duration = text ? ir::text_of(*text) : "";
    if (duration.empty()) continue;
    // Plain numbers are seconds.
    if (duration.find_first_not_of("0123456789") == std::string::npos) duration += "s";
    Result<Nanos> parsed = model::parse_go_duration(duration);
    if (!parsed) return refuse(where + ".backoff." + member, parsed.error().message);
    *into = *parsed;
  }
  if (const json::Value* factor = json::find(*backoff, "factor"))
    policy.factor = static_cast<double>(TRY(whole_number(*factor, where + ".backoff.factor")));
  return policy;
}

}  // namespace

std::unexpected<Error> refuse(const std::string& where, std::string_view reason) {
  return fail(Code::bad_request, where + ": " + std::string(reason));
}

Result<void> allow_only(const json::Value& value, const std::string& where,
                        std::initializer_list<std::string_view> names) {
  if (!value.is_object()) return refuse(where, "an object is wanted");
  for (const auto& member : value.get_object())
    if (std::ranges::find(names, std::string_view(member.key())) == names.end() &&
        !member.value().is_null())
      return refuse(where + "." + std::string(member.key()), "not supported");
  return {};
}

Result<std::int64_t> whole_number(const json::Value& value, const std::string& where) {
  const std::string text = ir::text_of(value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size())
    return refuse(where, "\"" + text + "\" is no whole number");
  return number;
}

Result<Template> read_head(const json::Value& body, const std::string& where) {
  Template made;
  made.where = where;
  made.body = &body;
  TRY(allow_only(body, where,
                 {"name",
                  "inputs",
                  "outputs",
                  "metadata",
                  "container",
                  "script",
                  "dag",
                  "steps",
                  "resource",
                  "retryStrategy",
                  "activeDeadlineSeconds",
                  "timeout",
                  "nodeSelector",
                  "tolerations",
                  "affinity",
                  "volumes",
                  "initContainers",
                  "sidecars",
                  "parallelism",
                  "podSpecPatch",
                  "serviceAccountName",
                  "schedulerName",
                  "priorityClassName",
                  "hostAliases",
                  "securityContext",
                  "failFast"}));
  made.name = TRY(name_in(body, where));
  TRY(read_inputs(body, made));
  TRY(read_outputs(body, made));
  made.retry = TRY(read_retry(body, where + ".retryStrategy"));
  if (const json::Value* parallelism = json::find(body, "parallelism"))
    made.parallelism = TRY(whole_number(*parallelism, where + ".parallelism"));
  const json::Value* metadata = json::find(body, "metadata");
  if (metadata) {
    // Results of any age may be taken, or none.
    const std::string staleness =
        json::text_at(*metadata, {"annotations", "pipelines.kubeflow.org/max_cache_staleness"});
    made.cache =
        staleness.empty() &&
        json::text_at(*metadata, {"labels", "pipelines.kubeflow.org/enable_caching"}) == "true";
  }
  return made;
}

}  // namespace hekla::pipelines::argo
