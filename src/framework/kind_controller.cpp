#include "framework/kind_controller.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "framework/claims.h"
#include "framework/held.h"
#include "framework/round_plan.h"
#include "framework/writes.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::framework {
namespace {

bool bears(const model::ObjectMeta& object, const std::string& finalizer) {
  return std::find(object.finalizers.begin(), object.finalizers.end(), finalizer) !=
         object.finalizers.end();
}

}  // namespace

struct KindController::State : std::enable_shared_from_this<State> {
  const KindDescription kind;
  kube::CacheSet& caches;
  std::unique_ptr<Held> objects;
  std::vector<OwnedCache> owned;
  kube::EventRecorder recorder;
  // Of objects whose last creation of children was refused.
  std::map<kube::Key, std::string> refusals;
  // How the server writes what was applied, by owner.
  std::map<kube::Key, AppliedForms> applied;
  kube::ReconcileLoop loop;

  State(kube::CacheSet& set, KindDescription description)
      : kind(std::move(description)),
        caches(set),
        objects((kind.hold ? kind.hold : held_by_default)(set, kind.resource, kind.optional)),
        recorder(set.client(), kind.event_source.empty() ? kind.name : kind.event_source),
        loop(set, loop_options(),
             [this](const kube::Key& key, WallTime now) { return round(key, now); }) {
    CHECK(kind.reconcile, "a kind has a reconcile function");
    CHECK(kind.finalizer.empty() == !kind.finalize, "a finalizer and its function go together");
    for (const OwnedKind& one : kind.owns)
      owned.push_back(
          {&one, (one.hold ? one.hold : held_by_default)(set, one.resource, one.optional)});
  }

  kube::ReconcileOptions loop_options() {
    kube::ReconcileOptions options{.name = kind.name};
    if (!kind.failing) return options;
    options.on_failure = [this](const kube::Key& key, int failures, const Error& error) {
      if (failures < kind.failing_after) return;
      if (auto object = objects->get(key))
        say(*object, filled(*kind.failing, {.owner = key.name,
                                            .owner_kind = kind.resource.kind,
                                            .ns = key.ns,
                                            .error = error.message}));
    };
    return options;
  }

  // Before the caches start.
  void attach() {
    auto weak = weak_from_this();
    objects->on_change([weak](const model::ObjectMeta* before, const AnyObject* before_all,
                              const model::ObjectMeta* after, const AnyObject* after_all) {
      if (auto self = weak.lock()) self->object_changed(before, before_all, after, after_all);
    });
    for (const OwnedCache& one : owned)
      if (one.kind->wakes)
        one.cache->on_change(
            [weak, owned = one.kind](const model::ObjectMeta* before, const AnyObject*,
                                     const model::ObjectMeta* after, const AnyObject*) {
              auto self = weak.lock();
              if (!self) return;
              for (const kube::Key& key :
                   owners_concerned(self->kind, *self->objects, *owned, before, after))
                self->loop.add(key);
            });
    for (const Follow& one : kind.follows) one.attach(caches, wake());
    caches.on_synced([weak] {
      if (auto self = weak.lock()) self->loop.enable();
    });
  }

  Wake wake() {
    return Wake(
        [weak = weak_from_this()](const kube::Key& key, Nanos delay) {
          auto self = weak.lock();
          if (!self) return;
          if (delay == Nanos(0))
            self->loop.add(key);
          else
            self->loop.add_after(key, delay);
        },
        [weak = weak_from_this()](const std::string* ns) {
          auto self = weak.lock();
          if (!self) return;
          for (const kube::Key& key : self->objects->keys(ns)) self->loop.add(key);
        });
  }

  void object_changed(const model::ObjectMeta* before, const AnyObject* before_all,
                      const model::ObjectMeta* after, const AnyObject* after_all) {
    if (kind.observe && objects->is_whole()) kind.observe(before_all, after_all);
    if (!after) {  // to be forgotten
      if (refusals.contains(key_of(*before)) || applied.contains(key_of(*before)))
        loop.add(key_of(*before));
      return;
    }
    if (!kind.wakes_itself) return;
    if (kind.concerns && after_all && !kind.concerns(before_all, *after_all)) return;
    loop.add(key_of(*after));
  }

  void say(const model::ObjectMeta& object, const EventText& text) {
    recorder.record(
        {kind.resource.api_version(), kind.resource.kind, object.ns, object.name, object.uid},
        text.type, text.reason, text.message);
  }

  void say(const model::ObjectMeta& object, const Event& event) {
    if (!event.about) return say(object, event.text);
    recorder.record(*event.about, event.text.type, event.text.reason, event.text.message);
  }

  kube::Round round(const kube::Key& key, WallTime now) {
    kube::Round round;
    AnyRef object = objects->whole(key);
    if (!object) {
      refusals.erase(key);
      applied.erase(key);
      return round;
    }
    const bool terminating = bool(object->metadata.deletionTimestamp);
    const bool finalizing =
        terminating && !kind.finalizer.empty() && bears(object->metadata, kind.finalizer);
    if (terminating && !finalizing && !kind.reconcile_terminating) return round;
    if (!terminating && !kind.finalizer.empty() && !bears(object->metadata, kind.finalizer)) {
      round.writes.push_back(finalizer_write(kind, object->metadata, true));
      return round;
    }
    RoundPlan plan(kind, owned, *object);
    const std::map<std::string, View::Claims>& claims = plan.claim_children();
    auto refusal = refusals.find(key);
    const std::string* refused = refusal == refusals.end() ? nullptr : &refusal->second;
    const View view(caches, object->metadata, now, refused, claims);
    Result<Outcome> outcome = (finalizing ? kind.finalize : kind.reconcile)(*object, view);
    if (!outcome) {
      round.error = outcome.error();
      return round;
    }
    plan.carry_out(*outcome, caches, finalizing, refused != nullptr, applied[key]);
    for (const Event& event : plan.events) say(object->metadata, event);
    round.again_after = outcome->again_after;
    if (plan.steps.empty()) {
      round.error = plan.failure;
      return round;
    }
    auto sent = std::make_shared<std::vector<Step>>();
    for (Step& step : plan.steps) {
      round.writes.push_back(std::move(step.write));
      step.write = {};
      sent->push_back(std::move(step));
    }
    round.settle = [this, object, sent, failure = plan.failure,
                    with_status = std::move(plan.events_with_status)](
                       const std::vector<kube::WriteResult>& results) {
      return settle(*object, *sent, results, failure, with_status);
    };
    return round;
  }

  Result<void> settle(const AnyObject& object, const std::vector<Step>& sent,
                      const std::vector<kube::WriteResult>& results,
                      const std::optional<Error>& failure, const std::vector<Event>& with_status) {
    CHECK(results.size() == sent.size(), "one result per write");
    const kube::Key key = key_of(object.metadata);
    std::optional<Error> first;
    bool tried = false, refused = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Settled settled = settle_step(sent[i], results[i], kind.resource, object.metadata);
      for (const EventText& event : settled.events) say(object.metadata, event);
      tried = tried || sent[i].what == Step::What::create;
      if (settled.refusal) {
        refused = true;
        refusals[key] = *settled.refusal;
      }
      if (settled.error && !first) first = settled.error;
      if (!results[i]) continue;
      if (sent[i].applied_hash != 0) applied[key].note(sent[i], **results[i]);
      if (sent[i].what == Step::What::status)
        for (const Event& event : with_status) say(object.metadata, event);
    }
    if (tried && !refused) refusals.erase(key);
    if (!first) first = failure;
    if (first) return std::unexpected(*first);
    return {};
  }
};

KindController::KindController(kube::CacheSet& caches, KindDescription description)
    : state_(std::make_shared<State>(caches, std::move(description))) {
  state_->attach();
}

KindController::~KindController() = default;

const KindDescription& KindController::description() const { return state_->kind; }

Wake KindController::wake() const { return state_->wake(); }

}  // namespace hekla::framework
