#include "apiserver/write/binding.h"

#include <cstring>

#include "apiserver/object/metadata.h"
#include "apiserver/object/pod_conditions.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "base/check.h"
#include "json/parse.h"
#include "json/raw.h"

namespace hekla::apiserver {

namespace {

Error binding_conflict(const std::string& pod, const std::string& why) {
  kube::Resource binding{"", "v1", "pods/binding", "Binding", true};
  return conflict_error(binding, pod, why);
}

Result<void> check_unbound(const WriteScope& scope, const json::Value& body,
                           const json::Value& pod) {
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
  std::string_view uid = json::string_at(body, {"metadata", "uid"});
  if (!uid.empty() && uid != meta_string(pod, "uid"))
    return std::unexpected(binding_conflict(
        name, "Precondition failed: UID in precondition: " + std::string(uid) +
                  ", UID in object meta: " + std::string(meta_string(pod, "uid"))));
  return {};
}

// Whether there was anything to merge.
bool merge_strings(const json::Value& from, json::Value& to, std::string_view member) {
  const json::Object* given = json::object_at(from, {"metadata", member});
  if (!given || given->empty()) return false;
  json::Value& target = json::at_path(to, {"metadata", member});
  if (!target.is_object()) target.emplace_object();
  for (const auto& one : *given)
    if (one.value().is_string()) target.get_object()[one.key()] = one.value();
  return true;
}

bool has_text(std::string_view text, std::string_view wanted) {
  return ::memmem(text.data(), text.size(), wanted.data(), wanted.size()) != nullptr;
}

// Nearly every pod is bound as it was made, and then two members of it change: they are read, and
// the rest, of which managedFields are the largest part, stays the bytes that it is. Nothing where
// there is more to do, or to refuse.
std::optional<EncodedObject> bind_in_place(const WriteScope& scope, const json::Value& body,
                                           const store::Item& item, std::string_view node) {
  const ObjectHeader& before = header_of(item);
  const std::string_view uid = json::string_at(body, {"metadata", "uid"});
  const bool more = json::find_path(body, {"metadata", "annotations"}) ||
                    json::find_path(body, {"metadata", "labels"});
  if (scope.request.dry_run || more || before.deleting || (!uid.empty() && uid != before.uid))
    return std::nullopt;
  const std::string_view text = item.value;
  std::string_view spec, status;
  for (const json::RawMember& member : json::raw_members(text)) {
    if (member.key == "spec") spec = member.value;
    if (member.key == "status") status = member.value;
  }
  if (spec.size() <= 2 || status.data() < spec.data()) return std::nullopt;
  if (has_text(spec, "\"nodeName\"") || has_text(spec, "\"schedulingGates\"")) return std::nullopt;

  json::Value pod(scope.storage);
  Result<json::Value> read = json::parse(status, scope.storage);
  CHECK(read.has_value(), "stored bytes were serialized by us");
  pod.emplace_object()["status"] = std::move(*read);
  set_pod_condition(pod, {"PodScheduled", "True"}, scope.now);
  EncodedObject bound;
  bound.revision_at = item.revision_at;
  const std::string changed = json::serialize(pod.get_object()["status"]);
  constexpr std::string_view kMember = ",\"nodeName\":";
  const std::size_t digits = std::to_string(item.modified).size();
  const std::size_t spec_end =
      static_cast<std::size_t>(spec.data() - text.data()) + spec.size() - 1;
  const std::size_t status_at = static_cast<std::size_t>(status.data() - text.data());
  bound.bytes.reserve(text.size() - digits + kLongestRevision + kMember.size() + node.size() + 2 +
                      changed.size() - status.size());
  bound.bytes.append(text.substr(0, item.revision_at));
  bound.bytes.append(text.substr(item.revision_at + digits, spec_end - item.revision_at - digits));
  bound.bytes += kMember;
  json::append_quoted(node, bound.bytes);
  bound.bytes.append(text.substr(spec_end, status_at - spec_end));
  bound.bytes += changed;
  bound.bytes.append(text.substr(status_at + status.size()));

  auto header = std::make_shared<ObjectHeader>(before);
  header->decoded = {};  // of other bytes
  for (std::string_view field : {"spec.host", "spec.nodeName"})
    header->set_field(scope.kind(), field, node);
  bound.header = std::move(header);
  return bound;
}

}  // namespace

Result<PreparedWrite> prepare_binding(WriteScope& scope) {
  json::Value body(scope.request.body, scope.storage);
  TRY(admit_sent(scope, "binding", kube::Operation::create, body));
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
  if (std::optional<EncodedObject> bound = bind_in_place(scope, body, *item, node)) {
    PreparedWrite prepared =
        put_encoded(scope, std::move(*bound), {store::Expect::Kind::revision, item->modified},
                    WriteOutcome::Effect::updated);
    prepared.retry_on_conflict = true;
    return prepared;
  }
  json::Value pod = decode_object(scope.served(), *item, scope.storage);
  TRY(check_unbound(scope, body, pod));
  json::at_path(pod, {"spec", "nodeName"}) = node;
  const bool annotated = merge_strings(body, pod, "annotations");
  const bool labelled = merge_strings(body, pod, "labels");
  if (annotated || labelled)
    if (std::vector<Cause> bad = validate_metadata(scope.kind(), pod); !bad.empty())
      return std::unexpected(invalid_object(binding, scope.request.key.name, std::move(bad)));
  set_pod_condition(pod, {"PodScheduled", "True"}, scope.now);
  PreparedWrite prepared =
      TRY(put_stage(scope, std::move(pod), {store::Expect::Kind::revision, item->modified},
                    WriteOutcome::Effect::updated, item->modified));
  prepared.retry_on_conflict = true;
  return prepared;
}

}  // namespace hekla::apiserver
