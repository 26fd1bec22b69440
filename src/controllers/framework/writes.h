// Writes in one line, and their results laid over the caches.
#pragma once

#include <string>

#include "kube/client.h"
#include "kube/informer.h"

namespace hekla::controllers {

kube::Write create(const kube::Resource& resource, const std::string& ns, json::Value body);
kube::Write merge_patch(const kube::Resource& resource, kube::Key key, json::Value patch,
                        std::string subresource = {});
// Server-side apply by force: makes the object, or takes its fields over.
kube::Write apply_patch(const kube::Resource& resource, const std::string& ns, json::Value body);
// With a uid only that very object is removed.
kube::Write remove(const kube::Resource& resource, kube::Key key, std::string uid = {});

// Shows the result of `write` to the cache of its resource; other caches are left alone.
template <class T>
void overlay(kube::Informer<T>& informer, const kube::Write& write, const kube::ObjectPtr& result) {
  if (write.resource == informer.resource() && result) informer.overlay(write, result);
}

// An event for `kubectl describe`.
struct EventText {
  std::string type;  // Normal or Warning
  std::string reason, message;
  bool operator==(const EventText&) const = default;
};

}  // namespace hekla::controllers
