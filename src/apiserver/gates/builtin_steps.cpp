#include "apiserver/gates/builtin_steps.h"

#include <algorithm>

#include "apiserver/gates/runtime_class.h"
#include "apiserver/object/metadata.h"
#include "apiserver/text/errors.h"

namespace hekla::apiserver {

namespace {

using kube::AdmissionRequest;
using kube::Operation;

bool is_core(const kube::Resource& resource, std::string_view plural) {
  return resource.group.empty() && resource.plural == plural;
}

bool is_pod_write(const kube::Resource& resource, Operation operation,
                  std::string_view subresource) {
  return (operation == Operation::create || operation == Operation::update) &&
         is_core(resource, "pods") && subresource.empty();
}

Result<void> namespace_may_go(const AdmissionRequest& request, const json::Value&) {
  static constexpr std::array<std::string_view, 3> kImmortal{"default", "kube-system",
                                                             "kube-public"};
  if (std::find(kImmortal.begin(), kImmortal.end(), request.key.name) == kImmortal.end()) return {};
  return std::unexpected(
      forbidden_error(request.resource, request.key.name, "this namespace may not be deleted"));
}

// NamespaceLifecycle: refuses creations in a namespace that is missing or going away.
Result<void> namespace_exists(const AdmissionRequest& request, json::Value&) {
  Result<kube::SharedValue> found =
      request.reader->get(kube::resources::namespaces, {"", request.key.ns});
  if (!found) return std::unexpected(not_found_error(kube::resources::namespaces, request.key.ns));
  const bool terminating = json::string_at(**found, {"status", "phase"}) == "Terminating" ||
                           json::find_path(**found, {"metadata", "deletionTimestamp"});
  if (!terminating) return {};
  const std::string why = "unable to create new content in namespace " + request.key.ns +
                          " because it is being terminated";
  Error error = forbidden_error(request.resource, request.key.name, why);
  error.details.causes.push_back({"NamespaceTerminating",
                                  "namespace " + request.key.ns + " is being terminated",
                                  "metadata.namespace"});
  return std::unexpected(std::move(error));
}

struct PriorityClass {
  std::int64_t value = 0;
  std::string preemption_policy = "PreemptLowerPriority";
  std::string name;
};

Result<PriorityClass> priority_of(const AdmissionRequest& request, const json::Value& pod) {
  auto read = [](const json::Value& object) {
    PriorityClass found;
    found.value = json::int_at(object, {"value"});
    found.name = meta_string(object, "name");
    if (std::string_view policy = json::string_at(object, {"preemptionPolicy"}); !policy.empty())
      found.preemption_policy = policy;
    return found;
  };
  std::string name(json::string_at(pod, {"spec", "priorityClassName"}));
  if (!name.empty()) {
    Result<kube::SharedValue> found =
        request.reader->get(kube::resources::priority_classes, {"", name});
    if (!found)
      return std::unexpected(forbidden_error(request.resource, request.key.name,
                                             "no PriorityClass with name " + name + " was found"));
    return read(**found);
  }
  std::optional<PriorityClass> best;
  Result<std::vector<kube::SharedValue>> all =
      request.reader->list(kube::resources::priority_classes, "");
  if (all)
    for (const kube::SharedValue& one : *all)
      if (json::bool_at(*one, {"globalDefault"}) && (!best || read(*one).value < best->value))
        best = read(*one);
  return best.value_or(PriorityClass{});
}

// A manifest that replaces its pod does not name what was computed when the pod was made; no update
// changes it.
void keep_priority(const json::Value& before, json::Value& pod) {
  for (std::string_view member : {"priority", "preemptionPolicy"})
    if (const json::Value* had = json::find_path(before, {"spec", member});
        had && !json::find_path(pod, {"spec", member}))
      json::at_path(pod, {"spec", member}) = *had;
}

Result<void> priority(const AdmissionRequest& request, json::Value& pod) {
  if (request.operation == Operation::update) {
    keep_priority(*request.old_object, pod);
    return {};
  }
  PriorityClass found = TRY(priority_of(request, pod));
  json::Value& spec = json::at_path(pod, {"spec"});
  if (!spec.is_object()) return {};
  json::Object& members = spec.get_object();
  if (const json::Value* given = json::find(members, "priority");
      given && given->is_int64() && given->get_int64() != found.value)
    return std::unexpected(forbidden_error(
        request.resource, request.key.name,
        "the integer value of priority (" + std::to_string(given->get_int64()) +
            ") must not be provided in pod spec; priority admission controller computed " +
            std::to_string(found.value) + " from the given PriorityClass name"));
  members["priority"] = found.value;
  if (!found.name.empty()) members["priorityClassName"] = found.name;
  if (json::string_at(spec, {"preemptionPolicy"}).empty())
    members["preemptionPolicy"] = found.preemption_policy;
  return {};
}

// Pods stay five minutes on a node that is not ready or cannot be reached.
Result<void> default_tolerations(const AdmissionRequest&, json::Value& pod) {
  if (!json::object_at(pod, {"spec"})) return {};
  json::Value& list = json::at_path(pod, {"spec", "tolerations"});
  if (!list.is_array()) list.emplace_array();
  for (std::string_view key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool tolerated = false;
    for (const json::Value& one : list.get_array()) {
      std::string_view given = json::string_at(one, {"key"}),
                       effect = json::string_at(one, {"effect"});
      tolerated |= (given == key || given.empty()) && (effect == "NoExecute" || effect.empty());
    }
    if (tolerated) continue;
    json::Object& one = list.get_array().emplace_back(nullptr).emplace_object();
    one.reserve(4);
    one.emplace("key", key);
    one.emplace("operator", "Exists");
    one.emplace("effect", "NoExecute");
    one.emplace("tolerationSeconds", 300);
  }
  return {};
}

// A namespace carries its own name as a label, for selectors.
Result<void> namespace_label(const AdmissionRequest& request, json::Value& object) {
  std::string name(meta_string(object, "name"));
  if (name.empty()) name = request.key.name;
  json::at_path(object, {"metadata", "labels", "kubernetes.io/metadata.name"}) = name;
  return {};
}

// A new node is tainted until it says that it is ready; the node lifecycle controller takes
// the taint away then. One that says so from the start needs none: there need not be such a
// controller.
Result<void> taint_new_node(const AdmissionRequest&, json::Value& node) {
  constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
  if (const json::Array* conditions = json::array_at(node, {"status", "conditions"}))
    for (const json::Value& one : *conditions)
      if (json::string_at(one, {"type"}) == "Ready" && json::string_at(one, {"status"}) == "True")
        return {};
  json::Value& taints = json::at_path(node, {"spec", "taints"});
  if (!taints.is_array()) taints.emplace_array();
  for (const json::Value& one : taints.get_array())
    if (json::string_at(one, {"key"}) == kNotReady &&
        json::string_at(one, {"effect"}) == "NoSchedule")
      return {};
  json::Object& taint = taints.get_array().emplace_back(nullptr).emplace_object();
  taint.emplace("key", kNotReady);
  taint.emplace("effect", "NoSchedule");
  return {};
}

// A signing request tells who sent it, whatever its author wrote.
Result<void> requesting_user(const AdmissionRequest& request, json::Value& object) {
  json::Value& spec = json::at_path(object, {"spec"});
  if (!spec.is_object()) return {};
  json::Object& members = spec.get_object();
  for (std::string_view member : {"username", "uid", "groups", "extra"}) members.erase(member);
  members["username"] = request.user.name;
  if (!request.user.uid.empty()) members["uid"] = request.user.uid;
  json::Array groups;
  for (const std::string& group : request.user.groups) groups.emplace_back(group);
  if (!groups.empty()) members["groups"] = std::move(groups);
  json::Object extra;
  for (const auto& [key, values] : request.user.extra) {
    json::Array list;
    for (const std::string& value : values) list.emplace_back(value);
    extra[key] = std::move(list);
  }
  if (!extra.empty()) members["extra"] = std::move(extra);
  return {};
}

}  // namespace

std::vector<kube::AdmissionStep> builtin_admission() {
  auto on_create = [](std::string_view plural) {
    return [plural](const kube::Resource& resource, Operation operation,
                    std::string_view subresource) {
      return operation == Operation::create && is_core(resource, plural) && subresource.empty();
    };
  };
  auto in_namespace = [](const kube::Resource& resource, Operation operation, std::string_view) {
    return operation == Operation::create && resource.namespaced;
  };
  auto namespace_removal = [](const kube::Resource& resource, Operation operation,
                              std::string_view) {
    return operation == Operation::remove && is_core(resource, "namespaces");
  };
  auto on_signing_request = [](const kube::Resource& resource, Operation operation,
                               std::string_view) {
    return operation == Operation::create && resource.group == "certificates.k8s.io" &&
           resource.plural == "certificatesigningrequests";
  };
  std::vector<kube::AdmissionStep> steps;
  steps.push_back({"NamespaceLifecycle", in_namespace, namespace_exists, nullptr});
  steps.push_back({"NamespaceLifecycle", namespace_removal, nullptr, namespace_may_go});
  steps.push_back({"NamespaceLabel", on_create("namespaces"), namespace_label, nullptr});
  steps.push_back({"TaintNodesByCondition", on_create("nodes"), taint_new_node, nullptr});
  steps.push_back({"Priority", is_pod_write, priority, nullptr});
  steps.push_back(runtime_class_admission());
  steps.push_back({"CertificateRequester", on_signing_request, requesting_user, nullptr});
  steps.push_back({"DefaultTolerationSeconds", is_pod_write, default_tolerations, nullptr});
  return steps;
}

}  // namespace hekla::apiserver
