// Defaults of pods and pod templates (pkg/apis/core/v1/defaults.go of Kubernetes 1.34).
#include "apiserver/kinds/defaults.h"
#include "apiserver/kinds/pod/pod_rules.h"
#include "model/quota.h"

namespace hekla::apiserver {
namespace {

json::Object* object_in(json::Object& parent, std::string_view member) {
  json::Value* found = parent.if_contains(member);
  return found != nullptr && found->is_object() ? &found->get_object() : nullptr;
}

// Always for a moving tag, as the tag may be another image tomorrow.
std::string_view pull_policy(std::string_view image) {
  if (image.find('@') != std::string_view::npos) return "IfNotPresent";
  std::size_t slash = image.rfind('/');
  std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
  bool latest = colon == std::string_view::npos || image.substr(colon + 1) == "latest";
  return latest ? "Always" : "IfNotPresent";
}

void default_http_get(json::Object& handler) {
  json::Object* http = object_in(handler, "httpGet");
  if (http == nullptr) return;
  set_default(*http, "path", "/");
  set_default(*http, "scheme", "HTTP");
}

void default_probe(json::Object& container, std::string_view name) {
  json::Object* probe = object_in(container, name);
  if (probe == nullptr) return;
  default_http_get(*probe);
  if (json::Object* grpc = object_in(*probe, "grpc"))
    if (!grpc->contains("service")) grpc->emplace("service", "");
  set_default(*probe, "timeoutSeconds", 1);
  set_default(*probe, "periodSeconds", 10);
  set_default(*probe, "successThreshold", 1);
  set_default(*probe, "failureThreshold", 3);
}

void default_requests(json::Object& container) {
  json::Object* resources = object_in(container, "resources");
  if (resources == nullptr) return;
  json::Object* limits = object_in(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  json::Object requests(resources->storage());
  if (json::Object* given = object_in(*resources, "requests")) requests = *given;
  for (const auto& limit : *limits)
    if (!requests.contains(limit.key())) requests.emplace(limit.key(), limit.value());
  (*resources)["requests"] = std::move(requests);
}

// Fields of feature gates that are off in 1.34 (EnvFiles, ContainerStopSignals).
void drop_disabled(json::Object& container) {
  for (json::Value& variable : list_in(container, "env"))
    if (json::Object* source =
            variable.is_object() ? object_in(variable.get_object(), "valueFrom") : nullptr)
      source->erase("fileKeyRef");
  json::Object* lifecycle = object_in(container, "lifecycle");
  if (lifecycle != nullptr && lifecycle->erase("stopSignal") > 0 && lifecycle->empty())
    container.erase("lifecycle");
}

void default_container(json::Object& container) {
  drop_disabled(container);
  for (json::Value& port : list_in(container, "ports"))
    if (port.is_object()) set_default(port.get_object(), "protocol", "TCP");
  for (json::Value& variable : list_in(container, "env")) {
    if (!variable.is_object()) continue;
    if (json::Object* source = object_in(variable.get_object(), "valueFrom"))
      if (json::Object* reference = object_in(*source, "fieldRef"))
        set_default(*reference, "apiVersion", "v1");
  }
  default_requests(container);
  for (std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    default_probe(container, probe);
  if (json::Object* lifecycle = object_in(container, "lifecycle"))
    for (std::string_view hook : {"postStart", "preStop"})
      if (json::Object* handler = object_in(*lifecycle, hook)) default_http_get(*handler);
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  json::Value* image = container.if_contains("image");
  set_default(
      container, "imagePullPolicy",
      json::Value(pull_policy(image != nullptr && image->is_string() ? json::sv(image->get_string())
                                                                     : std::string_view())));
  if (!container.contains("resources")) container.emplace("resources", json::Object());
}

void default_downward_items(json::Object& source) {
  for (json::Value& item : list_in(source, "items"))
    if (item.is_object())
      if (json::Object* reference = object_in(item.get_object(), "fieldRef"))
        set_default(*reference, "apiVersion", "v1");
}

void default_projected(json::Object& projected) {
  set_default(projected, "defaultMode", 420);
  for (json::Value& source : list_in(projected, "sources")) {
    if (!source.is_object()) continue;
    if (json::Object* token = object_in(source.get_object(), "serviceAccountToken"))
      set_default(*token, "expirationSeconds", 3600);
    if (json::Object* downward = object_in(source.get_object(), "downwardAPI"))
      default_downward_items(*downward);
  }
}

bool has_source(const json::Object& volume) {
  for (const auto& member : volume)
    if (member.key() != "name" && !member.value().is_null()) return true;
  return false;
}

void default_volume(json::Object& volume) {
  if (!has_source(volume)) volume["emptyDir"] = json::Object();
  for (std::string_view kind : {"secret", "configMap", "downwardAPI"})
    if (json::Object* source = object_in(volume, kind)) {
      set_default(*source, "defaultMode", 420);
      if (kind == "downwardAPI") default_downward_items(*source);
    }
  if (json::Object* projected = object_in(volume, "projected")) default_projected(*projected);
  if (json::Object* host = object_in(volume, "hostPath"))
    if (!host->contains("type")) host->emplace("type", "");
  if (json::Object* iscsi = object_in(volume, "iscsi"))
    set_default(*iscsi, "iscsiInterface", "default");
  if (json::Object* rbd = object_in(volume, "rbd")) {
    set_default(*rbd, "pool", "rbd");
    set_default(*rbd, "user", "admin");
    set_default(*rbd, "keyring", "/etc/ceph/keyring");
  }
  if (json::Object* ephemeral = object_in(volume, "ephemeral"))
    if (json::Object* claim = object_in(*ephemeral, "volumeClaimTemplate"))
      if (json::Object* spec = object_in(*claim, "spec"))
        set_default(*spec, "volumeMode", "Filesystem");
}

void default_host_ports(json::Object& container) {
  for (json::Value& port : list_in(container, "ports")) {
    if (!port.is_object()) continue;
    if (json::int_at(port, {"hostPort"}) == 0 && json::int_at(port, {"containerPort"}) != 0)
      port.get_object()["hostPort"] = json::int_at(port, {"containerPort"});
  }
}

// Of the pod as a whole: what its containers ask for together, or else its limits.
void default_pod_requests(json::Object& spec) {
  json::Object* resources = object_in(spec, "resources");
  json::Object* limits = resources == nullptr ? nullptr : object_in(*resources, "limits");
  if (limits == nullptr || limits->empty()) return;
  json::Object containers = spec;
  for (std::string_view of_pod : {"resources", "overhead"}) containers.erase(of_pod);
  json::Object requests(resources->storage());
  if (json::Object* given = object_in(*resources, "requests")) requests = *given;
  auto take = [&](std::string_view name, const json::Value& amount) {
    if (name == "cpu" || name == "memory" || name.starts_with("hugepages-"))
      requests.emplace(name, amount);
  };
  if (auto decoded = json::decode<model::PodSpec>(json::Value(std::move(containers))))
    for (const auto& [name, amount] : model::pod_requests(*decoded))
      take(name, json::encode(amount));
  for (const auto& limit : *limits) take(json::sv(limit.key()), limit.value());
  if (!requests.empty()) (*resources)["requests"] = std::move(requests);
}

}  // namespace

void default_pod_spec(json::Value& value, bool is_pod) {
  if (!value.is_object()) return;
  json::Object& spec = value.get_object();
  for (std::string_view list : {"containers", "initContainers", "ephemeralContainers"})
    for (json::Value& container : list_in(spec, list))
      if (container.is_object()) {
        default_container(container.get_object());
        if (json::bool_at(value, {"hostNetwork"})) default_host_ports(container.get_object());
      }
  for (json::Value& volume : list_in(spec, "volumes"))
    if (volume.is_object()) default_volume(volume.get_object());
  set_default(spec, "restartPolicy", "Always");
  if (is_pod && json::int_at(value, {"terminationGracePeriodSeconds"}) < 0)
    spec["terminationGracePeriodSeconds"] = 1;
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "dnsPolicy", "ClusterFirst");
  // Old clients read serviceAccount, new ones serviceAccountName.
  if (std::string account(json::string_at(value, {"serviceAccountName"})); !account.empty())
    spec["serviceAccount"] = account;
  else if (std::string old(json::string_at(value, {"serviceAccount"})); !old.empty())
    spec["serviceAccountName"] = old;
  if (!spec.contains("securityContext") || spec["securityContext"].is_null())
    spec["securityContext"] = json::Object();
  set_default(spec, "schedulerName", "default-scheduler");
  if (!is_pod) return;
  set_default(spec, "enableServiceLinks", true);
  default_pod_requests(spec);
}

void default_pod_template(json::Value& pod_template) {
  if (!pod_template.is_object()) return;
  if (json::Value* spec = pod_template.get_object().if_contains("spec"))
    default_pod_spec(*spec, false);
}

}  // namespace hekla::apiserver
