// What a reconcile function sees: the children of its object, other kinds it follows, the time.
// Reads come from caches, over which the runtime has laid its own unconfirmed writes: a child that
// the last round made is there. Valid during the call.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "framework/any_object.h"
#include "kube/cache_set.h"

namespace hekla::framework {

class View {
 public:
  WallTime now() const { return now_; }

  // The server's words when it last refused to make a child of this object; null when the last
  // round that made children had all of them accepted. For conditions such as ReplicaFailure.
  const std::string* refusal() const { return refusal_; }

  // The object's children of an owned kind, by name, terminating ones included: those with its
  // controller reference, and with Claim::selector only such as match, adopted ones among them.
  // Pods are held as model::Pod, every other kind as AnyObject unless its OwnedKind says otherwise.
  template <class T = AnyObject>
  std::vector<std::shared_ptr<const T>> children(const kube::Resource& resource) const;
  std::vector<PodRef> pods() const { return children<model::Pod>(kube::resources::pods); }
  // The child of that name; null when there is none or something else controls it.
  template <class T = AnyObject>
  std::shared_ptr<const T> child(const kube::Resource& resource, const std::string& name) const;

  // Objects of an owned kind that another object controls: the pods of a child.
  template <class T = AnyObject>
  std::vector<std::shared_ptr<const T>> controlled_by(const kube::Resource& resource,
                                                      const std::string& uid) const {
    return caches_.controlled_by<T>(resource, uid);
  }

  // Objects of followed kinds, in any namespace. T is what the kind is followed as.
  template <class T = AnyObject>
  std::shared_ptr<const T> find(const kube::Resource& resource, const kube::Key& key) const {
    return cache<T>(resource).get(key);
  }
  template <class T = AnyObject>
  std::vector<std::shared_ptr<const T>> list(const kube::Resource& resource,
                                             const std::string& ns) const {
    return cache<T>(resource).in_namespace(ns);
  }
  // For indexes and cluster-wide walks.
  template <class T = AnyObject>
  const kube::Informer<T>& cache(const kube::Resource& resource) const {
    return caches_.known<T>(resource);
  }

  // Whether an optional kind is served at all: where networking.istio.io is not installed, no
  // VirtualService can be a child.
  bool served(const kube::Resource& resource) const { return caches_.served(resource); }

  // Adoptions of this round, by id_of(resource): made and filled by the runtime.
  static std::string id_of(const kube::Resource& resource) {
    return resource.plural + "." + resource.group;
  }
  struct Claims {
    std::vector<kube::Key> adopted;
    std::set<std::string> released;  // names
  };
  View(const kube::CacheSet& caches, const model::ObjectMeta& object, WallTime now,
       const std::string* refusal, const std::map<std::string, Claims>& claims)
      : caches_(caches), object_(object), now_(now), refusal_(refusal), claims_(claims) {}

 private:
  const kube::CacheSet& caches_;
  const model::ObjectMeta& object_;
  WallTime now_;
  const std::string* refusal_;
  const std::map<std::string, Claims>& claims_;
};

template <class T>
std::vector<std::shared_ptr<const T>> View::children(const kube::Resource& resource) const {
  std::vector<std::shared_ptr<const T>> found = caches_.controlled_by<T>(resource, object_.uid);
  auto claims = claims_.find(id_of(resource));
  if (claims == claims_.end()) return found;
  std::erase_if(found, [&](const std::shared_ptr<const T>& one) {
    return claims->second.released.contains(one->metadata.name);
  });
  for (const kube::Key& key : claims->second.adopted)
    if (auto one = cache<T>(resource).get(key)) found.push_back(std::move(one));
  return found;
}

template <class T>
std::shared_ptr<const T> View::child(const kube::Resource& resource,
                                     const std::string& name) const {
  auto found = cache<T>(resource).get({resource.namespaced ? object_.ns : "", name});
  const model::OwnerReference* owner = found ? found->metadata.controller() : nullptr;
  return owner && owner->uid == object_.uid ? found : nullptr;
}

}  // namespace hekla::framework
