#include "kube/informer.h"

#include "base/log.h"

namespace hekla::kube {
namespace {

constexpr std::size_t kTombstones = 4096;

// A removed object that is not gone yet: it has time to end, or somebody's finalizer.
bool is_terminating(const Object& object) {
  Decoded decoded;
  const auto last = decoded.get<model::ObjectMeta>(*object.json);
  return last && (*last)->deletionTimestamp &&
         ((*last)->deletionGracePeriodSeconds.value_or(0) > 0 || !(*last)->finalizers.empty());
}

}  // namespace

int ObjectCache::add_index(IndexKeys keys) {
  indexes_.push_back({std::move(keys), {}});
  return static_cast<int>(indexes_.size()) - 1;
}

Reflector::Sink ObjectCache::sink() {
  return {[this](const List& list) { replace(list); },
          [this](const WatchEvent& event) { apply(event); }, [this] { settle(); }};
}

ObjectCache::AnyRef ObjectCache::get(const Key& key) const {
  auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.object;
}

const ObjectCache::Bucket* ObjectCache::bucket(int index, const std::string& value) const {
  const Index& asked = indexes_[static_cast<std::size_t>(index)];
  auto found = asked.members.find(value);
  return found == asked.members.end() ? nullptr : &found->second;
}

void ObjectCache::overlay(const Write& write, const ObjectPtr& written) {
  if (!written || write.resource != resource_) return;
  if (write.verb == Write::Verb::remove && !is_terminating(*written))
    return overlay_removed(Key{written->ns, written->name}, written->resource_version);
  upsert(*written);
}

void ObjectCache::overlay_removed(const Key& key, std::uint64_t resource_version) {
  bury(key, resource_version);
  erase(key, resource_version);
}

void ObjectCache::replace(const List& list) {
  tombstones_.clear();
  buried_.clear();
  std::set<Key> present;
  for (const ObjectPtr& object : list.items) {
    present.insert(Key{object->ns, object->name});
    upsert(*object);
  }
  std::vector<Key> gone;
  for (const auto& [key, entry] : entries_)
    if (!present.contains(key) && entry.resource_version <= list.resource_version)
      gone.push_back(key);
  for (const Key& key : gone) erase(key, list.resource_version);
}

void ObjectCache::apply(const WatchEvent& event) {
  if (!event.object) return;
  if (event.type == WatchEvent::Type::deleted)
    overlay_removed(Key{event.object->ns, event.object->name}, event.resource_version);
  else
    upsert(*event.object);
}

void ObjectCache::settle() {
  for (const auto& handler : settled_) handler();
}

// The result of an own write may come in after the watch has told of the object's end; laid over
// the cache it would be an object that never goes. Only the last ends can be overtaken like that.
void ObjectCache::bury(const Key& key, std::uint64_t resource_version) {
  tombstones_[key] = resource_version;
  buried_.emplace_back(key, resource_version);
  if (buried_.size() <= kTombstones) return;
  auto oldest = tombstones_.find(buried_.front().first);
  if (oldest != tombstones_.end() && oldest->second == buried_.front().second)
    tombstones_.erase(oldest);
  buried_.pop_front();
}

void ObjectCache::upsert(const Object& object) {
  Key key{object.ns, object.name};
  if (auto tomb = tombstones_.find(key); tomb != tombstones_.end()) {
    if (object.resource_version <= tomb->second) return;
    tombstones_.erase(tomb);
  }
  auto at = entries_.try_emplace(key).first;
  Entry& entry = at->second;
  if (entry.object && entry.resource_version >= object.resource_version) return;
  Decoded own;
  Result<AnyRef> decoded = decode_(object.decoded ? *object.decoded : own, *object.json);
  if (!decoded) {
    log_error("kube", "an object could not be read and is ignored",
              {{"resource", resource_.plural},
               {"namespace", object.ns},
               {"name", object.name},
               {"error", decoded.error().message}});
    if (!entry.object) entries_.erase(at);
    return;
  }
  AnyRef before = entry.object;
  entry.resource_version = object.resource_version;
  entry.object = std::move(*decoded);
  reindex(*at);
  AnyRef after = entry.object;
  for (const auto& handler : handlers_) handler(before, after);
}

void ObjectCache::erase(const Key& key, std::uint64_t resource_version) {
  auto found = entries_.find(key);
  if (found == entries_.end() || found->second.resource_version > resource_version) return;
  AnyRef before = found->second.object;
  unindex(*found);
  entries_.erase(found);
  for (const auto& handler : handlers_) handler(before, nullptr);
}

// Most changes leave an object where it is in the indexes.
void ObjectCache::reindex(Known& known) {
  std::vector<std::pair<int, std::string>> now;
  std::vector<std::string> values;
  for (int i = 0; i < static_cast<int>(indexes_.size()); ++i) {
    values.clear();
    indexes_[static_cast<std::size_t>(i)].extract(known.second.object.get(), values);
    for (std::string& value : values) now.emplace_back(i, std::move(value));
  }
  if (now == known.second.index_keys) return;
  unindex(known);
  for (const auto& [i, value] : now)
    indexes_[static_cast<std::size_t>(i)].members[value].insert(&known);
  known.second.index_keys = std::move(now);
}

void ObjectCache::unindex(Known& known) {
  for (const auto& [i, value] : known.second.index_keys) {
    auto& members = indexes_[static_cast<std::size_t>(i)].members;
    auto bucket = members.find(value);
    if (bucket == members.end()) continue;
    bucket->second.erase(&known);
    if (bucket->second.empty()) members.erase(bucket);
  }
  known.second.index_keys.clear();
}

}  // namespace hekla::kube
