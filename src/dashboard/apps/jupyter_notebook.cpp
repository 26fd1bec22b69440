#include "dashboard/apps/jupyter_notebook.h"

#include <cmath>
#include <cstdlib>

#include "json/parse.h"
#include "model/program_image.h"
#include "model/quantity.h"
#include "model/time.h"

namespace hekla::dashboard {

namespace {

constexpr std::string_view kDefaults = R"(
spawnerFormDefaults:
  allowCustomImage: true
  hideRegistry: true
  hideTag: false
  imagePullPolicy: {value: IfNotPresent, readOnly: false}
  image:
    value: kubeflownotebookswg/jupyter-scipy:v1.10.0
    options:
    - kubeflownotebookswg/jupyter-scipy:v1.10.0
    - kubeflownotebookswg/jupyter-pytorch-full:v1.10.0
    - kubeflownotebookswg/jupyter-pytorch-cuda-full:v1.10.0
    - kubeflownotebookswg/jupyter-tensorflow-full:v1.10.0
    - kubeflownotebookswg/jupyter-tensorflow-cuda-full:v1.10.0
    readOnly: false
  imageGroupOne:
    value: kubeflownotebookswg/codeserver-python:v1.10.0
    options: ["kubeflownotebookswg/codeserver-python:v1.10.0"]
    readOnly: false
  imageGroupTwo:
    value: kubeflownotebookswg/rstudio-tidyverse:v1.10.0
    options: ["kubeflownotebookswg/rstudio-tidyverse:v1.10.0"]
    readOnly: false
  cpu: {value: "0.5", limitFactor: "1.2", readOnly: false}
  memory: {value: "1.0Gi", limitFactor: "1.2", readOnly: false}
  gpus:
    value:
      num: none
      vendor: ""
      vendors:
      - {limitsKey: nvidia.com/gpu, uiName: NVIDIA}
      - {limitsKey: amd.com/gpu, uiName: AMD}
      - {limitsKey: habana.ai/gaudi, uiName: Intel Gaudi}
    readOnly: false
  workspaceVolume:
    value:
      mount: /home/jovyan
      newPvc:
        metadata: {name: "{notebook-name}-workspace"}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
    readOnly: false
  dataVolumes: {value: [], readOnly: false}
  affinityConfig: {value: "", options: [], readOnly: false}
  tolerationGroup: {value: "", options: [], readOnly: false}
  shm: {value: true, readOnly: false}
  configurations: {value: [], readOnly: false}
  environment: {value: {}, readOnly: false}
)";

constexpr std::string_view kStopped = "kubeflow-resource-stopped";

Error bad(std::string text) { return {Code::bad_request, std::move(text)}; }

json::Value defaults_of(std::string_view yaml) {
  Result<std::vector<json::YamlDocument>> read = json::parse_yaml(yaml);
  if (!read || read->empty()) return nullptr;
  const json::Value* found = json::find(read->front().value, "spawnerFormDefaults");
  return found ? *found : json::Value();
}

// The field's value: what the form sent, or the configuration's where that is read-only.
Result<json::Value> field(const json::Value& body, const json::Value& config, std::string_view name,
                          std::string_view config_name, bool optional = false) {
  const json::Value* given = json::find(body, name);
  const json::Value* rule = json::find(config, config_name);
  if (rule && json::bool_at(*rule, {"readOnly"})) {
    if (given)
      return std::unexpected(
          bad("'" + std::string(name) +
              "' is readonly but a value was provided: " + json::serialize(*given)));
    const json::Value* value = json::find(*rule, "value");
    return value ? *value : json::Value();
  }
  if (given) return *given;
  if (optional || !rule) return json::Value();
  return std::unexpected(bad("No value provided for: " + std::string(name)));
}

std::string text_of(const json::Value& value) {
  if (value.is_string()) return std::string(json::sv(value.get_string()));
  return value.is_null() ? std::string() : json::serialize(value);
}

// The limit that the form gave, else the request times the factor with one decimal.
Result<std::string> limit_of(const std::string& given, const std::string& request,
                             std::string_view factor, const std::string& name) {
  if (!given.empty()) {
    Result<model::Quantity> least = model::Quantity::parse(request);
    Result<model::Quantity> most = model::Quantity::parse(given);
    if (!least || !most) return std::unexpected(bad(name + ": not a quantity"));
    if (*most < *least)
      return std::unexpected(bad(name + " limit must be greater than the request"));
    return given;
  }
  if (factor.empty() || factor == "none") return std::string();
  const bool memory = request.ends_with("Gi");
  const double least = std::strtod(request.c_str(), nullptr);
  const double most = least * std::strtod(std::string(factor).c_str(), nullptr);
  std::string out;
  json::append_double(std::round(most * 10) / 10, out);
  return memory ? out + "Gi" : out;
}

struct Maker {
  const json::Value& body;
  const json::Value& config;
  const std::string& ns;
  NewNotebook out;
  std::string name;
  json::Object container, spec, labels, annotations;
  json::Array mounts, volumes;

  Result<void> make(const std::string& user);
  Result<void> images();
  Result<void> resources();
  Result<void> gpus();
  Result<void> volume(const json::Value& volume);
  Result<void> placing();
};

Result<void> Maker::images() {
  const std::string type = [&] {
    const std::string given = json::text_at(body, {"serverType"});
    return given.empty() ? "jupyter" : given;
  }();
  const std::string_view group = type == "group-one"   ? "imageGroupOne"
                                 : type == "group-two" ? "imageGroupTwo"
                                                       : "image";
  std::string image = json::text_at(body, {"customImage"});
  if (image.empty()) {
    const json::Value* own = json::find(body, group);  // older forms have a member for each group
    image = text_of(own ? *own : TRY(field(body, config, "image", group)));
  }
  const std::size_t begin = image.find_first_not_of(' ');
  image = begin == std::string::npos ? ""
                                     : image.substr(begin, image.find_last_not_of(' ') - begin + 1);
  if (image.empty()) return std::unexpected(bad("No value provided for: image"));
  container["image"] = image;
  container["imagePullPolicy"] = TRY(field(body, config, "imagePullPolicy", "imagePullPolicy"));
  annotations["notebooks.kubeflow.org/server-type"] = type;
  if (type == "group-one" || type == "group-two")
    annotations["notebooks.kubeflow.org/http-rewrite-uri"] = "/";
  if (type == "group-two")
    annotations["notebooks.kubeflow.org/http-headers-request-set"] = json::serialize(
        json::Object{{"X-RStudio-Root-Path", "/notebook/" + ns + "/" + name + "/"}});
  return {};
}

Result<void> Maker::resources() {
  json::Object requests, limits;
  for (const char* what : {"cpu", "memory"}) {
    const std::string request = text_of(TRY(field(body, config, what, what)));
    if (!model::Quantity::parse(request))
      return std::unexpected(bad(std::string(what) + ": \"" + request + "\" is not a quantity"));
    const std::string given =
        text_of(TRY(field(body, config, std::string(what) + "Limit", "", true)));
    const std::string limit =
        TRY(limit_of(given, request, json::string_at(config, {what, "limitFactor"}), what));
    requests[what] = request;
    if (!limit.empty()) limits[what] = limit;
  }
  container["resources"] = json::Object{{"requests", requests}, {"limits", limits}};
  return gpus();
}

Result<void> Maker::gpus() {
  const json::Value gpus = TRY(field(body, config, "gpus", "gpus"));
  const json::Value* count = json::find(gpus, "num");
  const std::string number = count ? text_of(*count) : "none";
  if (number == "none" || number.empty()) return {};
  const std::string vendor = json::text_at(gpus, {"vendor"});
  if (vendor.empty()) return std::unexpected(bad("'gpus' must have a 'vendor' field"));
  if (number.find_first_not_of("0123456789") != std::string::npos)
    return std::unexpected(bad("gpus.num is not a valid number: " + number));
  json::Value held = std::move(container["resources"]);
  json::at_path(held, {"limits"}).get_object()[vendor] = number;
  container["resources"] = std::move(held);
  return {};
}

Result<void> Maker::volume(const json::Value& volume) {
  const std::string mount = json::text_at(volume, {"mount"});
  if (mount.empty()) return std::unexpected(bad("Volume should have a mount field"));
  const json::Object* fresh = json::object_at(volume, {"newPvc"});
  const json::Object* existing = json::object_at(volume, {"existingSource"});
  if ((fresh != nullptr) == (existing != nullptr))
    return std::unexpected(bad("Specify one of newPvc and existingSource for a volume"));
  json::Object source;
  std::string volume_name;
  if (fresh) {
    json::Value claim = *fresh;
    const std::string claim_name = json::text_at(claim, {"metadata", "name"});
    if (claim_name.empty()) return std::unexpected(bad("A new volume needs metadata.name"));
    claim.get_object()["apiVersion"] = "v1";
    claim.get_object()["kind"] = "PersistentVolumeClaim";
    json::at_path(claim, {"metadata", "namespace"}) = ns;
    out.claims.push_back(std::move(claim));
    source["persistentVolumeClaim"] = json::Object{{"claimName", claim_name}};
    volume_name = claim_name;
  } else {
    source = *existing;
    volume_name = json::text_at(source, {"persistentVolumeClaim", "claimName"});
    if (volume_name.empty())
      volume_name = "existing-source-volume-" + std::to_string(volumes.size());
  }
  json::Object made{{"name", volume_name}};
  for (auto& [kind, value] : source) made[kind] = value;
  volumes.push_back(std::move(made));
  json::Object at{{"name", volume_name}, {"mountPath", mount}};
  if (json::bool_at(source, {"persistentVolumeClaim", "readOnly"})) at["readOnly"] = true;
  mounts.push_back(std::move(at));
  return {};
}

// Tolerations and affinity are named by the form and written down in the configuration.
Result<void> Maker::placing() {
  const auto chosen = [&](const char* what, const char* key, const char* member) -> Result<void> {
    const std::string name_of = text_of(TRY(field(body, config, what, what, true)));
    if (name_of.empty() || name_of == "none") return {};
    const json::Array* options = json::array_at(config, {what, "options"});
    for (const json::Value& option : options ? *options : json::Array{})
      if (json::string_at(option, {key}) == name_of) {
        if (const json::Value* value = json::find(option, member)) spec[member] = *value;
        return {};
      }
    return std::unexpected(
        bad(std::string(what) + " '" + name_of + "' is not in the configuration"));
  };
  TRY(chosen("tolerationGroup", "groupKey", "tolerations"));
  TRY(chosen("affinityConfig", "configKey", "affinity"));
  return {};
}

Result<void> Maker::make(const std::string& user) {
  name = json::text_at(body, {"name"});
  if (name.empty())
    return std::unexpected(bad("Parameter 'name' is missing from the request's body."));
  labels["app"] = name;
  annotations["notebooks.kubeflow.org/creator"] = user;
  container["name"] = name;
  TRY(images());
  TRY(resources());
  const json::Value configurations =
      TRY(field(body, config, "configurations", "configurations", true));
  if (configurations.is_array())
    for (const json::Value& label : configurations.get_array()) labels[text_of(label)] = "true";
  if (const json::Value workspace = TRY(field(body, config, "workspace", "workspaceVolume", true));
      workspace.is_object())
    TRY(volume(workspace));
  const json::Value data = TRY(field(body, config, "datavols", "dataVolumes", true));
  if (data.is_array())
    for (const json::Value& one : data.get_array()) TRY(volume(one));
  const json::Value shared_memory = TRY(field(body, config, "shm", "shm", true));
  if (shared_memory.is_bool() && shared_memory.get_bool()) {
    volumes.push_back(
        json::Object{{"name", "dshm"}, {"emptyDir", json::Object{{"medium", "Memory"}}}});
    mounts.push_back(json::Object{{"name", "dshm"}, {"mountPath", "/dev/shm"}});
  }
  json::Array environment;
  const json::Value variables = TRY(field(body, config, "environment", "environment", true));
  if (variables.is_object())
    for (const auto& [key, value] : variables.get_object())
      environment.push_back(json::Object{{"name", key}, {"value", text_of(value)}});
  container["env"] = std::move(environment);
  container["volumeMounts"] = std::move(mounts);
  spec["serviceAccountName"] = "default-editor";
  TRY(placing());
  spec["containers"] = json::Array{container};
  spec["volumes"] = std::move(volumes);
  out.notebook = json::Object{
      {"apiVersion", "kubeflow.org/v1beta1"},
      {"kind", "Notebook"},
      {"metadata",
       json::Object{
           {"name", name}, {"namespace", ns}, {"labels", labels}, {"annotations", annotations}}},
      {"spec", json::Object{{"template", json::Object{{"spec", std::move(spec)}}}}}};
  return {};
}

const json::Value& first_container(const json::Value& notebook) {
  static const json::Value none = json::Object{};
  const json::Array* all = json::array_at(notebook, {"spec", "template", "spec", "containers"});
  return all && !all->empty() ? all->front() : none;
}

json::Object gpu_summary(const json::Value& container) {
  std::int64_t count = 0;
  std::string message;
  if (const json::Object* limits = json::object_at(container, {"resources", "limits"}))
    for (const auto& [key, value] : *limits) {
      const std::string_view name = key;
      if (name.find('/') == std::string_view::npos) continue;
      const std::string number = text_of(value);
      count += std::strtoll(number.c_str(), nullptr, 10);
      message += (message.empty() ? "" : ", ") + number + " " +
                 std::string(name.substr(0, name.find('.')));
    }
  return {{"count", count}, {"message", message}};
}

}  // namespace

json::Value spawner_defaults() { return defaults_of(kDefaults); }

json::Value spawner_config(const json::Value& config_map) {
  json::Value own = defaults_of(json::string_at(config_map, {"data", "spawner_ui_config.yaml"}));
  return own.is_object() ? own : spawner_defaults();
}

Result<NewNotebook> notebook_from_form(const json::Value& body, const json::Value& config,
                                       const std::string& ns, const std::string& user) {
  Maker maker{body, config, ns, {}, {}, {}, {}, {}, {}, {}, {}};
  TRY(maker.make(user));
  return std::move(maker.out);
}

json::Object status_object(std::string_view phase, std::string_view message) {
  return {{"phase", phase}, {"message", message}, {"state", ""}};
}

json::Object notebook_status(const json::Value& notebook, const json::Array& events, WallTime now) {
  const json::Value* state = json::find_path(notebook, {"status", "containerState"});
  const json::Array* conditions = json::array_at(notebook, {"status", "conditions"});
  const std::int64_t ready = json::int_at(notebook, {"status", "readyReplicas"});
  const bool nothing = (!state || !state->is_object() || state->get_object().empty()) &&
                       (!conditions || conditions->empty());
  Result<WallTime> made =
      model::parse_rfc3339(json::string_at(notebook, {"metadata", "creationTimestamp"}));
  const json::Object* notes = json::object_at(notebook, {"metadata", "annotations"});
  const bool stopped = notes && notes->contains(kStopped);
  const bool deleted = !json::string_at(notebook, {"metadata", "deletionTimestamp"}).empty();
  if (nothing && !stopped && !deleted && made && now - *made <= std::chrono::seconds(10))
    return status_object("waiting", "Waiting for StatefulSet to create the underlying Pod.");
  if (stopped)
    return ready == 0
               ? status_object("stopped", "No Pods are currently running for this Notebook Server.")
               : status_object("waiting", "Notebook Server is stopping.");
  if (deleted) return status_object("terminating", "Deleting this Notebook Server.");
  if (ready == 1) return status_object("ready", "Running");
  if (const json::Value* waiting = state ? json::find(*state, "waiting") : nullptr;
      waiting && waiting->is_object()) {
    const std::string message = json::text_at(*waiting, {"message"});
    const bool building = json::string_at(*waiting, {"reason"}) == model::kImageBuilding;
    return status_object(
        building ? "waiting" : "warning",
        json::text_at(*waiting, {"reason"}) + (message.empty() ? "" : ": " + message));
  }
  if (conditions)
    for (const json::Value& condition : *conditions)
      if (const std::string reason = json::text_at(condition, {"reason"}); !reason.empty())
        return status_object("warning", reason + ": " + json::text_at(condition, {"message"}));
  for (std::size_t at = events.size(); at-- > 0;)
    if (json::string_at(events[at], {"type"}) == "Warning")
      return status_object("warning", json::string_at(events[at], {"message"}));
  return status_object("warning", "Couldn't find any information for the status of this notebook.");
}

json::Object notebook_row(const json::Value& notebook, const json::Array& events, WallTime now) {
  const json::Value& container = first_container(notebook);
  const std::string image = json::text_at(container, {"image"});
  json::Array volumes;
  if (const json::Array* mounts = json::array_at(container, {"volumeMounts"}))
    for (const json::Value& mount : *mounts)
      volumes.push_back(json::Value(json::text_at(mount, {"name"})));
  const json::Value* type =
      json::find_path(notebook, {"metadata", "annotations", "notebooks.kubeflow.org/server-type"});
  const json::Value* metadata = json::find(notebook, "metadata");
  return {{"name", json::text_at(notebook, {"metadata", "name"})},
          {"namespace", json::text_at(notebook, {"metadata", "namespace"})},
          {"serverType", type ? *type : json::Value()},
          {"age", json::text_at(notebook, {"metadata", "creationTimestamp"})},
          {"last_activity", json::text_at(notebook, {"metadata", "annotations",
                                                     "notebooks.kubeflow.org/last-activity"})},
          {"image", image},
          {"shortImage", image.substr(image.rfind('/') + 1)},
          {"cpu", json::text_at(container, {"resources", "requests", "cpu"})},
          {"gpus", gpu_summary(container)},
          {"memory", json::text_at(container, {"resources", "requests", "memory"})},
          {"volumes", std::move(volumes)},
          {"status", notebook_status(notebook, events, now)},
          {"metadata", metadata ? *metadata : json::Value()}};
}

}  // namespace hekla::dashboard
