// Binding a pod to a node, and evicting one: the two verbs of schedulers and of kubectl drain.
#include "apiserver/errors.h"
#include "apiserver/metadata.h"
#include "apiserver/storage.h"
#include "apiserver/write_stages.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

Error binding_conflict(const std::string& pod, const std::string& why) {
  kube::Resource binding{"", "v1", "pods/binding", "Binding", true};
  return conflict_error(binding, pod, why);
}

Result<void> check_unbound(const WriteScope& scope, const json::Value& pod) {
  const std::string& name = scope.request.key.name;
  const json::Value* deleted = json::find_path(pod, {"metadata", "deletionTimestamp"});
  if (deleted && !deleted->is_null())
    return std::unexpected(
        binding_conflict(name, "pod " + name + " is being deleted, cannot be assigned to a host"));
  std::string_view node = json::string_at(pod, {"spec", "nodeName"});
  if (!node.empty())
    return std::unexpected(binding_conflict(
        name, "pod " + name + " is already assigned to node \"" + std::string(node) + "\""));
  const json::Array* gates = json::array_at(pod, {"spec", "schedulingGates"});
  if (gates && !gates->empty())
    return std::unexpected(
        binding_conflict(name, "pod " + name + " has non-empty .spec.schedulingGates"));
  std::string_view uid = json::string_at(scope.request.body, {"metadata", "uid"});
  if (!uid.empty() && uid != meta_string(pod, "uid"))
    return std::unexpected(binding_conflict(
        name, "Precondition failed: UID in precondition: " + std::string(uid) +
                  ", UID in object meta: " + std::string(meta_string(pod, "uid"))));
  return {};
}

// Sets one condition of status.conditions; lastTransitionTime moves when the status does.
void set_condition(json::Value& object, std::string_view type, std::string_view status, WallTime now) {
  json::Value& list = json::at_path(object, {"status", "conditions"});
  if (!list.is_array()) list.emplace_array();
  json::Object wanted;
  wanted.emplace("lastProbeTime", nullptr);
  wanted.emplace("lastTransitionTime", model::format_rfc3339(now));
  wanted.emplace("status", status);
  wanted.emplace("type", type);
  for (json::Value& one : list.get_array()) {
    if (json::string_at(one, {"type"}) != type) continue;
    if (json::string_at(one, {"status"}) == status) return;
    one = std::move(wanted);
    return;
  }
  list.get_array().push_back(std::move(wanted));
}

void merge_strings(const json::Value& from, json::Value& to, std::string_view member) {
  const json::Object* given = json::object_at(from, {"metadata", member});
  if (!given || given->empty()) return;
  json::Value& target = json::at_path(to, {"metadata", member});
  if (!target.is_object()) target.emplace_object();
  for (const auto& one : *given) target.get_object()[one.key()] = one.value();
}

}  // namespace

Result<PreparedWrite> prepare_binding(WriteScope& scope) {
  const json::Value& body = scope.request.body;
  std::string_view node = json::string_at(body, {"target", "name"});
  std::string_view kind = json::string_at(body, {"target", "kind"});
  kube::Resource binding{"", "v1", "bindings", "Binding", true};
  std::vector<Cause> causes;
  if (!kind.empty() && kind != "Node")
    causes.push_back(unsupported_value("target.kind", json::Value(kind), {"Node", "<empty>"}));
  if (node.empty()) causes.push_back(required_value("target.name"));
  if (!causes.empty())
    return std::unexpected(invalid_object(binding, scope.request.key.name, std::move(causes)));

  store::ItemPtr item = TRY(find_item(scope));
  json::Value pod = decode_object(scope.served(), *item);
  TRY(check_unbound(scope, pod));
  json::at_path(pod, {"spec", "nodeName"}) = node;
  merge_strings(body, pod, "annotations");
  merge_strings(body, pod, "labels");
  set_condition(pod, "PodScheduled", "True", scope.now);
  PreparedWrite prepared = put_stage(scope, std::move(pod),
                                     {store::Expect::Kind::revision, item->modified},
                                     WriteOutcome::Effect::updated, item->modified);
  prepared.retry_on_conflict = true;
  return prepared;
}

Result<PreparedWrite> prepare_eviction(WriteScope& scope) {
  std::string_view name = json::string_at(scope.request.body, {"metadata", "name"});
  if (!name.empty() && name != scope.request.key.name)
    return fail(Code::bad_request, "name in URL does not match name in Eviction object");
  return prepare_remove(scope);
}

}  // namespace hekla::apiserver
