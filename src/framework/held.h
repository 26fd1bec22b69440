// A cache of some resource as the runtime sees it: metadata by key and by owner, whatever type the
// objects are decoded as. Descriptions name held_as<T>; only the runtime calls a Held.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/any_object.h"
#include "kube/cache_set.h"

namespace hekla::framework {

class Held {
 public:
  using OnChange = std::function<void(const model::ObjectMeta* before, const AnyObject* before_all,
                                      const model::ObjectMeta* after, const AnyObject* after_all)>;
  virtual ~Held() = default;
  virtual const kube::Resource& resource() const = 0;
  // Null when there is none. Keeps the object alive.
  virtual std::shared_ptr<const model::ObjectMeta> get(const kube::Key& key) const = 0;
  // The whole object; one with the metadata alone where another type is held.
  virtual AnyRef whole(const kube::Key& key) const = 0;
  // Whether whole() has more than the metadata.
  virtual bool is_whole() const = 0;
  virtual std::vector<std::shared_ptr<const model::ObjectMeta>> of(
      const std::string& owner_uid) const = 0;
  virtual std::vector<std::shared_ptr<const model::ObjectMeta>> orphans(
      const std::string& ns) const = 0;
  // All of them, or those of a namespace.
  virtual std::vector<kube::Key> keys(const std::string* ns) const = 0;
  // Before the caches start.
  virtual void on_change(OnChange handler) = 0;
};

template <class T>
std::unique_ptr<Held> held_as(kube::CacheSet& caches, const kube::Resource& resource,
                              bool optional);
// model::Pod for pods, AnyObject for everything else.
std::unique_ptr<Held> held_by_default(kube::CacheSet& caches, const kube::Resource& resource,
                                      bool optional);

namespace detail {

template <class T>
class HeldAs final : public Held {
 public:
  using Meta = std::shared_ptr<const model::ObjectMeta>;
  HeldAs(kube::CacheSet& caches, const kube::Resource& resource, bool optional)
      : caches_(caches),
        cache_(caches.indexed_by_controller<T>(resource, {.optional = optional})) {}

  const kube::Resource& resource() const override { return cache_.resource(); }
  Meta get(const kube::Key& key) const override { return meta(cache_.get(key)); }
  AnyRef whole(const kube::Key& key) const override {
    auto found = cache_.get(key);
    if constexpr (std::is_same_v<T, AnyObject>) {
      return found;
    } else {
      return found ? std::make_shared<const AnyObject>(AnyObject{found->metadata, {}, {}, {}})
                   : nullptr;
    }
  }
  bool is_whole() const override { return std::is_same_v<T, AnyObject>; }
  std::vector<Meta> of(const std::string& owner_uid) const override {
    return metas(caches_.controlled_by<T>(resource(), owner_uid));
  }
  std::vector<Meta> orphans(const std::string& ns) const override {
    return metas(caches_.orphans_in<T>(resource(), ns));
  }
  std::vector<kube::Key> keys(const std::string* ns) const override {
    std::vector<kube::Key> found;
    if (ns != nullptr) {
      for (const auto& one : cache_.in_namespace(*ns)) found.push_back(key_of(one->metadata));
    } else {
      cache_.for_each([&](const auto& one) { found.push_back(key_of(one->metadata)); });
    }
    return found;
  }
  void on_change(OnChange handler) override {
    cache_.on_change([handler = std::move(handler)](const std::shared_ptr<const T>& before,
                                                    const std::shared_ptr<const T>& after) {
      handler(before ? &before->metadata : nullptr, whole_of(before.get()),
              after ? &after->metadata : nullptr, whole_of(after.get()));
    });
  }

 private:
  static Meta meta(const std::shared_ptr<const T>& object) {
    return object ? Meta(object, &object->metadata) : nullptr;
  }
  static std::vector<Meta> metas(const std::vector<std::shared_ptr<const T>>& objects) {
    std::vector<Meta> found;
    found.reserve(objects.size());
    for (const auto& one : objects) found.push_back(meta(one));
    return found;
  }
  static const AnyObject* whole_of(const T* object) {
    if constexpr (std::is_same_v<T, AnyObject>)
      return object;
    else
      return nullptr;
  }

  kube::CacheSet& caches_;
  kube::Informer<T>& cache_;
};

}  // namespace detail

template <class T>
std::unique_ptr<Held> held_as(kube::CacheSet& caches, const kube::Resource& resource,
                              bool optional) {
  return std::make_unique<detail::HeldAs<T>>(caches, resource, optional);
}

}  // namespace hekla::framework
