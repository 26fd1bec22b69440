// A typed, always-current copy of one resource: list, then watch, decode once, share as const.
// Lives on its Client's executor; every call and callback happens there.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/client.h"
#include "kube/decoded.h"

namespace hekla::kube {

// The untyped half: keeps the watch alive, lists again when it has expired, backs off on errors.
class Reflector {
 public:
  struct Sink {
    // The whole state; objects not in it are gone.
    std::function<void(List)> replace;
    std::function<void(const WatchEvent&)> apply;
    // After each replace or burst of events.
    std::function<void()> settled;
  };
  Reflector(Client& client, Resource resource, ListOptions options, Sink sink);
  ~Reflector();
  void start();
  bool synced() const;
  // The server has answered that it does not know the resource, now or no longer.
  bool absent() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The copy itself, of objects whose type only the informer knows: all but the decoding is compiled
// once and not for every type.
class ObjectCache {
 public:
  using AnyRef = std::shared_ptr<const void>;
  using Decode = Result<AnyRef> (*)(Decoded& decoded, const std::string& text);
  using OnChange = std::function<void(const AnyRef& before, const AnyRef& after)>;
  using IndexKeys = std::function<void(const void* object, std::vector<std::string>& keys)>;
  struct Entry {
    std::uint64_t resource_version = 0;
    AnyRef object;
    std::vector<std::pair<int, std::string>> index_keys;
  };
  using Entries = std::map<Key, Entry>;
  using Known = Entries::value_type;  // stays where it is while it is known
  struct ByKey {
    bool operator()(const Known* a, const Known* b) const { return a->first < b->first; }
  };
  using Bucket = std::set<const Known*, ByKey>;

  ObjectCache(Resource resource, Decode decode) : resource_(std::move(resource)), decode_(decode) {}
  ObjectCache(const ObjectCache&) = delete;  // its sink knows where it is

  void on_change(OnChange handler) { handlers_.push_back(std::move(handler)); }
  void on_settled(std::function<void()> handler) { settled_.push_back(std::move(handler)); }
  int add_index(IndexKeys keys);
  Reflector::Sink sink();

  const Resource& resource() const { return resource_; }
  const Entries& entries() const { return entries_; }
  AnyRef get(const Key& key) const;
  // Null where no object has this value.
  const Bucket* bucket(int index, const std::string& value) const;

  void overlay(const ObjectPtr& written) { upsert(*written); }
  void overlay(const Write& write, const ObjectPtr& written);
  void overlay_removed(const Key& key, std::uint64_t resource_version);

 private:
  struct Index {
    IndexKeys extract;
    std::map<std::string, Bucket> members;
  };

  void replace(const List& list);
  void apply(const WatchEvent& event);
  void settle();
  void bury(const Key& key, std::uint64_t resource_version);
  void upsert(const Object& object);
  void erase(const Key& key, std::uint64_t resource_version);
  void reindex(Known& known);
  void unindex(Known& known);

  Resource resource_;
  Decode decode_;
  Entries entries_;
  std::map<Key, std::uint64_t> tombstones_;
  std::deque<std::pair<Key, std::uint64_t>> buried_;
  std::vector<Index> indexes_;
  std::vector<OnChange> handlers_;
  std::vector<std::function<void()>> settled_;
};

template <class T>
class Informer {
 public:
  using Ref = std::shared_ptr<const T>;
  // Added: `before` is null. Removed: `after` is null. Called in revision order.
  using OnChange = std::function<void(const Ref& before, const Ref& after)>;
  using IndexKeys = std::function<void(const T&, std::vector<std::string>&)>;

  Informer(Client& client, Resource resource, ListOptions options = {})
      : cache_(resource, decode),
        reflector_(client, std::move(resource), std::move(options), cache_.sink()) {}

  // All of these before start().
  void on_change(OnChange handler) {
    cache_.on_change([handler = std::move(handler)](const auto& before, const auto& after) {
      handler(typed(before), typed(after));
    });
  }
  // After the first list and after each burst of events: for components that work in batches.
  void on_settled(std::function<void()> handler) { cache_.on_settled(std::move(handler)); }
  // Returns the number to ask by() with.
  int add_index(IndexKeys keys) {
    return cache_.add_index(
        [keys = std::move(keys)](const void* object, std::vector<std::string>& found) {
          keys(*static_cast<const T*>(object), found);
        });
  }
  void start() { reflector_.start(); }

  bool synced() const { return reflector_.synced(); }
  bool absent() const { return reflector_.absent(); }
  const Resource& resource() const { return cache_.resource(); }
  std::size_t size() const { return cache_.entries().size(); }
  Ref get(const Key& key) const { return typed(cache_.get(key)); }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, entry] : cache_.entries()) visit(typed(entry.object));
  }
  std::vector<Ref> in_namespace(const std::string& ns) const {
    std::vector<Ref> found;
    const ObjectCache::Entries& entries = cache_.entries();
    for (auto at = entries.lower_bound(Key{ns, ""}); at != entries.end() && at->first.ns == ns;
         ++at)
      found.push_back(typed(at->second.object));
    return found;
  }
  std::vector<Ref> by(int index, const std::string& value) const {
    std::vector<Ref> found;
    const ObjectCache::Bucket* bucket = cache_.bucket(index, value);
    if (bucket == nullptr) return found;
    found.reserve(bucket->size());
    for (const ObjectCache::Known* known : *bucket) found.push_back(typed(known->second.object));
    return found;
  }

  // Lays the result of an own write over the cache until the watch has caught up with it.
  void overlay(const ObjectPtr& written) { cache_.overlay(written); }
  // The same by what was asked: a removal that left the object terminating (grace, finalizers) is
  // an update, any other took it away. Writes of other resources are none of its business.
  void overlay(const Write& write, const ObjectPtr& written) { cache_.overlay(write, written); }
  // The same for a removal that is complete (the object is gone, not merely terminating).
  void overlay_removed(const Key& key, std::uint64_t resource_version) {
    cache_.overlay_removed(key, resource_version);
  }

 private:
  static Ref typed(const ObjectCache::AnyRef& object) {
    return std::static_pointer_cast<const T>(object);
  }
  static Result<ObjectCache::AnyRef> decode(Decoded& decoded, const std::string& text) {
    return decoded.get<T>(text);
  }

  ObjectCache cache_;
  Reflector reflector_;
};

}  // namespace hekla::kube
