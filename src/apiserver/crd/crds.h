// The stored CRDs and the catalog.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "apiserver/crd/platform_crds.h"
#include "apiserver/object/registry.h"
#include "store/store.h"

namespace hekla::apiserver {

// Keeps the catalog in step with the stored CRDs. Thread-safe.
class Crds {
 public:
  Crds(store::Store& store, Registry& registry) : store_(store), registry_(registry) {}

  // Before the first refresh.
  void set_platform(PlatformCrds platform) { platform_ = std::move(platform); }
  const PlatformCrds& platform() const { return platform_; }
  // Called after every commit that touched CRDs, and once at start. Unchanged CRDs are not parsed
  // again.
  void refresh();
  // The CRDs that wait for their resources to go, by name, and in which kind these are stored: it
  // need not be served.
  std::map<std::string, KindPtr> terminating() const;
  // Called (on the thread of refresh) when there is something terminating.
  void on_terminating(std::function<void()> notify) { notify_ = std::move(notify); }

 private:
  struct Entry {
    store::Revision revision = 0;
    CustomKinds kinds;
  };
  store::Store& store_;
  Registry& registry_;
  PlatformCrds platform_;
  std::function<void()> notify_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  bool published_ = false;
};

}  // namespace hekla::apiserver
