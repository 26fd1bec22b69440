#include "apiserver/server/local_client.h"

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>

#include "apiserver/object/storage.h"
#include "apiserver/read/filter.h"
#include "apiserver/read/reads.h"
#include "apiserver/read/watch.h"
#include "apiserver/request/node_metrics.h"
#include "apiserver/text/errors.h"
#include "base/check.h"
#include "json/parse.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kPullLimit = 1024;

// Pulls on the client's executor whenever the store has news.
class LocalWatch final : public kube::Watch {
 public:
  LocalWatch(store::Store& store, Executor& executor, ServedPtr served, std::string ns,
             ObjectFilter filter, store::Revision after, kube::WatchCallbacks callbacks)
      : state_(std::make_shared<State>(
            executor, WatchCursor(store, served, std::move(ns), std::move(filter), after), served,
            std::move(callbacks))) {
    // The notification holds no reference: the subscription must not die inside it.
    subscription_ = store.subscribe(
        served->bucket, [weak = std::weak_ptr<State>(state_), scheduled = state_->scheduled,
                         &executor] { wake(weak, scheduled, executor); });
    wake(state_, state_->scheduled, executor);
  }
  ~LocalWatch() override { state_->ended = true; }

 private:
  struct State {
    Executor& executor;
    WatchCursor cursor;
    ServedPtr served;
    kube::WatchCallbacks callbacks;
    std::shared_ptr<std::atomic<bool>> scheduled = std::make_shared<std::atomic<bool>>(false);
    bool ended = false;

    State(Executor& e, WatchCursor c, ServedPtr s, kube::WatchCallbacks k)
        : executor(e), cursor(std::move(c)), served(std::move(s)), callbacks(std::move(k)) {}
  };

  // Any thread; at most one pull is under way per watch.
  static void wake(std::weak_ptr<State> weak, const std::shared_ptr<std::atomic<bool>>& scheduled,
                   Executor& executor) {
    if (scheduled->exchange(true)) return;
    executor.post([weak = std::move(weak)] {
      std::shared_ptr<State> self = weak.lock();
      if (!self || self->ended) return;
      *self->scheduled = false;
      pull(self);
    });
  }

  static void pull(const std::shared_ptr<State>& state) {
    bool caught_up = false;
    Result<std::vector<ObjectEvent>> events = state->cursor.pull(kPullLimit, caught_up);
    if (!events) {
      state->ended = true;
      if (state->callbacks.on_error) state->callbacks.on_error(events.error());
      return;
    }
    if (!events->empty() && state->callbacks.on_events) {
      if (events->size() > 1) events = without_overtaken(std::move(*events));
      std::vector<kube::WatchEvent> batch;
      batch.reserve(events->size());
      for (const ObjectEvent& event : *events) batch.push_back(convert(*state->served, event));
      state->callbacks.on_events(std::move(batch));
    }
    if (!caught_up && !state->ended) wake(state, state->scheduled, state->executor);
  }

  // A reader that has fallen behind is shown what became of an object, not each step on the way:
  // its readers go by the state, and the steps would hold them up further.
  static std::vector<ObjectEvent> without_overtaken(std::vector<ObjectEvent> events) {
    boost::unordered_flat_map<std::string_view, std::size_t> shown;
    shown.reserve(events.size());
    std::vector<bool> overtaken(events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].type == ObjectEvent::Type::deleted) {
        shown.erase(events[i].item->key);
        continue;
      }
      auto [before, first] = shown.try_emplace(events[i].item->key, i);
      if (first) continue;
      overtaken[before->second] = true;
      events[i].type = events[before->second].type;
      before->second = i;
    }
    std::vector<ObjectEvent> left;
    left.reserve(events.size());
    for (std::size_t i = 0; i < events.size(); ++i)
      if (!overtaken[i]) left.push_back(std::move(events[i]));
    return left;
  }

  static kube::WatchEvent convert(const ServedKind& served, const ObjectEvent& event) {
    kube::WatchEvent out;
    out.type = event.type;
    out.resource_version = event.revision;
    out.object = to_kube_object(served, event.item, event.revision);
    return out;
  }

  std::shared_ptr<State> state_;
  std::unique_ptr<store::Store::Subscription> subscription_;
};

// A watch that could not begin: says so once.
class FailedWatch final : public kube::Watch {
 public:
  FailedWatch(Executor& executor, Error error, std::function<void(Error)> on_error)
      : alive_(std::make_shared<bool>(true)) {
    executor.post([alive = alive_, error = std::move(error), on_error = std::move(on_error)] {
      if (*alive && on_error) on_error(error);
    });
  }
  ~FailedWatch() override { *alive_ = false; }

 private:
  std::shared_ptr<bool> alive_;
};

}  // namespace

LocalClient::LocalClient(store::Store& store, Registry& registry, Writes& writes,
                         const std::atomic<kube::PodStreams*>& streams, Executor& executor,
                         kube::Identity identity)
    : store_(store),
      registry_(registry),
      writes_(writes),
      streams_(streams),
      executor_(executor),
      identity_(std::move(identity)),
      alive_(std::make_shared<bool>(true)) {}

LocalClient::~LocalClient() { *alive_ = false; }

void LocalClient::deliver(Task task) {
  executor_.post([alive = alive_, task = std::move(task)]() mutable {
    if (*alive) task();
  });
}

void LocalClient::get(const kube::Resource& resource, const kube::Key& key,
                      std::move_only_function<void(Result<kube::ObjectPtr>)> done) {
  Result<kube::ObjectPtr> result = [&]() -> Result<kube::ObjectPtr> {
    ServedPtr served = registry_.catalog()->find(resource);
    if (!served) return std::unexpected(no_such_resource_error());
    store::ItemPtr item = TRY(get_object(store_, *served, key));
    return to_kube_object(*served, item);
  }();
  deliver(
      [result = std::move(result), done = std::move(done)]() mutable { done(std::move(result)); });
}

void LocalClient::list_metrics(const kube::Resource& resource, const kube::ListOptions& options,
                               std::move_only_function<void(Result<kube::List>)> done) {
  kube::PodStreams* streams = registry_.catalog()->node_reports() ? streams_.load() : nullptr;
  Result<model::Selector> selector = model::Selector::parse(options.label_selector);
  if (!streams || !selector) {
    Error why = streams ? selector.error() : no_such_resource_error();
    return deliver([why = std::move(why), done = std::move(done)]() mutable {
      done(std::unexpected(std::move(why)));
    });
  }
  // The answer comes on the agent's thread, perhaps when this client is gone.
  streams->usage([&store = store_, &registry = registry_, &executor = executor_, alive = alive_,
                  pods = resource.plural == "pods", ns = options.ns,
                  selector = std::move(*selector),
                  done = std::move(done)](Result<kube::NodeUsage> usage) mutable {
    Result<kube::List> list =
        usage ? Result<kube::List>(kube::List{}) : std::unexpected(usage.error());
    if (usage) {
      const CatalogPtr catalog = registry.catalog();
      for (const json::Value& one : pods ? pod_metrics(store, *catalog, ns, selector, *usage)
                                         : node_metrics(store, *catalog, selector, *usage)) {
        auto object = std::make_shared<kube::Object>();
        object->ns = json::string_at(one, {"metadata", "namespace"});
        object->name = json::string_at(one, {"metadata", "name"});
        object->json = std::make_shared<const std::string>(json::serialize(one));
        list->items.push_back(std::move(object));
      }
    }
    executor.post([alive, list = std::move(list), done = std::move(done)]() mutable {
      if (*alive) done(std::move(list));
    });
  });
}

void LocalClient::list(const kube::Resource& resource, const kube::ListOptions& options,
                       std::move_only_function<void(Result<kube::List>)> done) {
  if (resource.api_version() == kMetricsVersion)
    return list_metrics(resource, options, std::move(done));
  Result<kube::List> result = [&]() -> Result<kube::List> {
    ServedPtr served = registry_.catalog()->find(resource);
    if (!served) return std::unexpected(no_such_resource_error());
    ObjectFilter filter =
        TRY(ObjectFilter::parse(*served->kind, options.label_selector, options.field_selector));
    const store::Snapshot snapshot = store_.snapshot();
    kube::List list;
    list.resource_version = snapshot.revision();
    for (const store::ItemPtr& item : scan_objects(snapshot, *served, options.ns, filter))
      list.items.push_back(to_kube_object(*served, item));
    return list;
  }();
  deliver(
      [result = std::move(result), done = std::move(done)]() mutable { done(std::move(result)); });
}

std::unique_ptr<kube::Watch> LocalClient::watch(const kube::Resource& resource,
                                                const kube::WatchOptions& options,
                                                kube::WatchCallbacks callbacks) {
  ServedPtr served = registry_.catalog()->find(resource);
  if (!served)
    return std::make_unique<FailedWatch>(executor_, no_such_resource_error(),
                                         std::move(callbacks.on_error));
  Result<ObjectFilter> filter =
      ObjectFilter::parse(*served->kind, options.label_selector, options.field_selector);
  if (!filter)
    return std::make_unique<FailedWatch>(executor_, filter.error(), std::move(callbacks.on_error));
  return std::make_unique<LocalWatch>(store_, executor_, std::move(served), options.ns,
                                      std::move(*filter), options.resource_version,
                                      std::move(callbacks));
}

Result<WriteRequest> LocalClient::request_of(ServedPtr served, kube::Write write) const {
  WriteRequest request;
  request.served = std::move(served);
  if (!request.served) return std::unexpected(no_such_resource_error());
  request.verb = write.verb;
  request.key = std::move(write.key);
  if (!request.served->kind->resource.namespaced) request.key.ns.clear();
  request.subresource = std::move(write.subresource);
  request.body = std::move(write.body);
  request.patch_type = write.patch_type;
  request.force = write.force;
  request.remove.grace_period_seconds = write.grace_period_seconds;
  request.remove.propagation_policy = std::move(write.propagation_policy);
  request.remove.precondition_uid = std::move(write.precondition_uid);
  if (write.precondition_resource_version != 0)
    request.remove.precondition_resource_version =
        std::to_string(write.precondition_resource_version);
  if (write.verb == kube::Write::Verb::evict)
    if (const json::Value* options = json::find(request.body, "deleteOptions"))
      if (const json::Value* grace = json::find(*options, "gracePeriodSeconds");
          grace && grace->is_int64())
        request.remove.grace_period_seconds = grace->get_int64();
  request.field_manager = identity_.component;
  request.user = {"system:" + identity_.component, "", {"system:masters"}};
  return request;
}

void LocalClient::batch(std::vector<kube::Write> writes, kube::BatchDone done) {
  const CatalogPtr catalog = registry_.catalog();
  std::vector<WriteRequest> requests;
  std::vector<std::optional<Error>> refused(writes.size());
  std::vector<ServedPtr> served;
  requests.reserve(writes.size());
  served.reserve(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    // Most batches are of one kind.
    const bool same = !served.empty() && served.back()->kind->resource == writes[i].resource;
    ServedPtr kind = same ? served.back() : catalog->find(writes[i].resource);
    Result<WriteRequest> request = request_of(std::move(kind), std::move(writes[i]));
    if (!request) {
      refused[i] = std::move(request).error();
      continue;
    }
    served.push_back(request->served);
    requests.push_back(std::move(*request));
  }
  auto inside = std::make_shared<bool>(true);  // run() may finish before it returns
  auto finish = [this, alive = alive_, inside, refused = std::move(refused),
                 served = std::move(served),
                 done = std::move(done)](std::vector<WriteOutcome> outcomes) mutable {
    if (!*alive) return;
    std::vector<kube::WriteResult> results;
    results.reserve(refused.size());
    std::size_t next = 0;
    for (std::optional<Error>& error : refused) {
      if (error) {
        results.emplace_back(std::unexpected(std::move(*error)));
        continue;
      }
      CHECK(next < outcomes.size(), "one outcome per request");
      WriteOutcome& outcome = outcomes[next];
      if (outcome.error)
        results.emplace_back(std::unexpected(std::move(*outcome.error)));
      else
        results.emplace_back(to_kube_object(*served[next], outcome.item));
      ++next;
    }
    if (!*inside) return done(std::move(results));
    deliver([results = std::move(results), done = std::move(done)]() mutable {
      done(std::move(results));
    });
  };
  writes_.run(std::move(requests), executor_, std::move(finish));
  *inside = false;
}

}  // namespace hekla::apiserver
