#include "apiserver/server/self_reconciler.h"

#include <atomic>

namespace hekla::apiserver {

struct SelfReconciler::State : std::enable_shared_from_this<State> {
  store::Store& store;
  Registry& registry;
  Writes& writes;
  Executor& loop;
  ReconcileRule rule;
  std::atomic<bool> scheduled{false};
  bool ended = false;
  bool timed = false;  // a look is due after some time
  std::vector<std::unique_ptr<store::Store::Subscription>> subscriptions;

  State(store::Store& s, Registry& r, Writes& w, Executor& l, ReconcileRule u)
      : store(s), registry(r), writes(w), loop(l), rule(std::move(u)) {}

  // Any thread.
  void wake() {
    if (scheduled.exchange(true)) return;
    loop.post([weak = weak_from_this()] {
      std::shared_ptr<State> self = weak.lock();
      if (!self || self->ended) return;
      self->scheduled = false;
      self->look();
    });
  }
  void wake_after(Nanos delay) {
    if (std::exchange(timed, true)) return;
    loop.post_after(delay, [weak = weak_from_this()] {
      std::shared_ptr<State> self = weak.lock();
      if (!self || self->ended) return;
      self->timed = false;
      self->wake();
    });
  }

  void look() {
    std::vector<WriteRequest> requests =
        rule.look(*registry.catalog(), store.snapshot(), loop.clock().wall());
    for (WriteRequest& request : requests) request.field_manager = rule.manager;
    // A change made by the write, or the one that made it fail, wakes this again.
    if (!requests.empty()) writes.run(std::move(requests), loop, [](std::vector<WriteOutcome>) {});
    if (rule.again)
      if (std::optional<Nanos> delay = rule.again()) wake_after(*delay);
  }
};

SelfReconciler::SelfReconciler(store::Store& store, Registry& registry, Writes& writes,
                               Executor& loop, ReconcileRule rule)
    : state_(std::make_shared<State>(store, registry, writes, loop, std::move(rule))) {}

SelfReconciler::~SelfReconciler() {
  state_->ended = true;
  state_->subscriptions.clear();
}

void SelfReconciler::start() {
  auto wake = [weak = std::weak_ptr<State>(state_)] {
    if (std::shared_ptr<State> self = weak.lock()) self->wake();
  };
  for (const kube::Resource& kind : state_->rule.kinds) {
    const ServedPtr served = state_->registry.catalog()->find(kind);
    state_->subscriptions.push_back(state_->store.subscribe(served->bucket, wake));
  }
  state_->registry.on_change(state_->loop, wake);
  state_->wake();
}

WriteRequest own_write(ServedPtr served, std::string name) {
  WriteRequest request;
  request.served = std::move(served);
  request.key = {"", std::move(name)};
  request.user = {"system:apiserver", "", {"system:masters"}};
  return request;
}

bool has_condition_like(const json::Value& object, const json::Value& wanted, const char* field) {
  const json::Array* conditions = json::array_at(object, {"status", "conditions"});
  if (!conditions) return false;
  for (const json::Value& one : *conditions)
    if (json::string_at(one, {"type"}) == json::string_at(wanted, {"type"}))
      return json::string_at(one, {"status"}) == json::string_at(wanted, {"status"}) &&
             json::string_at(one, {field}) == json::string_at(wanted, {field});
  return false;
}

}  // namespace hekla::apiserver
