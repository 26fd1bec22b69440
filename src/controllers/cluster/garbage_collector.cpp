#include "controllers/cluster/garbage_collector.h"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "kube/events.h"
#include "kube/informer.h"
#include "model/meta.h"

namespace hekla::controllers {
namespace {

constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kOrphan = "orphan";
constexpr Nanos kRetry = std::chrono::milliseconds(500);
constexpr std::size_t kBatch = 512;

// Any object, as far as ownership goes.
using Owned = model::ObjectMeta;

bool has_finalizer(const Owned& object, std::string_view name) {
  const auto& all = object.finalizers;
  return std::find(all.begin(), all.end(), name) != all.end();
}

// Most changes are of a status: nothing here.
bool owns_as_before(const Owned& before, const Owned& after) {
  auto same = [](const model::OwnerReference& a, const model::OwnerReference& b) {
    return a.uid == b.uid && a.blockOwnerDeletion == b.blockOwnerDeletion &&
           a.controller == b.controller && a.name == b.name && a.kind == b.kind &&
           a.apiVersion == b.apiVersion;
  };
  return before.uid == after.uid && !before.deletionTimestamp && !after.deletionTimestamp &&
         std::equal(before.ownerReferences.begin(), before.ownerReferences.end(),
                    after.ownerReferences.begin(), after.ownerReferences.end(), same);
}

json::Value finalizers_without(const Owned& object, std::string_view name) {
  json::Array left;
  for (const std::string& finalizer : object.finalizers)
    if (finalizer != name) left.emplace_back(std::string_view(finalizer));
  return left;
}

}  // namespace

struct GarbageCollector::State : std::enable_shared_from_this<State> {
  using Ref = std::shared_ptr<const Owned>;
  struct Kind {
    kube::Resource resource;
    std::unique_ptr<kube::Informer<Owned>> objects;
  };
  struct Known {
    std::size_t kind;
    kube::Key key;
  };

  kube::Client& client;
  kube::Discovery& discovery;
  kube::EventRecorder events;
  std::vector<Kind> kinds;
  std::unordered_map<std::string, Known> by_uid;
  std::unordered_map<std::string, std::unordered_set<std::string>> dependents;  // owner uid -> uids
  // Objects to look at: their owners went away, or they wait for their dependents.
  std::deque<std::string> queue;
  std::unordered_set<std::string> queued;
  std::vector<std::string> doomed;  // found ownerless, to be removed in one batch
  bool pump_posted = false;

  State(kube::Client& c, kube::Discovery& d)
      : client(c), discovery(d), events(c, "garbage-collector-controller") {}

  void start() {
    discovery.on_change(client.executor(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->follow_kinds();
    });
    follow_kinds();
  }

  // A kind that is no longer served keeps its (empty) informer; CRDs rarely go.
  void follow_kinds() {
    for (const kube::Resource& resource : discovery.resources()) {
      if (resource.plural == "events") continue;  // own nothing, are owned by nothing, and are many
      bool followed = std::any_of(kinds.begin(), kinds.end(), [&](const Kind& kind) {
        return kind.resource.group == resource.group && kind.resource.plural == resource.plural;
      });
      if (followed) continue;
      std::size_t index = kinds.size();
      kinds.push_back({resource, std::make_unique<kube::Informer<Owned>>(client, resource)});
      kinds.back().objects->on_change(
          [this, index](const Ref& before, const Ref& after) { changed(index, before, after); });
      kinds.back().objects->start();
    }
  }

  void changed(std::size_t kind, const Ref& before, const Ref& after) {
    if (before && after && owns_as_before(*before, *after)) return;
    if (before && (!after || before->uid != after->uid)) forget(*before);
    if (!after) return;
    const std::string& uid = after->uid;
    if (before) unlink(*before);
    by_uid[uid] = {kind, {after->ns, after->name}};
    for (const auto& owner : after->ownerReferences) dependents[owner.uid].insert(uid);
    bool waits = after->deletionTimestamp &&
                 (has_finalizer(*after, kForeground) || has_finalizer(*after, kOrphan));
    if (waits || (!before && !after->ownerReferences.empty())) enqueue(uid);
    if (after->deletionTimestamp) enqueue_owners(*after);
    if (before) enqueue_owners(*before);  // it may have stopped blocking one of them
  }

  void unlink(const Owned& object) {
    for (const auto& owner : object.ownerReferences)
      if (auto found = dependents.find(owner.uid); found != dependents.end()) {
        found->second.erase(object.uid);
        if (found->second.empty()) dependents.erase(found);
      }
  }

  void forget(const Owned& object) {
    unlink(object);
    by_uid.erase(object.uid);
    if (auto found = dependents.find(object.uid); found != dependents.end())
      for (const std::string& uid : found->second) enqueue(uid);
    enqueue_owners(object);
  }

  // Owners in foreground deletion count their dependents down.
  void enqueue_owners(const Owned& object) {
    for (const auto& owner : object.ownerReferences)
      if (Ref found = object_of(owner.uid);
          found && found->deletionTimestamp && has_finalizer(*found, kForeground))
        enqueue(owner.uid);
  }

  Ref object_of(const std::string& uid) const {
    auto found = by_uid.find(uid);
    return found == by_uid.end() ? nullptr
                                 : kinds[found->second.kind].objects->get(found->second.key);
  }

  void enqueue(const std::string& uid) {
    if (!queued.insert(uid).second) return;
    queue.push_back(uid);
    if (pump_posted) return;
    pump_posted = true;
    client.executor().post([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->pump();
    });
  }

  void enqueue_later(const std::string& uid) {
    client.executor().post_after(kRetry, [weak = weak_from_this(), uid] {
      if (auto self = weak.lock()) self->enqueue(uid);
    });
  }

  void pump() {
    pump_posted = false;
    std::vector<kube::Write> writes;
    auto uids = std::make_shared<std::vector<std::string>>();
    while (!queue.empty() && writes.size() < kBatch) {
      std::string uid = std::move(queue.front());
      queue.pop_front();
      queued.erase(uid);
      look_at(uid, writes);
      uids->resize(writes.size(), uid);
    }
    if (writes.empty()) return;
    send(std::move(writes), std::move(uids));
  }

  // One write per uid; what failed is looked at again later.
  void send(std::vector<kube::Write> writes, std::shared_ptr<std::vector<std::string>> uids) {
    client.batch(std::move(writes),
                 [weak = weak_from_this(), uids](const std::vector<kube::WriteResult>& results) {
                   auto self = weak.lock();
                   if (!self) return;
                   for (std::size_t i = 0; i < results.size(); ++i)
                     if (!results[i] && results[i].error().code != Code::not_found)
                       self->enqueue_later((*uids)[i]);
                   if (!self->queue.empty() && !self->pump_posted) self->pump();
                 });
  }

  void look_at(const std::string& uid, std::vector<kube::Write>& writes) {
    Ref object = object_of(uid);
    if (!object) return;
    if (object->deletionTimestamp) {
      if (has_finalizer(*object, kOrphan)) return orphan(uid, *object, writes);
      if (has_finalizer(*object, kForeground)) return remove_dependents_first(uid, *object, writes);
      return;
    }
    if (!object->ownerReferences.empty()) judge(uid, *object);
  }

  struct Verdict {
    std::size_t open = 0, alive = 0, waiting = 0;
    bool uncertain = false;
    std::vector<std::string> dead;  // uids of owners that are gone for good
  };

  // An owner this process has not seen is asked for: it may be newer than our caches.
  void judge(const std::string& uid, const Owned& object) {
    auto verdict = std::make_shared<Verdict>();
    std::vector<model::OwnerReference> unknown;
    for (const auto& owner : object.ownerReferences) {
      Ref found = object_of(owner.uid);
      if (!found) {
        unknown.push_back(owner);
      } else if (!found->ns.empty() && found->ns != object.ns) {
        report_foreign_owner(uid, object, owner);
        verdict->dead.push_back(owner.uid);
      } else if (is_waiting(*found)) {
        ++verdict->waiting;
      } else {
        ++verdict->alive;
      }
    }
    for (const auto& owner : unknown)
      if (!resource_of(owner)) return;  // not served (yet): keep the object, as upstream does
    verdict->open = unknown.size();
    if (unknown.empty()) return sentence(uid, *verdict);
    for (const auto& owner : unknown) {
      const kube::Resource* resource = resource_of(owner);
      kube::Key key{resource->namespaced ? object.ns : "", owner.name};
      client.get(*resource, key,
                 [weak = weak_from_this(), verdict, uid,
                  owner_uid = owner.uid](Result<kube::ObjectPtr> got) {
                   auto self = weak.lock();
                   if (!self) return;
                   if (got && (*got)->uid == owner_uid)
                     ++verdict->alive;
                   else if (got || got.error().code == Code::not_found)
                     verdict->dead.push_back(owner_uid);
                   else
                     verdict->uncertain = true;
                   if (--verdict->open == 0) self->sentence(uid, *verdict);
                 });
    }
  }

  void report_foreign_owner(const std::string& uid, const Owned& object,
                            const model::OwnerReference& owner) {
    const kube::Resource& resource = kinds[by_uid.at(uid).kind].resource;
    events.record({resource.api_version(), resource.kind, object.ns, object.name, uid}, "Warning",
                  "OwnerRefInvalidNamespace",
                  "ownerRef [" + owner.apiVersion + "/" + owner.kind + ", namespace: " + object.ns +
                      ", name: " + owner.name + ", uid: " + owner.uid +
                      "] does not exist in namespace \"" + object.ns + "\"");
  }

  static bool is_waiting(const Owned& object) {
    return object.deletionTimestamp && has_finalizer(object, kForeground);
  }

  void sentence(const std::string& uid, const Verdict& verdict) {
    if (verdict.uncertain) return enqueue_later(uid);
    Ref object = object_of(uid);
    if (!object || object->deletionTimestamp) return;
    if (verdict.alive > 0) {
      if (!verdict.dead.empty())
        send({metadata_patch(
                 uid, *object,
                 json::Object{{"ownerReferences", owners_without(*object, verdict.dead)}})},
             std::make_shared<std::vector<std::string>>(1, uid));
      return;
    }
    if (verdict.waiting > 0) return;  // that owner deletes its dependents itself
    doomed.push_back(uid);
    if (doomed.size() > 1) return;  // a burst of verdicts becomes one batch
    client.executor().post([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->execute();
    });
  }

  static json::Array owners_without(const Owned& object, const std::vector<std::string>& uids) {
    json::Array left;
    for (const auto& owner : object.ownerReferences)
      if (std::find(uids.begin(), uids.end(), owner.uid) == uids.end())
        left.push_back(json::encode(owner));
    return left;
  }

  void execute() {
    std::vector<kube::Write> writes;
    auto uids = std::make_shared<std::vector<std::string>>();
    for (const std::string& uid : std::exchange(doomed, {}))
      if (Ref object = object_of(uid)) {
        writes.push_back(removal(uid, *object, "Background"));
        uids->push_back(uid);
      }
    if (writes.empty()) return;
    send(std::move(writes), std::move(uids));
  }

  const kube::Resource* resource_of(const model::OwnerReference& owner) const {
    std::size_t slash = owner.apiVersion.find('/');
    std::string group = slash == std::string::npos ? "" : owner.apiVersion.substr(0, slash);
    for (const Kind& kind : kinds)
      if (kind.resource.kind == owner.kind && kind.resource.group == group) return &kind.resource;
    return nullptr;
  }

  kube::Write removal(const std::string& uid, const Owned& object, std::string policy) const {
    kube::Write write;
    write.verb = kube::Write::Verb::remove;
    write.resource = kinds[by_uid.at(uid).kind].resource;
    write.key = {object.ns, object.name};
    write.propagation_policy = std::move(policy);
    write.precondition_uid = uid;
    return write;
  }

  kube::Write metadata_patch(const std::string& uid, const Owned& object,
                             json::Object metadata) const {
    kube::Write write;
    write.verb = kube::Write::Verb::patch;
    write.resource = kinds[by_uid.at(uid).kind].resource;
    write.key = {object.ns, object.name};
    metadata["uid"] = uid;
    metadata["resourceVersion"] = object.resourceVersion;  // lists are replaced whole
    write.body = json::Object{{"metadata", std::move(metadata)}};
    return write;
  }

  void remove_dependents_first(const std::string& uid, const Owned& owner,
                               std::vector<kube::Write>& writes) {
    bool blocked = false;
    if (auto found = dependents.find(uid); found != dependents.end())
      for (const std::string& child_uid : found->second) {
        Ref child = object_of(child_uid);
        if (!child) continue;
        if (!child->deletionTimestamp && has_other_owner(*child, uid)) {
          writes.push_back(metadata_patch(
              child_uid, *child, json::Object{{"ownerReferences", owners_without(*child, {uid})}}));
          blocked = true;  // until the reference is gone
          continue;
        }
        const bool circle = owns_a_waiting_one(child_uid);
        for (const auto& reference : child->ownerReferences)
          if (reference.uid == uid && reference.blockOwnerDeletion.value_or(false)) blocked = true;
        if (child->deletionTimestamp) continue;
        if (circle) writes.push_back(unblocking(child_uid, *child));
        writes.push_back(removal(child_uid, *child, "Foreground"));
      }
    if (!blocked)
      writes.push_back(metadata_patch(
          uid, owner, json::Object{{"finalizers", finalizers_without(owner, kForeground)}}));
  }

  bool has_other_owner(const Owned& child, const std::string& uid) const {
    return std::any_of(child.ownerReferences.begin(), child.ownerReferences.end(),
                       [&](const model::OwnerReference& owner) {
                         Ref found = owner.uid == uid ? nullptr : object_of(owner.uid);
                         return found && !is_waiting(*found);
                       });
  }

  // Owners that wait for each other would wait for ever: one of them stops blocking.
  bool owns_a_waiting_one(const std::string& uid) const {
    auto found = dependents.find(uid);
    if (found == dependents.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const std::string& one) {
      Ref object = object_of(one);
      return object && is_waiting(*object);
    });
  }

  kube::Write unblocking(const std::string& uid, const Owned& object) const {
    json::Array owners;
    for (model::OwnerReference owner : object.ownerReferences) {
      owner.blockOwnerDeletion = false;
      owners.push_back(json::encode(owner));
    }
    return metadata_patch(uid, object, json::Object{{"ownerReferences", std::move(owners)}});
  }

  void orphan(const std::string& uid, const Owned& owner, std::vector<kube::Write>& writes) {
    const std::size_t before = writes.size();
    if (auto found = dependents.find(uid); found != dependents.end())
      for (const std::string& child_uid : found->second) {
        Ref child = object_of(child_uid);
        if (!child) continue;
        writes.push_back(metadata_patch(
            child_uid, *child, json::Object{{"ownerReferences", owners_without(*child, {uid})}}));
      }
    if (writes.size() == before)
      writes.push_back(metadata_patch(
          uid, owner, json::Object{{"finalizers", finalizers_without(owner, kOrphan)}}));
    else
      enqueue_later(uid);
  }
};

GarbageCollector::GarbageCollector(kube::Client& client, kube::Discovery& discovery)
    : state_(std::make_shared<State>(client, discovery)) {}

GarbageCollector::~GarbageCollector() = default;

void GarbageCollector::start() { state_->start(); }

}  // namespace hekla::controllers
