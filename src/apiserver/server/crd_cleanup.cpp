#include "apiserver/server/crd_cleanup.h"

#include <atomic>

#include "apiserver/crd/crds.h"
#include "apiserver/kinds/rules/crd_rules.h"
#include "apiserver/object/metadata.h"
#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"

namespace hekla::apiserver {

namespace {
constexpr Nanos kLookAgain{100'000'000};
constexpr std::size_t kPerRound = 500;
constexpr std::string_view kManager = "hekla-crd-cleanup";
}  // namespace

struct CrdCleanup::State : std::enable_shared_from_this<State> {
  store::Store& store;
  Registry& registry;
  Crds& crds;
  Writes& writes;
  Executor& loop;
  std::atomic<bool> scheduled{false};
  std::atomic<bool> ended{false};

  State(store::Store& s, Registry& r, Crds& c, Writes& w, Executor& l)
      : store(s), registry(r), crds(c), writes(w), loop(l) {}

  void schedule(Nanos delay) {
    if (scheduled.exchange(true)) return;
    auto task = [weak = weak_from_this()] {
      std::shared_ptr<State> self = weak.lock();
      if (!self || self->ended) return;
      self->scheduled = false;
      self->round();
    };
    if (delay == Nanos{0})
      loop.post(std::move(task));
    else
      loop.post_after(delay, std::move(task));
  }

  void round() {
    const CatalogPtr catalog = registry.catalog();
    const store::Snapshot snapshot = store.snapshot();
    std::vector<WriteRequest> requests;
    const std::map<std::string, KindPtr> going = crds.terminating();
    if (going.empty()) return;
    for (const auto& [name, stored] : going) {
      const store::BucketId bucket = store.bucket(stored->storage.bucket);
      if (snapshot.count(bucket) == 0)
        requests.push_back(release(*catalog, snapshot, name));
      else
        remove_some(as_stored(*stored, bucket), snapshot, requests);
    }
    std::erase_if(requests, [](const WriteRequest& request) { return !request.served; });
    if (requests.empty()) return schedule(kLookAgain);
    writes.run(std::move(requests), loop, [weak = weak_from_this()](std::vector<WriteOutcome>) {
      if (std::shared_ptr<State> self = weak.lock()) self->schedule(kLookAgain);
    });
  }

  // Objects that go are not converted: their webhook may be gone already.
  static ServedPtr as_stored(const Kind& stored, store::BucketId bucket) {
    auto kind = std::make_shared<Kind>(stored);
    kind->storage.conversion = nullptr;
    return std::make_shared<const ServedKind>(ServedKind{kind, kind, bucket, true});
  }

  static void remove_some(const ServedPtr& served, const store::Snapshot& snapshot,
                          std::vector<WriteRequest>& requests) {
    std::size_t count = 0;
    snapshot.scan(served->bucket, "", "", [&](const store::ItemPtr& item) {
      const ObjectHeader& header = header_of(*item);
      if (header.deleting) return true;
      WriteRequest request;
      request.verb = WriteRequest::Verb::remove;
      request.served = served;
      request.key = {header.ns, header.name};
      request.field_manager = kManager;
      request.user = {"system:apiserver", "", {"system:masters"}};
      request.past_admission =
          true;  // as upstream: who may delete the CRD may delete its resources
      requests.push_back(std::move(request));
      return ++count < kPerRound;
    });
  }

  // Takes our finalizer off the CRD.
  static WriteRequest release(const Catalog& catalog, const store::Snapshot& snapshot,
                              const std::string& name) {
    WriteRequest request;
    ServedPtr served = catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    store::ItemPtr item = served ? snapshot.get(served->bucket, name) : nullptr;
    if (!item) return request;
    json::Value crd = decode_object(*served, *item);
    std::vector<std::string> finalizers = finalizers_of(crd);
    std::erase(finalizers, kCrdFinalizer);
    set_finalizers(crd, finalizers);
    request.verb = WriteRequest::Verb::update;
    request.served = std::move(served);
    request.key = {"", name};
    request.body = std::move(crd);
    request.field_manager = kManager;
    request.user = {"system:apiserver", "", {"system:masters"}};
    return request;
  }
};

CrdCleanup::CrdCleanup(store::Store& store, Registry& registry, Crds& crds, Writes& writes,
                       Executor& loop)
    : state_(std::make_shared<State>(store, registry, crds, writes, loop)) {}

CrdCleanup::~CrdCleanup() { state_->ended = true; }

void CrdCleanup::kick() { state_->schedule(Nanos{0}); }

}  // namespace hekla::apiserver
