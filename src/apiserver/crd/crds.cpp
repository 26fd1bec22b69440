#include "apiserver/crd/crds.h"

#include <algorithm>
#include <utility>

#include "apiserver/crd/crd.h"
#include "apiserver/object/storage.h"
#include "base/check.h"
#include "base/log.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

bool established(const json::Value& crd) {
  const json::Array* conditions = json::array_at(crd, {"status", "conditions"});
  return conditions &&
         std::any_of(conditions->begin(), conditions->end(), [](const json::Value& one) {
           return json::string_at(one, {"type"}) == "Established" &&
                  json::string_at(one, {"status"}) == "True";
         });
}

}  // namespace

void Crds::refresh() {
  std::lock_guard lock(mutex_);
  const store::Snapshot snapshot = store_.snapshot();
  std::map<std::string, Entry> next;
  bool changed = false, any_terminating = false;
  ServedPtr definitions =
      registry_.catalog()->find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  if (!definitions) return;
  snapshot.scan(definitions->bucket, "", "", [&](const store::ItemPtr& item) {
    if (auto known = entries_.find(item->key);
        known != entries_.end() && known->second.revision == item->modified) {
      any_terminating |= known->second.kinds.terminating;
      next.insert(entries_.extract(known));
      return true;
    }
    changed = true;
    Result<json::Value> crd = json::parse(item->value);
    if (!crd || !established(*crd)) return true;
    Result<CustomKinds> kinds = kinds_of_crd(*crd);
    if (!kinds) {
      log_error("apiserver", "a stored CRD cannot be served",
                {{"name", item->key}, {"error", kinds.error().message}});
      return true;
    }
    CHECK(kinds->storage, "a CRD has a storage version");
    kinds->schema_since = item->modified;
    Entry entry{item->modified, platform_.completed(item->key, std::move(*kinds))};
    any_terminating |= entry.kinds.terminating;
    next.emplace(item->key, std::move(entry));
    return true;
  });
  changed |= !entries_.empty();  // what was not carried over is gone
  entries_ = std::move(next);
  if (changed || !std::exchange(published_, true)) {
    // A CRD of the platform's may be away for a moment; its kinds are not.
    std::vector<CustomKinds> all = platform_.beside(
        [this](std::string_view name) { return entries_.contains(std::string(name)); });
    for (const auto& [name, entry] : entries_) all.push_back(entry.kinds);
    registry_.set_custom(all);
  }
  if (any_terminating && notify_) notify_();
}

std::map<std::string, KindPtr> Crds::terminating() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, KindPtr> going;
  for (const auto& [name, entry] : entries_)
    if (entry.kinds.terminating) going.emplace(name, entry.kinds.storage);
  return going;
}

}  // namespace hekla::apiserver
