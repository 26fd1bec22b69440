// Binding a pod to a node: the verb of schedulers.
#include "apiserver/errors.h"
#include "apiserver/metadata.h"
#include "apiserver/pod_conditions.h"
#include "apiserver/storage.h"
#include "apiserver/write_stages.h"

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

void merge_strings(const json::Value& from, json::Value& to, std::string_view member) {
  const json::Object* given = json::object_at(from, {"metadata", member});
  if (!given || given->empty()) return;
  json::Value& target = json::at_path(to, {"metadata", member});
  if (!target.is_object()) target.emplace_object();
  for (const auto& one : *given)
    if (one.value().is_string()) target.get_object()[one.key()] = one.value();
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
  json::Value pod = decode_object(scope.served(), *item, scope.storage);
  TRY(check_unbound(scope, pod));
  json::at_path(pod, {"spec", "nodeName"}) = node;
  merge_strings(body, pod, "annotations");
  merge_strings(body, pod, "labels");
  if (std::vector<Cause> bad = validate_metadata(scope.kind(), pod); !bad.empty())
    return std::unexpected(invalid_object(binding, scope.request.key.name, std::move(bad)));
  set_pod_condition(pod, {"PodScheduled", "True"}, scope.now);
  PreparedWrite prepared = TRY(put_stage(scope, std::move(pod),
                                         {store::Expect::Kind::revision, item->modified},
                                         WriteOutcome::Effect::updated, item->modified));
  prepared.retry_on_conflict = true;
  return prepared;
}

}  // namespace hekla::apiserver
