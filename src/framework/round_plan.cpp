#include "framework/round_plan.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "framework/content_hash.h"
#include "framework/difference.h"
#include "framework/writes.h"

namespace hekla::framework {
namespace {

// The owned kind's words live as long as its description.
std::shared_ptr<const ChildWords> words_of(const std::shared_ptr<const ChildWords>& own,
                                           const OwnedKind& kind) {
  return own ? own : std::shared_ptr<const ChildWords>(std::shared_ptr<void>(), &kind.words);
}

std::string id_of(const Step& step) {
  return View::id_of(step.resource) + "/" + step.key.ns + "/" + step.key.name;
}

bool has_cause(const Error& error, const std::string& reason) {
  return std::any_of(error.details.causes.begin(), error.details.causes.end(),
                     [&](const Cause& cause) { return cause.reason == reason; });
}

const std::optional<EventText>& refusal_words(const ChildWords& words, const Error& error,
                                              std::optional<EventText>& found) {
  for (const auto& [cause, text] : words.refused_for)
    if (has_cause(error, cause)) return found = text;
  return words.create_failed;
}

}  // namespace

Settled settle_step(const Step& step, const kube::WriteResult& result,
                    const kube::Resource& owner_resource, const model::ObjectMeta& owner) {
  using What = Step::What;
  static const ChildWords silence;
  const ChildWords& words = step.words ? *step.words : silence;
  Settled settled;
  auto say = [&](const std::optional<EventText>& text) {
    if (!text) return;
    WordValues values{step.key.name,       step.resource.kind, owner.name,
                      owner_resource.kind, owner.ns,           {},
                      step.reason};
    if (result && *result) values.name = (*result)->name;
    if (!result) values.error = result.error().message;
    settled.events.push_back(filled(*text, values));
  };
  if (result) {
    if (step.what == What::create) say(words.created);
    if (step.what == What::change) say(words.changed);
    if (step.what == What::removal) say(words.removed);
    return settled;
  }
  const Error& error = result.error();
  if (step.what == What::removal && error.code == Code::not_found) return settled;
  if (step.shared && step.what == What::create && error.code == Code::already_exists)
    return settled;
  settled.error = error;
  if (step.what == What::change) say(words.change_failed);
  if (step.what == What::removal) say(words.remove_failed);
  if (step.what != What::create || error.code == Code::already_exists) return settled;
  std::optional<EventText> found;
  say(refusal_words(words, error, found));
  settled.refusal = error.message;
  return settled;
}

void AppliedForms::note(const Step& applied, const kube::Object& answer) {
  forms_[id_of(applied)] = {applied.applied_hash, answer.resource_version, std::nullopt};
}

bool AppliedForms::is_form_of(const Step& wanted, const AnyObject& live, const json::Value& body) {
  auto found = forms_.find(id_of(wanted));
  if (found == forms_.end() || found->second.wanted != wanted.applied_hash) return false;
  Form& known = found->second;
  const std::uint64_t form = content_hash(projection(live, body));
  if (!known.live && live.metadata.resourceVersion == std::to_string(known.version))
    known.live = form;
  return known.live == form;
}

const std::map<std::string, View::Claims>& RoundPlan::claim_children() {
  std::vector<kube::Write> writes;
  for (const OwnedCache& one : owned_)
    if (one.kind->claim == Claim::selector)
      claims_[View::id_of(one.kind->resource)] = claim_by_selector(kind_, one, object_, writes);
  for (kube::Write& write : writes) steps.push_back({Step::What::claim, std::move(write)});
  return claims_;
}

const OwnedCache& RoundPlan::owned_cache(const kube::Resource& resource) const {
  auto found = std::find_if(owned_.begin(), owned_.end(),
                            [&](const OwnedCache& one) { return one.kind->resource == resource; });
  CHECK(found != owned_.end(), "a child's kind is one of those the description owns");
  return *found;
}

void RoundPlan::carry_out(Outcome& outcome, const kube::CacheSet& caches, bool finalizing,
                          bool after_refusal, AppliedForms& forms) {
  const kube::Key key = key_of(object_.metadata);
  const bool going = bool(object_.metadata.deletionTimestamp) && !finalizing;
  after_refusal_ = after_refusal;
  failure = outcome.failure;
  if (outcome.patch.is_object() && !outcome.patch.get_object().empty()) {
    json::at_path(outcome.patch, {"metadata", "uid"}) = object_.metadata.uid;
    steps.push_back({Step::What::object, merge_patch(kind_.resource, key, outcome.patch)});
  }
  for (const Removal& removal : outcome.removals) remove(removal);
  for (Edit& edit : outcome.edits) {
    if (!edit.uid.empty()) json::at_path(edit.merge, {"metadata", "uid"}) = edit.uid;
    steps.push_back({Step::What::edit, merge_patch(edit.resource, edit.key, std::move(edit.merge),
                                                   edit.subresource)});
  }
  if (!going) {
    for (const Child& child : outcome.children) plan_child(child, caches, forms);
    if (!finalizing) prune(outcome.children);
  }
  const bool last = finalizing && outcome.finalized;
  if (outcome.status && !last)
    if (auto write = status_write(kind_.resource, key, object_.status, *outcome.status))
      steps.push_back({Step::What::status, std::move(*write)});
  if (last) steps.push_back({Step::What::object, finalizer_write(kind_, object_.metadata, false)});
  for (Event& event : outcome.events)
    (event.with_status ? events_with_status : events).push_back(std::move(event));
}

void RoundPlan::plan_child(const Child& child, const kube::CacheSet& caches, AppliedForms& forms) {
  const OwnedCache& owned = owned_cache(child.resource);
  if (owned.kind->optional && !caches.served(child.resource)) return;
  Step step;
  step.resource = child.resource;
  step.key = child_key(child, object_.metadata);
  step.shared = child.ownership != Ownership::controller;
  step.words = words_of(child.words, *owned.kind);
  auto live = step.key.name.empty() ? nullptr : owned.cache->get(step.key);
  if (!live) return make(child, *owned.kind, std::move(step));
  if (child.ownership == Ownership::controller && !is_own(child.resource, *live))
    return taken(child, step.key, *step.words);
  if (live->deletionTimestamp || child.care == Care::create_once) return;
  compare(child, *owned.cache, *live, std::move(step), forms);
}

bool RoundPlan::is_own(const kube::Resource& resource, const model::ObjectMeta& live) const {
  if (const model::OwnerReference* owner = live.controller())
    return owner->uid == object_.metadata.uid;
  auto claims = claims_.find(View::id_of(resource));
  return claims != claims_.end() &&
         std::find(claims->second.adopted.begin(), claims->second.adopted.end(), key_of(live)) !=
             claims->second.adopted.end();
}

bool RoundPlan::may_create(const OwnedKind& kind) {
  const std::size_t limit = kind.slow_start && after_refusal_ ? 1 : kind.burst;
  return ++created_[&kind] <= limit;
}

void RoundPlan::make(const Child& child, const OwnedKind& kind, Step step) {
  if (!may_create(kind)) return;
  step.what = Step::What::create;
  json::Value body = child_body(child, kind_.resource, object_.metadata);
  const std::string ns = step.key.ns;
  if (child.care == Care::create_once) {
    step.write = create(child.resource, ns, std::move(body));
    steps.push_back(std::move(step));
    return;
  }
  step.applied_hash = content_hash(body);
  json::at_path(body, {"metadata", "annotations", kWantedHash}) = hash_text(step.applied_hash);
  step.write = child.care == Care::apply ? apply_patch(child.resource, ns, std::move(body))
                                         : create(child.resource, ns, std::move(body));
  steps.push_back(std::move(step));
}

void RoundPlan::compare(const Child& child, const Held& cache, const model::ObjectMeta& live,
                        Step step, AppliedForms& forms) {
  json::Value body = child_body(child, kind_.resource, object_.metadata);
  step.applied_hash = content_hash(body);
  const std::string hash = hash_text(step.applied_hash);
  const bool same = live.annotation(kWantedHash) == hash;
  if (child.care == Care::recreate) {
    if (same) return;
    Removal removal = removal_of(child.resource, live, "its description has changed");
    removal.words = step.words;
    return remove(removal);
  }
  if (same) {
    if (!cache.is_whole()) return;
    AnyRef whole = cache.whole(step.key);
    if (covers(*whole, body) || forms.is_form_of(step, *whole, body)) return;
  }
  json::at_path(body, {"metadata", "annotations", kWantedHash}) = hash;
  step.what = Step::What::change;
  step.write = apply_patch(child.resource, step.key.ns, std::move(body));
  steps.push_back(std::move(step));
}

void RoundPlan::taken(const Child& child, const kube::Key& key, const ChildWords& words) {
  Error error{Code::already_exists, child.resource.plural + " \"" + key.name + "\" already exists"};
  if (words.taken)
    events.push_back({filled(*words.taken, {key.name,
                                            child.resource.kind,
                                            object_.metadata.name,
                                            kind_.resource.kind,
                                            object_.metadata.ns,
                                            error.message,
                                            {}})});
  if (!failure) failure = std::move(error);
}

void RoundPlan::remove(const Removal& removal) {
  Step step;
  step.what = Step::What::removal;
  step.resource = removal.resource;
  step.key = removal.key;
  step.reason = removal.reason;
  step.words = removal.words;
  for (const OwnedCache& one : owned_)
    if (!step.words && one.kind->resource == removal.resource)
      step.words = words_of(nullptr, *one.kind);
  step.write = framework::remove(removal.resource, removal.key, removal.uid);
  step.write.grace_period_seconds = removal.grace_seconds;
  step.write.propagation_policy = removal.propagation;
  steps.push_back(std::move(step));
}

void RoundPlan::prune(const std::vector<Child>& children) {
  for (const OwnedCache& one : owned_) {
    if (!one.kind->prune) continue;
    std::set<kube::Key> wanted;
    for (const Child& child : children)
      if (child.resource == one.kind->resource) wanted.insert(child_key(child, object_.metadata));
    for (const auto& live : one.cache->of(object_.metadata.uid))
      if (!live->deletionTimestamp && !wanted.contains(key_of(*live)))
        remove(removal_of(one.kind->resource, *live, "no longer wanted"));
  }
}

}  // namespace hekla::framework
