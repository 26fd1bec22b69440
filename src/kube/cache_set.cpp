#include "kube/cache_set.h"
#include "base/check.h"

#include <algorithm>

namespace hekla::kube {

CacheSet::Entry* CacheSet::find(const Resource& resource, const void* type,
                                const CacheOptions& options) {
  for (const std::unique_ptr<Entry>& entry : entries_)
    if (entry->type == type && entry->resource == resource && entry->options.ns == options.ns &&
        entry->options.label_selector == options.label_selector &&
        entry->options.field_selector == options.field_selector)
      return entry.get();
  return nullptr;
}

const CacheSet::Entry& CacheSet::at(const Resource& resource, const void* type) const {
  for (const std::unique_ptr<Entry>& entry : entries_)
    if (entry->type == type && entry->resource == resource) return *entry;
  CHECK(false, "no cache of this resource and type: " + resource.plural);
  return *entries_.front();
}

void CacheSet::start() {
  CHECK(!started_, "a cache set is started once");
  started_ = true;
  for (const std::unique_ptr<Entry>& entry : entries_) entry->start();
}

bool CacheSet::synced() const {
  return started_ && std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) {
           return entry->synced() || (entry->options.optional && entry->absent());
         });
}

void CacheSet::on_synced(std::function<void()> handler) {
  CHECK(!started_, "handlers of a cache set are registered before its start");
  synced_handlers_.push_back(std::move(handler));
}

bool CacheSet::served(const Resource& resource) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->resource == resource && entry->synced();
  });
}

void CacheSet::overlay(const Write& write, const ObjectPtr& result) {
  // Other subresources answer with something else than the object: a Scale, a Status.
  const bool whole =
      write.subresource.empty() || write.subresource == "status" || write.subresource == "finalize";
  if (!result || !whole || write.verb == Write::Verb::bind || write.verb == Write::Verb::evict)
    return;
  for (const std::unique_ptr<Entry>& entry : entries_)
    if (entry->resource == write.resource) entry->overlay(write, result);
}

void CacheSet::check_synced() {
  if (announced_ || !synced()) return;
  announced_ = true;
  for (const auto& handler : synced_handlers_) handler();
}

}  // namespace hekla::kube
