#include <array>

#include "json/parse.h"
#include "model/time.h"
#include "pipelines/argo/references.h"
#include "pipelines/argo/templates.h"
#include "pipelines/ir/text.h"

namespace hekla::pipelines::argo {
namespace {

constexpr const char* kScript = "/argo/staging/script";
constexpr const char* kDeleteImage = "gcr.io/cloud-builders/kubectl";

std::vector<std::string> texts_of(const json::Value* list) {
  std::vector<std::string> all;
  if (list && list->is_array())
    for (const json::Value& one : list->get_array()) all.push_back(ir::text_of(one));
  return all;
}

void append(json::Object& spec, std::string_view name, const json::Value* list) {
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return;
  json::Value& into = json::member_of(spec, name);
  if (!into.is_array()) into = json::Array{};
  for (const json::Value& one : list->get_array()) into.get_array().push_back(one);
}

// Containers beside the step's own: those that mirror its mounts get them.
json::Array beside(const json::Value* list, const json::Value& main, bool sidecars) {
  json::Array made;
  if (list == nullptr || !list->is_array()) return made;
  for (json::Value one : list->get_array()) {
    if (!one.is_object()) continue;
    json::Object& container = one.get_object();
    const bool mirrors = json::bool_at(one, {"mirrorVolumeMounts"});
    container.erase("mirrorVolumeMounts");
    if (mirrors) append(container, "volumeMounts", json::find(main, "volumeMounts"));
    // A container that ends with the step is one that begins before it and goes on.
    if (sidecars) container.insert_or_assign("restartPolicy", "Always");
    made.push_back(std::move(one));
  }
  return made;
}

Result<std::optional<json::Value>> deadline_of(const json::Value& body, const std::string& where) {
  if (const json::Value* seconds = json::find(body, "activeDeadlineSeconds")) return *seconds;
  const std::string text = json::text_at(body, {"timeout"});
  if (text.empty()) return std::nullopt;
  Result<Nanos> parsed = model::parse_go_duration(text);
  if (!parsed) return refuse(where + ".timeout", parsed.error().message);
  return json::Value(std::chrono::ceil<std::chrono::seconds>(*parsed).count());
}

Result<json::Object> read_pod(const Template& of, const json::Value& spec, json::Value main) {
  const json::Value& body = *of.body;
  json::Object pod;
  // A template's own settings win over the Workflow's; volumes and the like of both are there.
  for (const char* name : {"nodeSelector", "affinity", "securityContext", "schedulerName",
                           "priorityClassName", "hostAliases"})
    for (const json::Value* side : {&body, &spec})
      if (const json::Value* value = json::find(*side, name)) pod.emplace(name, *value);
  if (const json::Value* account = json::find(body, "serviceAccountName"))
    pod.emplace("serviceAccountName", *account);
  for (const char* name : {"hostNetwork", "dnsPolicy", "dnsConfig", "automountServiceAccountToken"})
    if (const json::Value* value = json::find(spec, name)) pod.emplace(name, *value);
  for (const char* name : {"volumes", "tolerations", "imagePullSecrets"})
    for (const json::Value* side : {&spec, &body}) append(pod, name, json::find(*side, name));
  json::Array init = beside(json::find(body, "initContainers"), main, false);
  for (json::Value& one : beside(json::find(body, "sidecars"), main, true))
    init.push_back(std::move(one));
  if (!init.empty()) pod.emplace("initContainers", std::move(init));
  if (std::optional<json::Value> deadline = TRY(deadline_of(body, of.where)))
    pod.emplace("activeDeadlineSeconds", std::move(*deadline));
  pod.emplace("containers", json::Array{std::move(main)});
  json::Value metadata = json::Object{};
  for (const char* kind : {"labels", "annotations"})
    for (const json::Object* from :
         {json::object_at(spec, {"podMetadata", kind}), json::object_at(body, {"metadata", kind})})
      if (from)
        for (const auto& member : *from)
          json::at_path(metadata, {kind, member.key()}) = member.value();
  return json::Object{{"metadata", std::move(metadata)}, {"spec", std::move(pod)}};
}

}  // namespace

Result<ir::Executor> read_container(const Template& of, const json::Value& spec) {
  const bool script = json::find(*of.body, "script") != nullptr;
  const std::string where = of.where + (script ? ".script" : ".container");
  json::Value main = *json::find(*of.body, script ? "script" : "container");
  if (!main.is_object()) return refuse(where, "an object is wanted");
  const Lookup lookup = body_lookup(of.component);
  ir::Container made;
  for (const auto& [path, text] : of.files)
    made.files.emplace(path, TRY(rewritten(text, of.where + ".inputs.artifacts", lookup)));
  json::Object& container = main.get_object();
  const auto words = [&](const char* name) -> Result<std::vector<std::string>> {
    std::vector<std::string> all = texts_of(json::find(main, name));
    for (std::string& one : all) one = TRY(rewritten(one, where + "." + name, lookup));
    return all;
  };
  made.command = TRY(words("command"));
  made.args = TRY(words("args"));
  if (made.command.empty())
    return refuse(where + ".command",
                  "the step's command must be given: the entry point of an image is not looked up");
  if (script) {
    made.files.emplace(kScript,
                       TRY(rewritten(json::text_at(main, {"source"}), where + ".source", lookup)));
    made.args.insert(made.args.begin(), kScript);
  }
  made.image = TRY(rewritten(json::text_at(main, {"image"}), where + ".image", lookup));
  if (made.image.empty()) return refuse(where + ".image", "an image is required");
  for (const char* name : {"command", "args", "source"}) container.erase(name);
  container.insert_or_assign("name", "main");
  const json::Value pod(TRY(read_pod(of, spec, std::move(main))));
  made.pod = TRY(rewritten(pod, of.where, lookup));
  if (const json::Value* patch = json::find(*of.body, "podSpecPatch"))
    made.pod_patch = TRY(rewritten(ir::text_of(*patch), of.where + ".podSpecPatch", lookup));
  ir::Executor executor;
  executor.container = std::move(made);
  return executor;
}

Result<ir::Executor> read_resource(const Template& of) {
  const json::Value& resource = *json::find(*of.body, "resource");
  const std::string where = of.where + ".resource";
  TRY(allow_only(resource, where,
                 {"action", "manifest", "successCondition", "failureCondition", "mergeStrategy",
                  "setOwnerReference"}));
  if (!of.component.output_artifacts.empty())
    return refuse(of.where + ".outputs.artifacts", "a resource has no artifacts");
  for (const auto& [name, definition] : of.component.output_parameters)
    if (!of.json_paths.contains(name))
      return refuse(of.where + ".outputs.parameters", name + " needs a jsonPath");
  ir::ResourceStep step;
  step.action = json::text_at(resource, {"action"});
  bool known = false;
  for (const char* action : {"create", "apply", "patch", "get", "delete", "replace"})
    known = known || step.action == action;
  if (!known || step.action == "replace")
    return refuse(where + ".action", "\"" + step.action +
                                         "\" is not supported; create, apply, patch, get and "
                                         "delete are");
  const Lookup lookup = body_lookup(of.component);
  step.manifest =
      TRY(rewritten(json::text_at(resource, {"manifest"}), where + ".manifest", lookup));
  if (step.manifest.empty()) return refuse(where + ".manifest", "a manifest is required");
  step.merge = json::text_at(resource, {"mergeStrategy"});
  for (const auto& [name, into] :
       {std::pair{"successCondition", &step.success}, std::pair{"failureCondition", &step.failure}})
    *into = TRY(rewritten(json::text_at(resource, {name}), where + "." + name, lookup));
  step.outputs = of.json_paths;
  ir::Executor executor;
  executor.resource = std::move(step);
  return executor;
}

std::optional<ir::Executor> kubectl_delete(const Template& of) {
  const json::Value* container = json::find(*of.body, "container");
  if (container == nullptr || json::string_at(*container, {"image"}) != kDeleteImage ||
      json::find(*container, "args"))
    return std::nullopt;
  const std::vector<std::string> words = texts_of(json::find(*container, "command"));
  static constexpr std::array<std::string_view, 4> flags = {"--ignore-not-found", "--output",
                                                            "name", "--wait=false"};
  if (words.size() != 4 + flags.size() || words[0] != "kubectl" || words[1] != "delete")
    return std::nullopt;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (words[4 + i] != flags[i]) return std::nullopt;
  const Result<std::string> name = rewritten(words[3], of.where, body_lookup(of.component));
  if (!name) return std::nullopt;
  ir::ResourceStep step;
  step.action = "delete";
  step.may_be_missing = true;
  step.manifest = json::serialize(
      json::Object{{"kind", words[2]}, {"metadata", json::Object{{"name", *name}}}});
  ir::Executor executor;
  executor.resource = std::move(step);
  return executor;
}

}  // namespace hekla::pipelines::argo
