#include "framework/claims.h"

#include "framework/writes.h"

namespace hekla::framework {
namespace {

std::optional<model::Selector> selector_of(const KindDescription& kind, const AnyObject& object) {
  return kind.selector ? kind.selector(object) : spec_selector(object);
}

kube::Write owners_write(const kube::Resource& resource, const model::ObjectMeta& object,
                         json::Array owners) {
  return merge_patch(
      resource, key_of(object),
      json::Object{
          {"metadata", json::Object{{"uid", object.uid}, {"ownerReferences", std::move(owners)}}}});
}

bool is_of(const model::OwnerReference& owner, const kube::Resource& resource) {
  const std::size_t slash = owner.apiVersion.find('/');
  const std::string_view group = slash == std::string::npos
                                     ? std::string_view()
                                     : std::string_view(owner.apiVersion).substr(0, slash);
  return owner.kind == resource.kind && group == resource.group;
}

}  // namespace

std::optional<model::Selector> spec_selector(const AnyObject& object) {
  const json::Value* found = json::find(object.spec, "selector");
  if (!found || !found->is_object()) return std::nullopt;
  // A label selector has no member that is text.
  model::Labels plain;
  for (const auto& member : found->get_object())
    if (member.value().is_string())
      plain[std::string(member.key())] = json::sv(member.value().get_string());
  if (!plain.empty()) return model::Selector::of(plain);
  Result<model::Selector> parsed = model::Selector::from_label_selector(*found);
  if (!parsed || parsed->empty()) return std::nullopt;
  return std::move(*parsed);
}

View::Claims claim_by_selector(const KindDescription& kind, const OwnedCache& owned,
                               const AnyObject& owner, std::vector<kube::Write>& writes) {
  View::Claims claims;
  const kube::Resource& resource = owned.cache->resource();
  const bool terminating = bool(owner.metadata.deletionTimestamp);
  std::optional<model::Selector> selector = selector_of(kind, owner);
  for (const auto& object : owned.cache->of(owner.metadata.uid)) {
    if (selector && selector->matches(object->labels)) continue;
    claims.released.insert(object->name);
    if (object->deletionTimestamp || terminating) continue;
    json::Array rest;
    for (const model::OwnerReference& one : object->ownerReferences)
      if (one.uid != owner.metadata.uid) rest.push_back(json::encode(one));
    writes.push_back(owners_write(resource, *object, std::move(rest)));
  }
  if (!selector || terminating) return claims;
  for (const auto& object : owned.cache->orphans(owner.metadata.ns)) {
    if (object->deletionTimestamp || !selector->matches(object->labels)) continue;
    if (owned.kind->adoptable && !owned.kind->adoptable(owner, *object)) continue;
    json::Array owners;
    for (const model::OwnerReference& one : object->ownerReferences)
      owners.push_back(json::encode(one));
    owners.push_back(json::encode(model::controller_reference(kind.resource.api_version(),
                                                              kind.resource.kind, owner.metadata)));
    writes.push_back(owners_write(resource, *object, std::move(owners)));
    claims.adopted.push_back(key_of(*object));
  }
  return claims;
}

std::vector<kube::Key> owners_concerned(const KindDescription& kind, const Held& objects,
                                        const OwnedKind& owned, const model::ObjectMeta* before,
                                        const model::ObjectMeta* after) {
  std::vector<kube::Key> keys;
  for (const model::ObjectMeta* child : {before, after}) {
    const model::OwnerReference* owner = child ? child->controller() : nullptr;
    if (owner && is_of(*owner, kind.resource))
      keys.push_back({kind.resource.namespaced ? child->ns : "", owner->name});
  }
  if (owned.claim != Claim::selector || !after || after->controller() || after->deletionTimestamp)
    return keys;
  // An orphan that has not changed its labels was seen by whoever wants it.
  if (before && !before->controller() && before->labels == after->labels) return keys;
  for (const kube::Key& key : objects.keys(&after->ns)) {
    AnyRef object = objects.whole(key);
    std::optional<model::Selector> selector = selector_of(kind, *object);
    if (selector && selector->matches(after->labels)) keys.push_back(key);
  }
  return keys;
}

kube::Write finalizer_write(const KindDescription& kind, const model::ObjectMeta& object,
                            bool put) {
  json::Array finalizers;
  for (const std::string& one : object.finalizers)
    if (one != kind.finalizer) finalizers.emplace_back(one);
  if (put) finalizers.emplace_back(kind.finalizer);
  // With the version: somebody else's finalizer must not be lost.
  json::Object metadata{{"uid", object.uid},
                        {"resourceVersion", object.resourceVersion},
                        {"finalizers", std::move(finalizers)}};
  return merge_patch(kind.resource, key_of(object),
                     json::Object{{"metadata", std::move(metadata)}});
}

}  // namespace hekla::framework
