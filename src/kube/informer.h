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

#include "base/log.h"
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
  // The server has answered that it does not know the resource, and nothing was listed yet.
  bool absent() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class T>
class Informer {
 public:
  using Ref = std::shared_ptr<const T>;
  // Added: `before` is null. Removed: `after` is null. Called in revision order.
  using OnChange = std::function<void(const Ref& before, const Ref& after)>;
  using IndexKeys = std::function<void(const T&, std::vector<std::string>&)>;

  Informer(Client& client, Resource resource, ListOptions options = {})
      : resource_(resource),
        reflector_(client, std::move(resource), std::move(options),
                   Reflector::Sink{[this](List list) { replace(std::move(list)); },
                                   [this](const WatchEvent& event) { apply(event); },
                                   [this] { settle(); }}) {}

  // All of these before start().
  void on_change(OnChange handler) { handlers_.push_back(std::move(handler)); }
  // After the first list and after each burst of events: for components that work in batches.
  void on_settled(std::function<void()> handler) { settled_.push_back(std::move(handler)); }
  // Returns the number to ask by() with.
  int add_index(IndexKeys keys) {
    indexes_.push_back({std::move(keys), {}});
    return static_cast<int>(indexes_.size()) - 1;
  }
  void start() { reflector_.start(); }

  bool synced() const { return reflector_.synced(); }
  bool absent() const { return reflector_.absent(); }
  const Resource& resource() const { return resource_; }
  std::size_t size() const { return objects_.size(); }
  Ref get(const Key& key) const {
    auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.object;
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, entry] : objects_) visit(entry.object);
  }
  std::vector<Ref> in_namespace(const std::string& ns) const {
    std::vector<Ref> found;
    for (auto at = objects_.lower_bound(Key{ns, ""}); at != objects_.end() && at->first.ns == ns;
         ++at)
      found.push_back(at->second.object);
    return found;
  }
  std::vector<Ref> by(int index, const std::string& value) const {
    std::vector<Ref> found;
    const Index& asked = indexes_[static_cast<std::size_t>(index)];
    auto bucket = asked.members.find(value);
    if (bucket == asked.members.end()) return found;
    found.reserve(bucket->second.size());
    for (const Known* known : bucket->second) found.push_back(known->second.object);
    return found;
  }

  // Lays the result of an own write over the cache until the watch has caught up with it.
  void overlay(const ObjectPtr& written) { upsert(*written); }
  // The same by what was asked: a removal that left the object terminating (grace, finalizers) is
  // an update, any other took it away.
  void overlay(const Write& write, const ObjectPtr& written) {
    if (write.verb == Write::Verb::remove) {
      Result<T> last = json::decode_text<T>(*written->json);
      bool stays = last && last->metadata.deletionTimestamp &&
                   (last->metadata.deletionGracePeriodSeconds.value_or(0) > 0 ||
                    !last->metadata.finalizers.empty());
      if (!stays)
        return overlay_removed(Key{written->ns, written->name}, written->resource_version);
    }
    upsert(*written);
  }
  // The same for a removal that is complete (the object is gone, not merely terminating).
  void overlay_removed(const Key& key, std::uint64_t resource_version) {
    bury(key, resource_version);
    erase(key, resource_version);
  }

 private:
  struct Entry {
    std::uint64_t resource_version = 0;
    Ref object;
    std::vector<std::pair<int, std::string>> index_keys;
  };
  using Known = typename std::map<Key, Entry>::value_type;  // stays where it is while it is known
  struct ByKey {
    bool operator()(const Known* a, const Known* b) const { return a->first < b->first; }
  };
  struct Index {
    IndexKeys extract;
    std::map<std::string, std::set<const Known*, ByKey>> members;
  };

  void replace(List list) {
    tombstones_.clear();
    buried_.clear();
    std::set<Key> present;
    for (const ObjectPtr& object : list.items) {
      present.insert(Key{object->ns, object->name});
      upsert(*object);
    }
    std::vector<Key> gone;
    for (const auto& [key, entry] : objects_)
      if (!present.contains(key) && entry.resource_version <= list.resource_version)
        gone.push_back(key);
    for (const Key& key : gone) erase(key, list.resource_version);
  }
  void apply(const WatchEvent& event) {
    if (!event.object) return;
    if (event.type == WatchEvent::Type::deleted)
      overlay_removed(Key{event.object->ns, event.object->name}, event.resource_version);
    else
      upsert(*event.object);
  }
  // The result of an own write may come in after the watch has told of the object's end; laid over
  // the cache it would be an object that never goes. Only the last ends can be overtaken like that.
  void bury(const Key& key, std::uint64_t resource_version) {
    tombstones_[key] = resource_version;
    buried_.emplace_back(key, resource_version);
    if (buried_.size() <= kTombstones) return;
    auto oldest = tombstones_.find(buried_.front().first);
    if (oldest != tombstones_.end() && oldest->second == buried_.front().second)
      tombstones_.erase(oldest);
    buried_.pop_front();
  }
  void settle() {
    for (const auto& handler : settled_) handler();
  }
  void upsert(const Object& object) {
    Key key{object.ns, object.name};
    if (auto tomb = tombstones_.find(key); tomb != tombstones_.end()) {
      if (object.resource_version <= tomb->second) return;
      tombstones_.erase(tomb);
    }
    auto at = objects_.try_emplace(key).first;
    Entry& entry = at->second;
    if (entry.object && entry.resource_version >= object.resource_version) return;
    Decoded own;
    Result<Ref> decoded = (object.decoded ? *object.decoded : own).template get<T>(*object.json);
    if (!decoded) {
      log_error("kube", "an object could not be read and is ignored",
                {{"resource", resource_.plural},
                 {"namespace", object.ns},
                 {"name", object.name},
                 {"error", decoded.error().message}});
      if (!entry.object) objects_.erase(at);
      return;
    }
    Ref before = entry.object;
    entry.resource_version = object.resource_version;
    entry.object = std::move(*decoded);
    reindex(*at);
    Ref after = entry.object;
    for (const auto& handler : handlers_) handler(before, after);
  }
  void erase(const Key& key, std::uint64_t resource_version) {
    auto found = objects_.find(key);
    if (found == objects_.end() || found->second.resource_version > resource_version) return;
    Ref before = found->second.object;
    unindex(*found);
    objects_.erase(found);
    for (const auto& handler : handlers_) handler(before, nullptr);
  }
  // Most changes leave an object where it is in the indexes.
  void reindex(Known& known) {
    std::vector<std::pair<int, std::string>> now;
    std::vector<std::string> values;
    for (int i = 0; i < static_cast<int>(indexes_.size()); ++i) {
      values.clear();
      indexes_[static_cast<std::size_t>(i)].extract(*known.second.object, values);
      for (std::string& value : values) now.emplace_back(i, std::move(value));
    }
    if (now == known.second.index_keys) return;
    unindex(known);
    for (const auto& [i, value] : now)
      indexes_[static_cast<std::size_t>(i)].members[value].insert(&known);
    known.second.index_keys = std::move(now);
  }
  void unindex(Known& known) {
    for (const auto& [i, value] : known.second.index_keys) {
      auto& members = indexes_[static_cast<std::size_t>(i)].members;
      auto bucket = members.find(value);
      if (bucket == members.end()) continue;
      bucket->second.erase(&known);
      if (bucket->second.empty()) members.erase(bucket);
    }
    known.second.index_keys.clear();
  }

  Resource resource_;
  std::map<Key, Entry> objects_;
  static constexpr std::size_t kTombstones = 4096;
  std::map<Key, std::uint64_t> tombstones_;
  std::deque<std::pair<Key, std::uint64_t>> buried_;
  std::vector<Index> indexes_;
  std::vector<OnChange> handlers_;
  std::vector<std::function<void()>> settled_;
  Reflector reflector_;
};

}  // namespace hekla::kube
