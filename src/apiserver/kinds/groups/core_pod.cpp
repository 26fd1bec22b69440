// v1 Pod, PodTemplate.
#include "apiserver/kinds/builtin.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/pod/ephemeral.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/kinds/pod/pod_template.h"
#include "apiserver/kinds/pod/resize.h"
#include "model/quota.h"
#include "model/time.h"

namespace hekla::apiserver {
namespace {

void prepare_pod(json::Value& pod, const WriteContext& context) {
  const json::Value* spec = json::find(pod, "spec");
  json::Object status;
  status.emplace("phase", "Pending");
  if (spec != nullptr) status.emplace("qosClass", model::qos_class(*spec));
  if (count(pod, {"spec", "schedulingGates"}) > 0)
    status.emplace("conditions",
                   json::Array{json::Object{
                       {"type", "PodScheduled"},
                       {"status", "False"},
                       {"lastTransitionTime", model::format_rfc3339(context.now)},
                       {"reason", "SchedulingGated"},
                       {"message", "Scheduling is blocked due to non-empty scheduling gates"}}});
  pod.get_object()["status"] = std::move(status);
}

std::vector<Cause> validate_pod(const json::Value& pod) {
  Rules rules;
  Field spec = Field(pod, "")["spec"];
  validate_pod_spec(spec, true, rules);
  return std::move(rules.causes);
}

std::vector<Cause> validate_new_pod(const json::Value& pod) {
  Rules rules;
  Field spec = Field(pod, "")["spec"];
  if (!spec["ephemeralContainers"].items().empty())
    rules.forbidden(spec["ephemeralContainers"], "cannot be set on create");
  if (!spec["nodeName"].text().empty() && !spec["schedulingGates"].items().empty())
    rules.forbidden(spec["nodeName"], "cannot be set until all schedulingGates have been cleared");
  return std::move(rules.causes);
}

std::vector<Cause> validate_changed_pod(const json::Value& pod, const json::Value& old) {
  Rules rules;
  validate_pod_update(pod, old, rules);
  return std::move(rules.causes);
}

std::string pod_ips(const json::Node& pod) {
  std::vector<std::string> all;
  if (const std::optional<json::Node> addresses = json::find_path(pod, {"status", "podIPs"});
      addresses && addresses->is_array())
    addresses->for_each_element([&](const json::Node& one) {
      all.emplace_back(json::string_at(one, {"ip"}));
      return true;
    });
  return join(all, ",");
}

std::vector<Subresource> pod_subresources() {
  using Form = Subresource::Form;
  const std::vector<std::string> connect{"create", "get"}, read_write{"get", "patch", "update"};
  const auto part = [&](const char* name) {
    return Subresource{
        .name = name, .group = "", .version = "v1", .kind = "Pod", .verbs = read_write};
  };
  Subresource ephemeral = part("ephemeralcontainers"), resize = part("resize");
  ephemeral.isolate = isolate_ephemeral;
  ephemeral.validate = validate_ephemeral_update;
  ephemeral.read = pod_of_ephemeral;
  ephemeral.show = show_ephemeral;
  resize.isolate = isolate_resize;
  resize.validate = validate_resize;
  return {{"attach", "", "v1", "PodAttachOptions", connect, Form::stream},
          {"binding", "", "v1", "Binding", {"create"}, Form::binding},
          std::move(ephemeral),
          {"eviction", "policy", "v1", "Eviction", {"create"}, Form::eviction},
          {"exec", "", "v1", "PodExecOptions", connect, Form::stream},
          {"log", "", "v1", "Pod", {"get"}, Form::log},
          {"portforward", "", "v1", "PodPortForwardOptions", connect, Form::stream},
          proxy_subresource("PodProxyOptions"),
          std::move(resize)};
}

Kind pod_kind() {
  Kind pod = builtin_kind("", "v1", "pods", "Pod", kCorePackage);
  pod.short_names = {"po"};
  pod.categories = {"all"};
  pod.traits.has_status = true;
  pod.traits.has_generation = true;
  pod.traits.graceful_delete = true;
  pod.printing.columns = columns({"Ready", "Status", "Restarts", "Age", "IP*", "Node*",
                                  "Nominated Node*", "Readiness Gates*"});
  pod.printing.cells = pod_cells;
  pod.selectable = {{"spec.nodeName", field_at({"spec", "nodeName"})},
                    {"spec.host", field_at({"spec", "nodeName"})},
                    {"spec.restartPolicy", field_at({"spec", "restartPolicy"})},
                    {"spec.schedulerName", field_at({"spec", "schedulerName"})},
                    {"spec.serviceAccountName", field_at({"spec", "serviceAccountName"})},
                    {"spec.hostNetwork",
                     [](const json::Node& one) {
                       return json::bool_at(one, {"spec", "hostNetwork"}) ? std::string("true")
                                                                          : std::string("false");
                     }},
                    {"status.phase", field_at({"status", "phase"})},
                    {"status.podIP", field_at({"status", "podIP"})},
                    {"status.podIPs", pod_ips},
                    {"status.nominatedNodeName", field_at({"status", "nominatedNodeName"})}};
  pod.rules.set_defaults = [](json::Value& object) {
    if (json::Value* spec = object.get_object().if_contains("spec")) default_pod_spec(*spec, true);
  };
  pod.rules.prepare_create = prepare_pod;
  pod.rules.validate = validate_pod;
  pod.rules.validate_create = validate_new_pod;
  pod.rules.validate_update = validate_changed_pod;
  pod.subresources = pod_subresources();
  return pod;
}

Kind pod_template_kind() {
  Kind kind = builtin_kind("", "v1", "podtemplates", "PodTemplate", kCorePackage);
  kind.traits.has_generation = true;
  kind.traits.returns_deleted = true;
  kind.printing.columns = columns({"Containers", "Images", "Pod Labels"});
  kind.printing.cells = [](const json::Value& object, WallTime) -> json::Array {
    const json::Array* containers = json::array_at(object, {"template", "spec", "containers"});
    return {json::Value(container_names(containers)), json::Value(container_images(containers)),
            json::Value(labels_text(json::find_path(object, {"template", "metadata", "labels"})))};
  };
  kind.rules.set_defaults = [](json::Value& object) {
    if (json::Value* pod_template = object.get_object().if_contains("template"))
      default_pod_template(*pod_template);
  };
  kind.rules.validate = [](const json::Value& object) {
    Rules rules;
    validate_pod_template(Field(object, "")["template"], rules);
    return std::move(rules.causes);
  };
  return kind;
}

}  // namespace

std::vector<std::string> pod_template_errors(json::Value pod_template) {
  if (json::Value& spec = json::at_path(pod_template, {"spec"}); spec.is_null())
    spec = json::Object();
  default_pod_template(pod_template);
  Rules rules;
  validate_pod_template(Field(pod_template, "template"), rules);
  std::vector<std::string> errors;
  for (const Cause& cause : rules.causes) errors.push_back(cause.field + ": " + cause.message);
  return errors;
}

namespace {

void add_core_pod_kinds(Kinds& kinds) {
  add(kinds, pod_kind());
  add(kinds, pod_template_kind());
}

}  // namespace

extern const KindGroup kinds_core_pod;
const KindGroup kinds_core_pod{add_core_pod_kinds};

}  // namespace hekla::apiserver
