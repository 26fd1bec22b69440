#include "controllers/cluster/event_expiry.h"

#include <algorithm>

#include "controllers/vocabulary.h"
#include "model/meta.h"

namespace hekla::controllers {
namespace {

constexpr Nanos kSweep = std::chrono::minutes(1);

struct EventSeries {
  model::Time lastObservedTime;
};
BOOST_DESCRIBE_STRUCT(EventSeries, (), (lastObservedTime))
struct EventTimes {
  model::ObjectMeta metadata;
  model::Time lastTimestamp;
  std::optional<EventSeries> series;
};
BOOST_DESCRIBE_STRUCT(EventTimes, (), (metadata, lastTimestamp, series))

// When it was last heard of; who writes events.k8s.io has a series, not a last timestamp.
std::optional<WallTime> last_seen(const EventTimes& event) {
  std::optional<WallTime> last = event.metadata.creationTimestamp.at;
  last = std::max(last, event.lastTimestamp.at);
  if (event.series) last = std::max(last, event.series->lastObservedTime.at);
  return last;
}

}  // namespace

// No cache: a list once a minute costs less than following every event of a busy platform.
struct EventExpiry::State : std::enable_shared_from_this<State> {
  kube::Client& client;
  Nanos time_to_live;

  State(kube::Client& c, Nanos ttl) : client(c), time_to_live(ttl) {}

  void sweep_later() {
    client.executor().post_after(kSweep, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->sweep();
    });
  }

  void sweep() {
    client.list(kube::resources::events, {},
                [weak = weak_from_this()](const Result<kube::List>& list) {
                  auto self = weak.lock();
                  if (!self) return;
                  if (list) self->remove_old(*list);
                  self->sweep_later();
                });
  }

  void remove_old(const kube::List& list) {
    WallTime now = client.executor().clock().wall();
    std::vector<kube::Write> removals;
    for (const kube::ObjectPtr& object : list.items) {
      Result<EventTimes> event = json::decode_text<EventTimes>(*object->json);
      if (!event) continue;
      std::optional<WallTime> last = last_seen(*event);
      if (last && now - *last > time_to_live)
        removals.push_back(
            remove(kube::resources::events, {object->ns, object->name}, object->uid));
    }
    if (!removals.empty())
      client.batch(std::move(removals), [](const std::vector<kube::WriteResult>&) {});
  }
};

EventExpiry::EventExpiry(kube::Client& client, Nanos time_to_live)
    : state_(std::make_shared<State>(client, time_to_live)) {}

EventExpiry::~EventExpiry() = default;

void EventExpiry::start() { state_->sweep_later(); }

}  // namespace hekla::controllers
