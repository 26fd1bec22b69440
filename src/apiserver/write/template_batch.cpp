#include "apiserver/write/template_batch.h"

#include <algorithm>
#include <array>

#include "apiserver/gates/chain.h"
#include "apiserver/gates/policies.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/write/stages/admit.h"
#include "apiserver/write/stages/put.h"
#include "base/check.h"
#include "json/raw.h"
#include "model/names.h"

namespace hekla::apiserver {

namespace {

// Labels and annotations in which controllers number the pods of one owner. No stage of a write
// reads them; whoever else takes part in admission is asked about each pod.
constexpr std::array<std::string_view, 3> kNumbers{
    "volcano.sh/task-index", "volcano.sh/partition-id", "batch.kubernetes.io/job-completion-index"};
// Members of a new pod that may stand in a batch, besides its numbers.
constexpr std::array<std::string_view, 6> kMembers{"name",        "namespace",       "labels",
                                                   "annotations", "ownerReferences", "finalizers"};
// How much longer the numbers of one may be than those of another.
constexpr std::size_t kLongerNumbers = 8;
// Far from the limit: whoever comes near it is measured.
constexpr std::size_t kFewAnnotationBytes = 64 * 1024;

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_plain_creation(const WriteRequest& request) {
  return request.verb == WriteRequest::Verb::create &&
         request.served->kind->resource == kube::resources::pods && request.subresource.empty() &&
         !request.dry_run && request.field_validation == FieldValidation::ignore &&
         request.repeated_fields.empty();
}

bool same_terms(const WriteRequest& a, const WriteRequest& b) {
  return a.served == b.served && a.key.ns == b.key.ns && a.field_manager == b.field_manager &&
         a.user.name == b.user.name && a.user.groups == b.user.groups;
}

bool same_strings_but_numbers(const json::Value& a, const json::Value& b) {
  if (!a.is_object() || !b.is_object() || a.get_object().size() != b.get_object().size())
    return false;
  return std::ranges::all_of(a.get_object(), [&](const auto& member) {
    const json::Value* other = json::find(b.get_object(), member.key());
    if (!other || !other->is_string() || !member.value().is_string()) return false;
    return contains(kNumbers, member.key()) || member.value() == *other;
  });
}

bool same_metadata_but_numbers(const json::Object& a, const json::Object& b) {
  if (a.size() != b.size()) return false;
  return std::ranges::all_of(a, [&](const auto& member) {
    const std::string_view key = member.key();
    const json::Value* other = json::find(b, key);
    if (!other || !contains(kMembers, key)) return false;
    if (key == "name") return other->is_string() && !other->get_string().empty();
    if (key == "labels" || key == "annotations")
      return same_strings_but_numbers(member.value(), *other);
    return json::equal(member.value(), *other);
  });
}

bool same_but_numbers(const json::Value& a, const json::Value& b) {
  if (!a.is_object() || !b.is_object() || a.get_object().size() != b.get_object().size())
    return false;
  return std::ranges::all_of(a.get_object(), [&](const auto& member) {
    const std::string_view key = member.key();
    const json::Value* other = json::find(b, key);
    if (!other || key == "status") return false;
    if (key != "metadata") return json::equal(member.value(), *other);
    return member.value().is_object() && other->is_object() &&
           same_metadata_but_numbers(member.value().get_object(), other->get_object());
  });
}

std::size_t annotation_bytes(const json::Value& body) {
  std::size_t bytes = 0;
  if (const json::Object* all = json::object_at(body, {"metadata", "annotations"}))
    for (const auto& one : *all) bytes += one.key().size() + one.value().get_string().size();
  return bytes;
}

// Webhooks, policies and the steps that were plugged in may tell pods apart by whatever they like.
bool others_have_a_say(WriteScope& scope) {
  if (webhooks_configured(scope, true) || webhooks_configured(scope, false)) return true;
  return !scope.services.policies->at(scope.snapshot, scope.catalog)->policies.empty();
}

bool plugged_steps_agree(WriteScope& scope) {
  json::Value asked(scope.request.body, scope.storage);
  OwnAdmissionRequest request = admission_request(scope, asked, nullptr, kube::Operation::create);
  SnapshotReader reader(scope.snapshot, scope.catalog);
  std::vector<std::string> warnings;
  request.reader = &reader;
  request.warnings = &warnings;
  return scope.services.admission->plugged_steps_agree(request, asked) && warnings.empty() &&
         json::equal(asked, scope.request.body);
}

std::string_view value_of(const json::Value& body, std::string_view list, std::string_view key) {
  return json::string_at(body, {"metadata", list, key});
}

}  // namespace

void TemplateBatch::learn(WriteScope& scope, const PreparedWrite& prepared) {
  model_.reset();
  const WriteRequest& request = scope.request;
  if (!is_plain_creation(request) || !prepared.commit || prepared.retry_on_exists ||
      !prepared.coupled.empty())
    return;
  if (!same_but_numbers(request.body, request.body) || others_have_a_say(scope) ||
      !plugged_steps_agree(scope))
    return;
  Model model{&request, prepared.write.value, {}, nullptr, {}};
  model.header = std::static_pointer_cast<const ObjectHeader>(prepared.write.attachment);
  const std::string_view text = model.bytes;
  auto add = [&](Slot::What what, std::string_view key, std::string_view value) {
    model.slots.push_back({what, std::string(key),
                           static_cast<std::size_t>(value.data() - text.data()), value.size()});
  };
  for (const json::RawMember& member : json::raw_members(text)) {
    if (member.key != "metadata") continue;
    // Digits of the revision stand between two quotes that belong together, so that the text can be
    // taken apart.
    for (const json::RawMember& inner : json::raw_members(member.value)) {
      if (inner.key == "name") add(Slot::What::name, {}, inner.value);
      if (inner.key == "uid") add(Slot::What::uid, {}, inner.value);
      if (inner.key != "labels" && inner.key != "annotations") continue;
      for (const json::RawMember& one : json::raw_members(inner.value))
        if (contains(kNumbers, one.key))
          add(inner.key == "labels" ? Slot::What::label : Slot::What::annotation, one.key,
              one.value);
    }
  }
  model.prepared.commit = true;
  model.prepared.guarded = prepared.guarded;
  model.prepared.outcome = prepared.outcome;
  model.prepared.write.op = prepared.write.op;
  model.prepared.write.bucket = prepared.write.bucket;
  model.prepared.write.expect = prepared.write.expect;
  model.prepared.write.guards = prepared.write.guards;
  model.prepared.write.revision_at = prepared.write.revision_at;
  model_ = std::move(model);
}

std::optional<PreparedWrite> TemplateBatch::make(WriteScope& scope) const {
  if (!model_) return std::nullopt;
  const WriteRequest& request = scope.request;
  const json::Value& body = request.body;
  if (!is_plain_creation(request) || !same_terms(*model_->request, request)) return std::nullopt;
  if (!same_but_numbers(model_->request->body, body)) return std::nullopt;
  const std::string_view name = meta_string(body, "name");
  if (!model::dns1123_subdomain_errors(name).empty() ||
      (!request.key.name.empty() && request.key.name != name) ||
      annotation_bytes(body) > kFewAnnotationBytes || !plugged_steps_agree(scope))
    return std::nullopt;

  auto header = std::make_shared<ObjectHeader>(*model_->header);
  header->decoded = {};  // of other bytes
  header->name = name;
  header->uid = uuid(scope.rng);
  CHECK(model_->header && !model_->slots.empty(), "a model knows where its pods differ");
  PreparedWrite member = model_->prepared;
  const std::string_view text = model_->bytes;
  std::string& bytes = member.write.value;
  const std::size_t longer = name.size() - std::min(name.size(), model_->header->name.size());
  bytes.reserve(text.size() + longer + kLongestRevision + kLongerNumbers);
  std::size_t copied = 0;
  auto copy_until = [&](std::size_t end) {
    bytes.append(text.substr(copied, end - copied));
    copied = end;
  };
  bool placed = false;
  for (const Slot& slot : model_->slots) {
    if (!placed && slot.at > model_->prepared.write.revision_at) {
      copy_until(model_->prepared.write.revision_at);
      member.write.revision_at = static_cast<std::uint32_t>(bytes.size());
      placed = true;
    }
    copy_until(slot.at);
    std::string_view value = slot.what == Slot::What::name ? name : std::string_view(header->uid);
    if (slot.what == Slot::What::annotation) value = value_of(body, "annotations", slot.key);
    if (slot.what == Slot::What::label) {
      value = value_of(body, "labels", slot.key);
      if (!model::label_value_errors(value).empty()) return std::nullopt;
      auto label = std::ranges::lower_bound(header->labels, slot.key, {},
                                            &std::pair<std::string, std::string>::first);
      label->second = value;
    }
    json::append_quoted(value, bytes);
    copied = slot.at + slot.size;
  }
  if (!placed) {
    copy_until(model_->prepared.write.revision_at);
    member.write.revision_at = static_cast<std::uint32_t>(bytes.size());
  }
  copy_until(text.size());
  member.write.key = storage_key(scope.kind(), {header->ns, header->name});
  member.write.attachment = std::move(header);
  return member;
}

}  // namespace hekla::apiserver
