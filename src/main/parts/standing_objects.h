// Objects of the platform's own that return when somebody has deleted them: Services that lead to
// this process, accounts, the first profile. What is there already, ours or installed over it, is
// left as it is.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "framework/any_object.h"
#include "kube/cache_set.h"

namespace hekla {

// Lives on the client's executor.
class StandingObjects {
 public:
  explicit StandingObjects(kube::Client& client);

  // All of them before start(). `object`: without apiVersion and kind. `alone`: only while there is
  // no other of its kind.
  void add(const kube::Resource& resource, json::Object object, bool alone = false);
  // The endpoints of a Service that has no selector: of one that has, the pods decide.
  void add_endpoints(const std::string& ns, const std::string& service, json::Array subsets);
  void start();

 private:
  struct Standing {
    kube::Resource resource;
    kube::Key key;
    json::Object body;
    std::function<bool()> wanted;  // empty: always
    std::function<bool()> there;
    bool applied = false;  // made by server-side apply, whatever is there, and at once
    bool seen = false;     // it has been there
    std::optional<MonoTime> missing_since;
  };

  void look();
  void make(const Standing& one);

  kube::Client& client_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  kube::CacheSet caches_;
  std::deque<Standing> all_;
  bool looking_ = false;
};

}  // namespace hekla
