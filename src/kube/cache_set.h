// Every informer of a component, shared by resource and type. Controllers on one CacheSet that ask
// for the same resource as the same type are given the same informer: one watch, one decoded copy.
// Starting, waiting for the first lists and showing own writes are the set's own work, so that a
// controller names each resource exactly once.
//
// Lives on its Client's executor; every call and callback happens there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kube/informer.h"

namespace hekla::kube {

struct CacheOptions {
  std::string ns;  // empty: all namespaces
  std::string label_selector, field_selector;
  // A resource that need not be served (a CRD of somebody else). The set does not wait for its
  // first list once the server has answered "not found"; it is listed again until it appears.
  bool optional = false;
  bool operator==(const CacheOptions&) const = default;
};

class CacheSet {
 public:
  explicit CacheSet(Client& client) : client_(client) {}
  CacheSet(const CacheSet&) = delete;
  CacheSet& operator=(const CacheSet&) = delete;

  Client& client() const { return client_; }

  // The informer of this resource, decoded as T: the same one for equal arguments, made by the
  // first call, which comes before start(). A resource asked for as optional and not is not
  // optional. The reference is good for the set's life.
  template <class T>
  Informer<T>& of(const Resource& resource, const CacheOptions& options = {});

  // The informer that was asked for before, with whatever options.
  template <class T>
  const Informer<T>& known(const Resource& resource) const {
    return *static_cast<const Informer<T>*>(at(resource, &kTypeOf<T>).informer.get());
  }

  // Objects by their controller's uid, and those without a controller by namespace. The index is
  // made by the first indexed_by_controller(), which comes before start(). T has `metadata`.
  template <class T>
  Informer<T>& indexed_by_controller(const Resource& resource, const CacheOptions& options = {});
  template <class T>
  std::vector<std::shared_ptr<const T>> controlled_by(const Resource& resource,
                                                      const std::string& uid) const;
  template <class T>
  std::vector<std::shared_ptr<const T>> orphans_in(const Resource& resource,
                                                   const std::string& ns) const;

  // Starts every informer, in the order they were asked for. Once.
  void start();
  // Every informer has its first list, optional ones that are not served aside.
  bool synced() const;
  // Called once, when the set has synced, in the order of registration. Before start().
  void on_synced(std::function<void()> handler);
  // Whether the resource has been listed. False for an optional one that is not served; it may
  // become true later.
  bool served(const Resource& resource) const;

  // Shows the result of an own write to every informer of its resource, as ReconcileLoop's Overlay.
  void overlay(const Write& write, const ObjectPtr& result);

 private:
  struct Entry {
    Resource resource;
    const void* type = nullptr;
    CacheOptions options;
    std::shared_ptr<void> informer;
    int by_controller = -1;
    std::function<void()> start;
    std::function<bool()> synced, absent;
    std::function<void(const Write&, const ObjectPtr&)> overlay;
  };
  template <class T>
  static constexpr char kTypeOf = 0;

  Entry* find(const Resource& resource, const void* type, const CacheOptions& options);
  // The first of this resource and type, whatever its selectors.
  const Entry& at(const Resource& resource, const void* type) const;
  void check_synced();

  Client& client_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::function<void()>> synced_handlers_;
  bool started_ = false, announced_ = false;
};

template <class T>
Informer<T>& CacheSet::of(const Resource& resource, const CacheOptions& options) {
  if (Entry* known = find(resource, &kTypeOf<T>, options)) {
    known->options.optional = known->options.optional && options.optional;
    return *static_cast<Informer<T>*>(known->informer.get());
  }
  CHECK(!started_, "a cache set was asked for another resource after its start");
  auto informer = std::make_shared<Informer<T>>(
      client_, resource, ListOptions{options.ns, options.label_selector, options.field_selector});
  Informer<T>& made = *informer;
  made.on_settled([this] { check_synced(); });
  auto entry = std::make_unique<Entry>();
  entry->resource = resource;
  entry->type = &kTypeOf<T>;
  entry->options = options;
  entry->informer = std::move(informer);
  entry->start = [&made] { made.start(); };
  entry->synced = [&made] { return made.synced(); };
  entry->absent = [&made] { return made.absent(); };
  entry->overlay = [&made](const Write& write, const ObjectPtr& result) {
    made.overlay(write, result);
  };
  entries_.push_back(std::move(entry));
  return made;
}

template <class T>
Informer<T>& CacheSet::indexed_by_controller(const Resource& resource,
                                             const CacheOptions& options) {
  Informer<T>& informer = of<T>(resource, options);
  Entry& entry = *find(resource, &kTypeOf<T>, options);
  if (entry.by_controller >= 0) return informer;
  CHECK(!started_, "a cache set was asked for another index after its start");
  entry.by_controller = informer.add_index([](const T& object, std::vector<std::string>& keys) {
    const model::OwnerReference* owner = object.metadata.controller();
    keys.push_back(owner ? owner->uid : "/" + object.metadata.ns);
  });
  return informer;
}

template <class T>
std::vector<std::shared_ptr<const T>> CacheSet::controlled_by(const Resource& resource,
                                                              const std::string& uid) const {
  const Entry& entry = at(resource, &kTypeOf<T>);
  CHECK(entry.by_controller >= 0, "this cache is not indexed by controller");
  return static_cast<const Informer<T>*>(entry.informer.get())->by(entry.by_controller, uid);
}

template <class T>
std::vector<std::shared_ptr<const T>> CacheSet::orphans_in(const Resource& resource,
                                                           const std::string& ns) const {
  return controlled_by<T>(resource, "/" + ns);
}

}  // namespace hekla::kube
