#include "framework/held.h"

namespace hekla::framework {

std::unique_ptr<Held> held_by_default(kube::CacheSet& caches, const kube::Resource& resource,
                                      bool optional) {
  if (resource == kube::resources::pods) return held_as<model::Pod>(caches, resource, optional);
  return held_as<AnyObject>(caches, resource, optional);
}

}  // namespace hekla::framework
