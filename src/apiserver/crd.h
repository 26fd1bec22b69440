// CustomResourceDefinitions: the rules for the objects themselves, and the kinds they bring into
// the catalog. A CRD's conditions are set in the very write that creates it, and its kinds are
// served before that write is answered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apiserver/platform_crds.h"
#include "apiserver/registry.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/client.h"
#include "store/store.h"

namespace hekla::apiserver {

inline constexpr std::string_view kCrdFinalizer = "customresourcecleanup.apiextensions.k8s.io";

bool is_crd(const kube::Resource& resource);

// Its status: accepted names, stored versions, conditions.
void prepare_crd(json::Value& crd, const Catalog& catalog, WallTime now);
// `old` is null on create.
std::vector<Cause> validate_crd(const json::Value& crd, const json::Value* old,
                                const Catalog& catalog);
// Adds the finalizer and the Terminating condition; true when the CRD must stay for its resources.
bool begin_crd_removal(json::Value& crd, WallTime now);

// The part of it that is about one version, at `field`, without the schema, which may be null when
// it is wrong.
void validate_crd_version(const std::string& field, const json::Value& version,
                          const Schema* schema, std::vector<Cause>& causes);

// The kinds of an established CRD.
Result<CustomKinds> kinds_of_crd(const json::Value& crd);
// Printed columns of one version, from additionalPrinterColumns.
void set_crd_columns(const json::Value& version, Kind& kind);

// Keeps the catalog in step with the stored CRDs. Thread-safe.
class Crds {
 public:
  Crds(store::Store& store, Registry& registry) : store_(store), registry_(registry) {}

  // Before the first refresh.
  void set_platform(PlatformCrds platform) { platform_ = std::move(platform); }
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
};

}  // namespace hekla::apiserver
