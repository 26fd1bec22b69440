// The kinds served at this moment: the built-in ones and those of established CRDs. The set is an
// immutable Catalog that is swapped as a whole, so a request sees one consistent set from beginning
// to end.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/object/kind.h"
#include "json/value.h"
#include "kube/client.h"
#include "store/store.h"

namespace hekla::net {
class Client;
}

namespace hekla::apiserver {

// A kind and where its objects are.
struct ServedKind {
  KindPtr kind;
  KindPtr storage;  // the kind in whose version the bucket is written
  store::BucketId bucket = 0;
  bool terminating = false;  // its CRD is being deleted: nothing new may be created
  // Since when its CRD says what it says: what is older has not been pruned and defaulted by it.
  store::Revision schema_since = 0;
};
using ServedPtr = std::shared_ptr<const ServedKind>;

// The kinds of one CRD: its served versions, with the storage version among `kinds`.
struct CustomKinds {
  std::vector<KindPtr> kinds;  // served versions, preferred first
  KindPtr storage;
  bool terminating = false;
  store::Revision schema_since = 0;
};

// A group version that another server answers for, because an APIService says so (aggregator.h).
struct RemoteVersion {
  std::string group, version;
  std::int64_t group_priority = 0, version_priority = 0;
  bool available = false;
  std::vector<std::string> origins;  // https://host:port; any of them will do
  std::shared_ptr<net::Client> client;
  json::Array resources;     // of its APIResourceList, when it last answered
  std::string openapi_hash;  // of its schema in /openapi/v3; empty: none is known
};
using RemotePtr = std::shared_ptr<const RemoteVersion>;

class Catalog {
 public:
  // Null when nothing of that name is served.
  ServedPtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  ServedPtr find(const kube::Resource& resource) const {
    return find(resource.group, resource.version, resource.plural);
  }
  // Groups in order of priority, versions in order of preference, resources by name.
  const std::vector<ServedPtr>& all() const { return all_; }
  std::uint64_t generation() const { return generation_; }
  // Whether a node agent answers for what is not stored (metrics.k8s.io, logs.hekla.io).
  bool node_reports() const { return node_reports_; }
  // Versions that other servers answer for, by priority; null when this one does.
  const std::vector<RemotePtr>& remotes() const { return remotes_; }
  RemotePtr remote(std::string_view group, std::string_view version) const;

 private:
  friend class Registry;
  std::vector<ServedPtr> all_;
  std::map<std::string, ServedPtr, std::less<>> by_path_;  // "group/version/plural"
  std::vector<RemotePtr> remotes_;
  std::uint64_t generation_ = 0;
  bool node_reports_ = false;
};
using CatalogPtr = std::shared_ptr<const Catalog>;

// Thread-safe.
class Registry final : public kube::Discovery {
 public:
  // `builtin` outlives it.
  Registry(store::Store& store, const std::vector<KindPtr>& builtin, bool node_reports);

  CatalogPtr catalog() const;
  // Replaces all custom kinds.
  void set_custom(const std::vector<CustomKinds>& custom);
  // Replaces what other servers answer for.
  void set_remotes(std::vector<RemotePtr> remotes);

  std::vector<kube::Resource> resources() const override;
  void on_change(Executor& executor, std::function<void()> changed) override;

 private:
  struct Listener {
    Executor* executor;
    std::shared_ptr<std::function<void()>> changed;
  };

  // Makes it the current one, with the parts of the present one that `carry_over` takes.
  void swap_in(std::shared_ptr<Catalog> next,
               void (*carry_over)(const Catalog& present, Catalog& next));

  store::Store& store_;
  const std::vector<KindPtr>& builtin_;
  const bool node_reports_;
  mutable std::mutex mutex_;
  CatalogPtr catalog_;
  std::vector<Listener> listeners_;
};

// kubectl resolves bare names by this order; groups not in it (CRDs) follow alphabetically.
int group_priority(std::string_view group);
// v2 before v1 before v1beta1 before v1alpha1: (stability, major, minor), larger is preferred.
std::tuple<int, int, int> version_rank(std::string_view version);

}  // namespace hekla::apiserver
