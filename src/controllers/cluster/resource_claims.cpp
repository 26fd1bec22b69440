#include "controllers/cluster/resource_claims.h"

#include <algorithm>

namespace hekla::controllers {

namespace claim_resources {
const kube::Resource resource_claims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"};
const kube::Resource resource_claim_templates{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                              "ResourceClaimTemplate"};
}  // namespace claim_resources

namespace {

using claim_resources::resource_claims;

constexpr std::string_view kFinalizer = "resource.kubernetes.io/delete-protection";
constexpr const char* kPodClaim = "resource.kubernetes.io/pod-claim-name";
constexpr Nanos kPatience =
    std::chrono::seconds(5);  // with a pod that our cache may not have seen yet
constexpr std::size_t kMostGone = 10'000;
constexpr std::size_t kNameMax = 57;  // leaves room for a hyphen and five random characters

// None of its containers runs or ever will.
bool pod_done(const model::Pod& pod) {
  return pod_finished(pod) || (pod.metadata.deletionTimestamp && pod.spec.nodeName.empty());
}

const model::OwnerReference* owning_pod(const AnyObject& claim) {
  const model::OwnerReference* owner = claim.metadata.controller();
  return owner && owner->apiVersion == "v1" && owner->kind == "Pod" ? owner : nullptr;
}

const json::Value* status_of(const model::Pod& pod, std::string_view entry) {
  for (const json::Value& one : pod.status.resourceClaimStatuses)
    if (json::string_at(one, {"name"}) == entry) return &one;
  return nullptr;
}

// The objects a pod names, or was told of.
std::vector<std::string> claim_names(const model::Pod& pod) {
  std::vector<std::string> names;
  for (const json::Value& entry : pod.spec.resourceClaims) {
    std::string_view name = json::string_at(entry, {"resourceClaimName"});
    if (const json::Value* made = status_of(pod, json::string_at(entry, {"name"}));
        name.empty() && made)
      name = json::string_at(*made, {"resourceClaimName"});
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

std::string claim_prefix(const std::string& pod, const std::string& entry) {
  std::string whole = pod + "-" + entry + "-";
  if (whole.size() <= kNameMax) return whole;
  // Both are shortened alike, so that something remains of the second.
  return pod.substr(0, pod.size() * kNameMax / whole.size()) + "-" +
         entry.substr(0, entry.size() * kNameMax / whole.size());
}

bool is_protected(const AnyObject& claim) {
  const auto& all = claim.metadata.finalizers;
  return std::find(all.begin(), all.end(), kFinalizer) != all.end();
}
bool is_allocated(const AnyObject& claim) {
  return json::object_at(claim.status, {"allocation"}) != nullptr;
}
bool is_reserved_for(const AnyObject& claim, const std::string& uid) {
  const json::Array* users = json::array_at(claim.status, {"reservedFor"});
  return users && std::any_of(users->begin(), users->end(), [&](const json::Value& one) {
           return json::string_at(one, {"uid"}) == uid;
         });
}

json::Object version_of(const AnyObject& claim) {
  return json::Object{{"resourceVersion", claim.metadata.resourceVersion}};
}

}  // namespace

ResourceClaims::ResourceClaims(kube::CacheSet& caches)
    : events_(caches.client(), "resource_claim"),
      pods_(caches.of<model::Pod>(kube::resources::pods)),
      claims_(caches.of<AnyObject>(claim_resources::resource_claims)),
      templates_(caches.of<AnyObject>(claim_resources::resource_claim_templates)),
      pods_by_template_(pods_.add_index([](const model::Pod& pod, std::vector<std::string>& keys) {
        for (const json::Value& entry : pod.spec.resourceClaims)
          if (std::string_view name = json::string_at(entry, {"resourceClaimTemplateName"});
              !name.empty())
            keys.push_back(pod.metadata.ns + "/" + std::string(name));
      })),
      claims_by_pod_(claims_.add_index([](const AnyObject& claim, std::vector<std::string>& keys) {
        if (const model::OwnerReference* pod = owning_pod(claim)) keys.push_back(pod->uid);
      })),
      pods_loop_(caches, {.name = "resource-claim-pods"},
                 [this](const kube::Key& key, WallTime) { return pod_round(key); }),
      claims_loop_(caches, {.name = "resource-claims"},
                   [this](const kube::Key& key, WallTime now) { return claim_round(key, now); }) {
  pods_.on_change(
      [this](const PodRef& before, const PodRef& after) { pod_changed(before, after); });
  claims_.on_change(
      [this](const AnyRef& before, const AnyRef& after) { claim_changed(before, after); });
  templates_.on_change([this](const AnyRef&, const AnyRef& after) {
    if (!after) return;
    for (const PodRef& pod :
         pods_.by(pods_by_template_, after->metadata.ns + "/" + after->metadata.name))
      pods_loop_.add(key_of(pod->metadata));
  });
  caches.on_synced([this] {
    pods_loop_.enable();
    claims_loop_.enable();
  });
}

void ResourceClaims::pod_changed(const PodRef& before, const PodRef& after) {
  const PodRef& pod = after ? after : before;
  if (pod->spec.resourceClaims.empty()) return;
  if (before && (!after || before->metadata.uid != after->metadata.uid)) {
    if (gone_.size() >= kMostGone) gone_.clear();  // the others are found missing
    gone_.insert(before->metadata.uid);
  }
  if (after) pods_loop_.add(key_of(after->metadata));
  if (after && !pod_done(*after) && !(before && before->metadata.uid != after->metadata.uid))
    return;
  for (const PodRef& one : {before, after}) {
    if (!one) continue;
    for (const std::string& name : claim_names(*one)) claims_loop_.add({one->metadata.ns, name});
    for (const AnyRef& claim : claims_.by(claims_by_pod_, one->metadata.uid))
      claims_loop_.add(key_of(claim->metadata));
  }
}

void ResourceClaims::claim_changed(const AnyRef& before, const AnyRef& after) {
  const AnyRef& claim = after ? after : before;
  if (after)
    claims_loop_.add(key_of(after->metadata));
  else
    taken_back_.erase(key_of(before->metadata));
  if (const model::OwnerReference* pod = owning_pod(*claim))
    pods_loop_.add({claim->metadata.ns, pod->name});
}

// ---- pods: their claims are made

kube::Round ResourceClaims::pod_round(const kube::Key& key) {
  kube::Round round;
  PodRef pod = pods_.get(key);
  if (!pod || pod->metadata.deletionTimestamp || pod_done(*pod)) return round;
  json::Array news;
  for (const json::Value& entry : pod->spec.resourceClaims) {
    if (json::string_at(entry, {"resourceClaimTemplateName"}).empty()) continue;
    std::string_view name = json::string_at(entry, {"name"});
    const json::Value* told = status_of(*pod, name);
    std::string_view known =
        told ? json::string_at(*told, {"resourceClaimName"}) : std::string_view();
    if (told && known.empty()) continue;  // none is needed
    std::optional<std::string> claim = claim_for(*pod, entry);
    if (!claim)
      make_claim(*pod, entry, round);
    else if (*claim != known)
      news.push_back(json::Object{{"name", name}, {"resourceClaimName", *claim}});
  }
  if (!news.empty()) {
    round.writes.push_back(merge_patch(
        kube::resources::pods, key,
        json::Object{{"metadata", json::Object{{"uid", pod->metadata.uid}}},
                     {"status", json::Object{{"resourceClaimStatuses", std::move(news)}}}},
        "status"));
    round.writes.back().patch_type = kube::PatchType::strategic;
  }
  if (!pod->spec.nodeName.empty()) reserve_for_placed(*pod, round);
  return round;
}

std::optional<std::string> ResourceClaims::claim_for(const model::Pod& pod,
                                                     const json::Value& entry) const {
  std::string_view name = json::string_at(entry, {"name"});
  if (const json::Value* told = status_of(pod, name)) {
    AnyRef claim =
        claims_.get({pod.metadata.ns, std::string(json::string_at(*told, {"resourceClaimName"}))});
    const model::OwnerReference* owner = claim ? owning_pod(*claim) : nullptr;
    if (owner && owner->uid == pod.metadata.uid) return claim->metadata.name;
  }
  // Made already, but the pod was not told.
  for (const AnyRef& claim : claims_.by(claims_by_pod_, pod.metadata.uid))
    if (claim->metadata.annotation(kPodClaim) == name) return claim->metadata.name;
  return std::nullopt;
}

void ResourceClaims::make_claim(const model::Pod& pod, const json::Value& entry,
                                kube::Round& round) {
  const std::string name(json::string_at(entry, {"name"}));
  const std::string from(json::string_at(entry, {"resourceClaimTemplateName"}));
  AnyRef made_from = templates_.get({pod.metadata.ns, from});
  if (!made_from) {
    std::string reason = "resource claim template \"" + from +
                         "\": resourceclaimtemplate.resource.k8s.io \"" + from + "\" not found";
    events_.record({"v1", "Pod", pod.metadata.ns, pod.metadata.name, pod.metadata.uid}, "Warning",
                   "FailedResourceClaimCreation", "PodResourceClaim " + name + ": " + reason);
    return;  // the template's arrival wakes the pod
  }
  json::Object metadata{
      {"generateName", claim_prefix(pod.metadata.name, name)},
      {"namespace", pod.metadata.ns},
      {"ownerReferences",
       json::Array{json::encode(model::controller_reference("v1", "Pod", pod.metadata))}}};
  json::Object annotations;
  if (const json::Object* given = json::object_at(made_from->spec, {"metadata", "annotations"}))
    annotations = *given;
  annotations[kPodClaim] = name;
  metadata["annotations"] = std::move(annotations);
  if (const json::Object* labels = json::object_at(made_from->spec, {"metadata", "labels"}))
    metadata["labels"] = *labels;
  const json::Value* spec = json::find(made_from->spec, "spec");
  round.writes.push_back(
      create(resource_claims, pod.metadata.ns,
             json::Object{{"apiVersion", resource_claims.api_version()},
                          {"kind", resource_claims.kind},
                          {"metadata", std::move(metadata)},
                          {"spec", spec ? *spec : json::Value(json::Object())}}));
}

// Who came to a node past the scheduler still has a right to claims that are allocated.
void ResourceClaims::reserve_for_placed(const model::Pod& pod, kube::Round& round) const {
  for (const std::string& name : claim_names(pod)) {
    AnyRef claim = claims_.get({pod.metadata.ns, name});
    if (!claim || !is_allocated(*claim) || is_reserved_for(*claim, pod.metadata.uid)) continue;
    json::Object user{{"resource", "pods"}, {"name", pod.metadata.name}, {"uid", pod.metadata.uid}};
    round.writes.push_back(merge_patch(
        resource_claims, key_of(claim->metadata),
        json::Object{{"metadata", version_of(*claim)},
                     {"status", json::Object{{"reservedFor", json::Array{std::move(user)}}}}},
        "status"));
    round.writes.back().patch_type = kube::PatchType::strategic;
  }
}

// ---- claims: their users leave

bool ResourceClaims::still_uses(const json::Value& user, const std::string& ns, WallTime now,
                                kube::Round& round) {
  if (!json::string_at(user, {"apiGroup"}).empty() || json::string_at(user, {"resource"}) != "pods")
    return true;  // nobody we could ask
  const std::string uid(json::string_at(user, {"uid"}));
  if (gone_.contains(uid)) return false;
  PodRef pod = pods_.get({ns, std::string(json::string_at(user, {"name"}))});
  if (pod) {
    missing_.erase(uid);
    return pod->metadata.uid == uid && !pod_done(*pod);
  }
  // The claim may be ahead of our pods.
  auto [since, fresh] = missing_.emplace(uid, now);
  if (now - since->second < kPatience) {
    round.again_after = kPatience;
    return true;
  }
  missing_.erase(since);
  return false;
}

kube::Round ResourceClaims::claim_round(const kube::Key& key, WallTime now) {
  kube::Round round;
  AnyRef claim = claims_.get(key);
  if (!claim) return round;
  json::Array users;
  const json::Array* known = json::array_at(claim->status, {"reservedFor"});
  for (std::size_t i = 0; known && i < known->size(); ++i)
    if (still_uses((*known)[i], key.ns, now, round)) users.push_back((*known)[i]);
  if (!users.empty() && users.size() == known->size()) {
    taken_back_.erase(key);
    return round;
  }
  const bool left = known && users.size() < known->size();
  const bool deleted = static_cast<bool>(claim->metadata.deletionTimestamp);
  if (left || (deleted && users.empty() && is_protected(*claim) && is_allocated(*claim))) {
    take_back(*claim, users, round);
    if (!users.empty()) return round;
    round.settle = [this, key](const std::vector<kube::WriteResult>& results) -> Result<void> {
      for (const kube::WriteResult& result : results)
        if (!result && result.error().code != Code::not_found)
          return std::unexpected(result.error());
      taken_back_.insert(key);
      claims_loop_.add(key);
      return {};
    };
    return round;
  }
  if (is_allocated(*claim)) {
    taken_back_.erase(key);
  } else if (is_protected(*claim) && (deleted || taken_back_.contains(key))) {
    json::Array rest;
    for (const std::string& one : claim->metadata.finalizers)
      if (one != kFinalizer) rest.emplace_back(std::string_view(one));
    json::Object metadata = version_of(*claim);
    metadata["finalizers"] = std::move(rest);
    round.writes.push_back(
        merge_patch(resource_claims, key, json::Object{{"metadata", std::move(metadata)}}));
  }
  remove_if_unwanted(*claim, round);
  return round;
}

// The version keeps it from hitting a claim that somebody has just joined.
void ResourceClaims::take_back(const AnyObject& claim, const json::Array& users,
                               kube::Round& round) const {
  json::Object status{{"reservedFor", users.empty() ? json::Value(nullptr) : json::Value(users)}};
  if (users.empty()) {
    status["allocation"] = nullptr;
    status["devices"] = nullptr;
  }
  round.writes.push_back(merge_patch(
      resource_claims, key_of(claim.metadata),
      json::Object{{"metadata", version_of(claim)}, {"status", std::move(status)}}, "status"));
}

// A claim made for a pod that has ended goes now; that of a pod that is gone is collected as
// garbage.
void ResourceClaims::remove_if_unwanted(const AnyObject& claim, kube::Round& round) const {
  const model::OwnerReference* owner = owning_pod(claim);
  if (!owner || claim.metadata.deletionTimestamp) return;
  PodRef pod = pods_.get({claim.metadata.ns, owner->name});
  if (pod && (pod->metadata.uid != owner->uid || pod_done(*pod)))
    round.writes.push_back(remove(resource_claims, key_of(claim.metadata), claim.metadata.uid));
}

}  // namespace hekla::controllers
