// Routes out of the objects of an API: VirtualServices, the Services that they lead to, those
// Services' EndpointSlices, and the AuthorizationPolicies of their namespaces.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "gateway/routes/route_table.h"
#include "kube/cache_set.h"
#include "kube/events.h"

namespace hekla::gateway {

// Lives on the caches' executor; table() is for any thread.
class RouteSource {
 public:
  // `owned`: whether a prefix is the platform's. Before the caches start.
  RouteSource(kube::CacheSet& caches, std::function<bool(std::string_view)> owned);
  std::shared_ptr<const RouteTable> table() const;

 private:
  struct Known {
    kube::Key key;
    WallTime created;
    RouteTable::Rules rules;
    bool told = false;  // that an older one has its path
  };
  void read(const framework::AnyObject& object);
  void read_policy_of(const framework::AnyObject& object);
  Policies policies_about(const kube::Key& service, const framework::AnyObject& object) const;
  void warn(const kube::Resource& resource, const framework::AnyObject& object,
            const std::string& reason, const std::string& why);
  void settle();
  void tell_of_older(Known& known, const std::string& claim);

  const std::function<bool(std::string_view)> owned_;
  kube::EventRecorder events_;
  kube::Informer<framework::AnyObject>& routes_;
  kube::Informer<framework::AnyObject>& policies_;
  kube::Informer<framework::AnyObject>& services_;
  kube::Informer<framework::AnyObject>& slices_;
  int slices_by_service_ = 0;
  std::map<kube::Key, Known> known_;
  std::map<kube::Key, std::shared_ptr<const Policy>> known_policies_;
  bool changed_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const RouteTable> table_ = std::make_shared<const RouteTable>();
};

}  // namespace hekla::gateway
