#include "kube/reconcile.h"

#include <deque>
#include <exception>
#include <map>
#include <set>

#include "base/check.h"
#include "base/log.h"
#include "kube/cache_set.h"

namespace hekla::kube {

struct ReconcileLoop::State : std::enable_shared_from_this<State> {
  Client& client;
  ReconcileOptions options;
  Reconcile reconcile;
  Overlay overlay;
  bool enabled = false;
  bool pump_posted = false;

  // A key is queued, in flight, or neither; one made dirty in flight runs again afterwards.
  std::deque<Key> queue;
  std::set<Key> queued, in_flight, dirty_in_flight;
  std::map<Key, int> failures;
  // Earliest wake-up already on its way, so that a key asking again and again does not pile up
  // timers.
  std::map<Key, MonoTime> wakeups;

  State(Client& c, ReconcileOptions o, Reconcile r, Overlay v)
      : client(c), options(std::move(o)), reconcile(std::move(r)), overlay(std::move(v)) {}

  void add(const Key& key) {
    if (in_flight.contains(key)) {
      dirty_in_flight.insert(key);
      return;
    }
    if (!queued.insert(key).second) return;
    queue.push_back(key);
    schedule_pump();
  }

  void add_after(const Key& key, Nanos delay) {
    MonoTime when = client.executor().clock().mono() + delay;
    auto [wakeup, inserted] = wakeups.try_emplace(key, when);
    if (!inserted && wakeup->second <= when) return;
    wakeup->second = when;
    client.executor().post_after(delay, [weak = weak_from_this(), key, when] {
      auto self = weak.lock();
      if (!self) return;
      auto found = self->wakeups.find(key);
      if (found == self->wakeups.end() || found->second != when)
        return;  // an earlier one took over
      self->wakeups.erase(found);
      self->add(key);
    });
  }

  void schedule_pump() {
    if (!enabled || pump_posted) return;
    pump_posted = true;
    client.executor().post([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->pump();
    });
  }

  void pump() {
    pump_posted = false;
    while (!queue.empty() && static_cast<int>(in_flight.size()) < options.max_rounds_in_flight) {
      Key key = std::move(queue.front());
      queue.pop_front();
      queued.erase(key);
      run(key);
    }
  }

  // An object that makes a reconciler throw is that object's trouble: the others go on, and it is
  // tried again.
  Round guarded(const Key& key) {
    Round round;
    try {
      return reconcile(key, client.executor().clock().wall());
    } catch (const std::exception& thrown) {
      log_error(options.name, "a round has thrown",
                {{"key", key.ns + "/" + key.name}, {"error", thrown.what()}});
      round.error = Error{Code::internal, thrown.what()};
    }
    return round;
  }

  void run(const Key& key) {
    Round round = guarded(key);
    if (round.error) return failed(key, *round.error);
    if (round.again_after) add_after(key, *round.again_after);
    if (round.writes.empty()) {
      failures.erase(key);
      return;
    }
    in_flight.insert(key);
    auto sent = std::make_shared<std::vector<Write>>();
    for (const Write& write : round.writes) sent->push_back(outline(write));
    client.batch(std::move(round.writes),
                 [weak = weak_from_this(), key, sent,
                  settle = std::move(round.settle)](std::vector<WriteResult> results) {
                   if (auto self = weak.lock()) self->finished(key, *sent, settle, results);
                 });
  }

  // Caches ask what was written where, not for the body.
  static Write outline(const Write& write) {
    Write sent;
    sent.verb = write.verb;
    sent.resource = write.resource;
    sent.key = write.key;
    sent.subresource = write.subresource;
    sent.patch_type = write.patch_type;
    return sent;
  }

  void finished(const Key& key, const std::vector<Write>& sent,
                const std::function<Result<void>(const std::vector<WriteResult>&)>& settle,
                const std::vector<WriteResult>& results) {
    CHECK(results.size() == sent.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] && *results[i]) overlay(sent[i], *results[i]);
    Result<void> outcome = settle ? settle(results) : first_error(sent, results);
    in_flight.erase(key);
    bool dirty = dirty_in_flight.erase(key) > 0;
    if (!outcome) {
      failed(key, outcome.error());
    } else {
      failures.erase(key);
      if (dirty) add(key);
    }
    schedule_pump();
  }

  static Result<void> first_error(const std::vector<Write>& sent,
                                  const std::vector<WriteResult>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i]) continue;
      Code code = results[i].error().code;
      if (sent[i].verb == Write::Verb::remove && code == Code::not_found) continue;
      if (sent[i].verb == Write::Verb::create && code == Code::already_exists) continue;
      return std::unexpected(results[i].error());
    }
    return {};
  }

  void failed(const Key& key, const Error& error) {
    int count = ++failures[key];
    Nanos delay = options.retry_base;
    for (int i = 1; i < count && delay < options.retry_limit; ++i) delay *= 2;
    log_debug(options.name, "round failed, will be retried",
              {{"key", key.ns + "/" + key.name},
               {"failures", std::to_string(count)},
               {"error", error.message}});
    if (options.on_failure) options.on_failure(key, count, error);
    add_after(key, std::min(delay, options.retry_limit));
  }
};

ReconcileLoop::ReconcileLoop(Client& client, ReconcileOptions options, Reconcile reconcile,
                             Overlay overlay)
    : state_(std::make_shared<State>(client, std::move(options), std::move(reconcile),
                                     std::move(overlay))) {}

ReconcileLoop::ReconcileLoop(CacheSet& caches, ReconcileOptions options, Reconcile reconcile)
    : ReconcileLoop(caches.client(), std::move(options), std::move(reconcile),
                    [&caches](const Write& write, const ObjectPtr& result) {
                      caches.overlay(write, result);
                    }) {}

ReconcileLoop::~ReconcileLoop() = default;

void ReconcileLoop::add(const Key& key) { state_->add(key); }

void ReconcileLoop::add_after(const Key& key, Nanos delay) { state_->add_after(key, delay); }

void ReconcileLoop::enable() {
  state_->enabled = true;
  if (!state_->queue.empty()) state_->schedule_pump();
}

}  // namespace hekla::kube
