// A kind is a description: which objects it has, which children follow from one of them, and a
// function from object and view to outcome. Everything else (caches, wake-ups, one round per
// object, differences, adoption, retries, finalizers, events) is the runtime's, KindController.
//
// A description is plain data with pure functions: no client, no clock, no thread. What its
// functions need beside object and view (options of a component) they capture by value.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/outcome.h"
#include "framework/view.h"
#include "model/selector.h"

namespace hekla::framework {

// Wakes described objects; given to Follow. Cheap to copy, safe after the controller's end.
class Wake {
 public:
  using Add = std::function<void(const kube::Key&, Nanos delay)>;
  using All = std::function<void(const std::string* ns)>;
  Wake(Add add, All all) : add_(std::move(add)), all_(std::move(all)) {}
  void operator()(const kube::Key& key) const { add_(key, Nanos(0)); }
  void after(const kube::Key& key, Nanos delay) const { add_(key, delay); }
  void all() const { all_(nullptr); }
  void all_in(const std::string& ns) const { all_(&ns); }

 private:
  Add add_;
  All all_;
};

// Another kind that reconcile reads, and whom its changes wake.
struct Follow {
  kube::Resource resource;
  // Registers with the caches, before they start.
  std::function<void(kube::CacheSet&, const Wake&)> attach;
};
// `whom` is called with every change (null before: added; null after: removed). Null: followed to
// be read, wakes nobody.
template <class T = AnyObject>
Follow follow(const kube::Resource& resource,
              std::function<void(const T* before, const T* after, const Wake&)> whom = nullptr,
              kube::CacheOptions options = {}) {
  return {resource, [=](kube::CacheSet& caches, const Wake& wake) {
            kube::Informer<T>& informer = caches.of<T>(resource, options);
            if (whom)
              informer.on_change([whom, wake](const std::shared_ptr<const T>& before,
                                              const std::shared_ptr<const T>& after) {
                whom(before.get(), after.get(), wake);
              });
          }};
}

// A cache whose element type the runtime need not know (held.h). Pods are held as model::Pod
// without being told; kinds that somebody else in the component holds under another type can be
// shared with him by held_as<T>.
class Held;
using Hold = std::unique_ptr<Held> (*)(kube::CacheSet&, const kube::Resource&, bool optional);

// Which children of a kind are the object's.
enum class Claim {
  controller,  // those that bear its controller reference
  selector,    // such as match its selector too; orphans that match are adopted, own ones that no
               // longer match are let go, as Kubernetes' workloads do
};

struct OwnedKind {
  kube::Resource resource;
  // Children that an outcome does not list are removed.
  bool prune = false;
  // Need not be served; without it such children are neither made nor waited for.
  bool optional = false;
  // False: changes of such children start no round by themselves; a Follow says which do.
  bool wakes = true;
  Claim claim = Claim::controller;
  // Creations in one round; further ones wait for the next.
  std::size_t burst = 500;
  // After a refusal a single one is tried first, as Kubernetes' slow start ends up doing.
  bool slow_start = false;
  ChildWords words = {};
  // Claim::selector: which orphans may be adopted; null: all that match.
  std::function<bool(const AnyObject& owner, const model::ObjectMeta& orphan)> adoptable = nullptr;
  Hold hold = nullptr;
};

using Reconcile = std::function<Result<Outcome>(const AnyObject& object, const View& view)>;

struct KindDescription {
  // Of the controller, in logs and as the source of its events: "notebook-controller".
  std::string name;
  // Event source where it differs from the name.
  std::string event_source = {};
  kube::Resource resource;
  // Need not be served (a CRD that may not be installed): nobody waits for it.
  bool optional = false;
  std::vector<OwnedKind> owns = {};
  std::vector<Follow> follows = {};

  // Called when the object, a child or something followed has changed, when `again_after` is over,
  // and after a failure, with back-off. Decides from object and view alone, so that a repetition
  // changes nothing. An error is retried. Of a terminating object it is called only if the next
  // member says so.
  Reconcile reconcile;
  bool reconcile_terminating = false;
  // False: changes of the object start no round by themselves; a Follow of its own resource says
  // which do (pods, of which only few have something to reconcile).
  bool wakes_itself = true;

  // With a finalizer: put on the object in a round of its own, before the first child is made.
  // When the object is being deleted, finalize takes reconcile's place until its outcome is
  // `finalized`; then the finalizer goes.
  std::string finalizer = {};
  Reconcile finalize = nullptr;

  // Optional; null means the default.
  // Changes of the object that start a round; default: every one. Of a kind that is not held as
  // AnyObject it is not asked.
  std::function<bool(const AnyObject* before, const AnyObject& after)> concerns = nullptr;
  // For Claim::selector; default: spec.selector.
  std::function<std::optional<model::Selector>(const AnyObject&)> selector = nullptr;
  // Every change of an object, also before the caches have synced: for metrics. Null before: added;
  // null after: removed.
  std::function<void(const AnyObject* before, const AnyObject* after)> observe = nullptr;
  // Said after so many failed rounds of one object in a row, and after each further one; {error} is
  // the last failure.
  std::optional<EventText> failing = std::nullopt;
  int failing_after = 3;
  Hold hold = nullptr;
};

}  // namespace hekla::framework
