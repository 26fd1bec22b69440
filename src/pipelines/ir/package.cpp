#include "json/parse.h"
#include "pipelines/ir/read.h"

namespace hekla::pipelines::ir {
namespace {

const json::Value* either(const json::Value& value, std::string_view camel,
                          std::string_view snake) {
  const json::Value* found = json::find(value, camel);
  return found ? found : json::find(value, snake);
}

bool is_argo(const json::Value& document) {
  return json::string_at(document, {"apiVersion"}).starts_with("argoproj.io/") &&
         json::string_at(document, {"kind"}) == "Workflow";
}

bool is_spec(const json::Value& document) {
  return either(document, "pipelineInfo", "pipeline_info") != nullptr ||
         either(document, "deploymentSpec", "deployment_spec") != nullptr ||
         either(document, "schemaVersion", "schema_version") != nullptr;
}

bool is_platform(const json::Value& document) {
  return json::object_at(document, {"platforms", "kubernetes"}) != nullptr;
}

bool is_label_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

Error invalid(std::string reason) {
  return {Code::bad_request, "Invalid input error: invalid pipeline spec: " + std::move(reason)};
}

// The checks of the original when a spec is uploaded.
Result<void> check_head(const json::Value& spec) {
  const json::Value* version = either(spec, "schemaVersion", "schema_version");
  const std::string_view given =
      version && version->is_string() ? json::sv(version->get_string()) : "";
  const json::Value* info = either(spec, "pipelineInfo", "pipeline_info");
  const std::string_view name = info ? json::string_at(*info, {"name"}) : "";
  const json::Value* root = json::find(spec, "root");
  if (name.empty() || root == nullptr) {
    if (name.empty()) return std::unexpected(invalid("invalid v2 pipeline spec: name is empty"));
    return std::unexpected(invalid("invalid v2 pipeline spec: root component is empty"));
  }
  if (given != "2.1.0")
    return std::unexpected(
        invalid("KFP only supports schema version 2.1.0, but the pipeline spec has version " +
                std::string(given)));
  bool any = false;
  for (char c : name) any = any || is_label_char(c);
  if (!any)
    return std::unexpected(
        invalid("invalid v2 pipeline spec: name should consist of lower case alphanumeric "
                "characters, '-' or '.', and must start and end with an alphanumeric character"));
  return {};
}

}  // namespace

json::Value Package::to_json() const {
  if (argo || platform.is_null()) return spec;
  return json::Object{{"pipeline_spec", spec}, {"platform_spec", platform}};
}

Result<Package> read_package(std::string_view text) {
  Result<std::vector<json::YamlDocument>> documents =
      json::parse_yaml(text, nullptr, json::YamlBooleans::words);
  if (!documents)
    return std::unexpected(
        invalid("failed to parse pipeline spec YAML: " + documents.error().message));
  Package package;
  bool found = false;
  for (json::YamlDocument& document : *documents) {
    json::Value& value = document.value;
    if (is_argo(value)) {
      if (found) return std::unexpected(invalid("multiple pipeline specs provided"));
      package.argo = found = true;
      package.spec = std::move(value);
    } else if (is_spec(value)) {
      if (found) return std::unexpected(invalid("multiple pipeline specs provided"));
      found = true;
      package.spec = std::move(value);
    } else if (is_platform(value)) {
      if (!package.platform.is_null())
        return fail(Code::bad_request,
                    "Invalid input error: invalid platform spec: multiple platform specs provided");
      package.platform = std::move(value);
    }
  }
  if (!found) {
    if (!package.platform.is_null())
      return std::unexpected(invalid("no pipeline spec is provided"));
    return std::unexpected(invalid("unknown template format"));
  }
  if (!package.argo) TRY(check_head(package.spec));
  return package;
}

Result<Package> package_from_json(const json::Value& value) {
  Package package;
  if (const json::Value* inner = either(value, "pipeline_spec", "pipelineSpec")) {
    package.spec = *inner;
    if (const json::Value* platform = either(value, "platform_spec", "platformSpec"))
      if (is_platform(*platform)) package.platform = *platform;
  } else {
    package.spec = value;
  }
  package.argo = is_argo(package.spec);
  if (!package.argo) TRY(check_head(package.spec));
  return package;
}

}  // namespace hekla::pipelines::ir
