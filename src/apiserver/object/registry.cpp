#include "apiserver/object/registry.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace hekla::apiserver {

namespace {

constexpr std::array<std::string_view, 24> kGroupOrder{
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "storagemigration.k8s.io",
    "metrics.k8s.io",
};

std::string path_of(std::string_view group, std::string_view version, std::string_view plural) {
  std::string path;
  path.reserve(group.size() + version.size() + plural.size() + 2);
  path.append(group).append("/").append(version).append("/").append(plural);
  return path;
}

}  // namespace

std::tuple<int, int, int> version_rank(std::string_view version) {
  auto number = [&](std::size_t& at) {
    int value = 0;
    while (at < version.size() && version[at] >= '0' && version[at] <= '9')
      value = value * 10 + (version[at++] - '0');
    return value;
  };
  if (version.size() < 2 || version[0] != 'v') return {0, 0, 0};
  std::size_t at = 1;
  int major = number(at);
  if (major == 0) return {0, 0, 0};
  if (at == version.size()) return {3, major, 0};
  bool beta = version.substr(at).starts_with("beta");
  bool alpha = version.substr(at).starts_with("alpha");
  if (!beta && !alpha) return {0, 0, 0};
  at += beta ? 4 : 5;
  return {beta ? 2 : 1, major, number(at)};
}

int group_priority(std::string_view group) {
  auto found = std::find(kGroupOrder.begin(), kGroupOrder.end(), group);
  return static_cast<int>(found - kGroupOrder.begin());
}

ServedPtr Catalog::find(std::string_view group, std::string_view version,
                        std::string_view plural) const {
  auto found = by_path_.find(path_of(group, version, plural));
  return found == by_path_.end() ? nullptr : found->second;
}

RemotePtr Catalog::remote(std::string_view group, std::string_view version) const {
  for (const RemotePtr& one : remotes_)
    if (one->group == group && one->version == version) return one;
  return nullptr;
}

Registry::Registry(store::Store& store, const std::vector<KindPtr>& builtin, bool node_reports)
    : store_(store), builtin_(builtin), node_reports_(node_reports) {
  set_custom({});
}

CatalogPtr Registry::catalog() const {
  std::lock_guard lock(mutex_);
  return catalog_;
}

void Registry::set_custom(const std::vector<CustomKinds>& custom) {
  auto next = std::make_shared<Catalog>();
  next->node_reports_ = node_reports_;
  auto serve = [&](const KindPtr& kind, const KindPtr& storage, bool terminating,
                   store::Revision since) {
    CHECK(kind && storage, "a served kind is stored as something");
    auto served = std::make_shared<ServedKind>(
        ServedKind{kind, storage, store_.bucket(kind->storage.bucket), terminating, since});
    const kube::Resource& r = kind->resource;
    if (next->by_path_.emplace(path_of(r.group, r.version, r.plural), served).second)
      next->all_.push_back(std::move(served));
  };
  std::map<std::string, KindPtr> storage_of_bucket;
  for (const KindPtr& kind : builtin_)
    if (kind->resource.api_version() == kind->storage.version)
      storage_of_bucket.emplace(kind->storage.bucket, kind);
  for (const KindPtr& kind : builtin_) {
    auto storage = storage_of_bucket.find(kind->storage.bucket);
    serve(kind, storage == storage_of_bucket.end() ? kind : storage->second, false, 0);
  }
  for (const CustomKinds& one : custom)
    for (const KindPtr& kind : one.kinds)
      serve(kind, one.storage, one.terminating, one.schema_since);

  std::sort(next->all_.begin(), next->all_.end(), [](const ServedPtr& a, const ServedPtr& b) {
    const kube::Resource &x = a->kind->resource, &y = b->kind->resource;
    if (x.group != y.group) {
      int p = group_priority(x.group), q = group_priority(y.group);
      return p != q ? p < q : x.group < y.group;
    }
    if (x.version != y.version) {
      auto p = version_rank(x.version), q = version_rank(y.version);
      return p != q ? p > q : x.version < y.version;
    }
    return x.plural < y.plural;
  });

  swap_in(std::move(next),
          [](const Catalog& present, Catalog& catalog) { catalog.remotes_ = present.remotes_; });
}

void Registry::set_remotes(std::vector<RemotePtr> remotes) {
  std::stable_sort(remotes.begin(), remotes.end(), [](const RemotePtr& a, const RemotePtr& b) {
    if (a->group_priority != b->group_priority) return a->group_priority > b->group_priority;
    if (a->group != b->group) return a->group < b->group;
    if (a->version_priority != b->version_priority)
      return a->version_priority > b->version_priority;
    return version_rank(a->version) > version_rank(b->version);
  });
  auto next = std::make_shared<Catalog>();
  next->node_reports_ = node_reports_;
  next->remotes_ = std::move(remotes);
  swap_in(std::move(next), [](const Catalog& present, Catalog& catalog) {
    catalog.all_ = present.all_;
    catalog.by_path_ = present.by_path_;
  });
}

void Registry::swap_in(std::shared_ptr<Catalog> next,
                       void (*carry_over)(const Catalog& present, Catalog& next)) {
  std::vector<Listener> listeners;
  {
    std::lock_guard lock(mutex_);
    if (catalog_) carry_over(*catalog_, *next);
    next->generation_ = catalog_ ? catalog_->generation_ + 1 : 1;
    catalog_ = std::move(next);
    listeners = listeners_;
  }
  for (const Listener& listener : listeners)
    listener.executor->post([changed = listener.changed] { (*changed)(); });
}

std::vector<kube::Resource> Registry::resources() const {
  std::vector<kube::Resource> found;
  std::vector<store::BucketId> seen;
  const CatalogPtr now = catalog();  // held: another may take its place meanwhile
  for (const ServedPtr& served : now->all()) {
    auto has = [&](std::string_view verb) {
      const auto& verbs = served->kind->verbs;
      return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
    };
    if (!has("list") || !has("watch") || !has("delete")) continue;
    if (std::find(seen.begin(), seen.end(), served->bucket) != seen.end()) continue;
    seen.push_back(served->bucket);
    found.push_back(served->kind->resource);
  }
  return found;
}

void Registry::on_change(Executor& executor, std::function<void()> changed) {
  CHECK(changed, "a listener wants to be called");
  std::lock_guard lock(mutex_);
  listeners_.push_back({&executor, std::make_shared<std::function<void()>>(std::move(changed))});
}

}  // namespace hekla::apiserver
