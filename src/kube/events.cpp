#include "kube/events.h"

#include <algorithm>
#include <deque>
#include <list>
#include <unordered_map>

#include "base/bytes.h"
#include "base/log.h"
#include "model/time.h"

namespace hekla::kube {
namespace {

// A burst of ten thousand bindings tells of each.
constexpr std::size_t kWaitingLimit = 16384;
constexpr std::size_t kKnownLimit = 4096;
constexpr std::size_t kSimilarMax =
    10;                        // messages of one target and reason, then they are combined
constexpr double kBurst = 25;  // events of one target and type
constexpr Nanos kRefill = std::chrono::minutes(5);  // for one more
constexpr std::size_t kBatchLimit = 256;
constexpr auto kWindow = std::chrono::minutes(10);

struct Known {
  std::string name;  // of the Event object
  std::int64_t count = 0;
  WallTime last;
};

// The different messages of late, by their hashes.
struct Similar {
  std::vector<std::size_t> messages;
  WallTime last;
};

struct Bucket {
  double tokens = kBurst;
  WallTime at;
};

// Forgets what was not asked for longest.
template <class V>
class Recent {
 public:
  V& operator[](const std::string& key) {
    if (auto found = index_.find(key); found != index_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return found->second->second;
    }
    if (index_.size() >= kKnownLimit) {
      index_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, V{});
    index_.emplace(order_.front().first, order_.begin());
    return order_.front().second;
  }
  void erase(const std::string& key) {
    auto found = index_.find(key);
    if (found == index_.end()) return;
    auto entry = found->second;
    index_.erase(found);
    order_.erase(entry);
  }

 private:
  std::list<std::pair<std::string, V>> order_;
  std::unordered_map<std::string_view, typename std::list<std::pair<std::string, V>>::iterator>
      index_;
};

struct Waiting {
  std::string identity;
  Key key;
  EventTarget target;
  std::string type, reason, message;
  std::int64_t count = 1;
  WallTime last;
  bool create = true;
};

std::string hex(std::uint64_t number) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[number & 15]);
    number >>= 4;
  } while (number != 0);
  return text;
}

}  // namespace

struct EventRecorder::State : std::enable_shared_from_this<State> {
  Client& client;
  std::string component, host;
  Recent<Known> known;
  Recent<Similar> similar;
  Recent<Bucket> buckets;
  std::deque<Waiting> waiting;
  bool sending = false;

  State(Client& c, std::string comp, std::string h)
      : client(c), component(std::move(comp)), host(std::move(h)) {}

  void record(const EventTarget& target, const std::string& type, const std::string& reason,
              std::string message) {
    const WallTime now = client.executor().clock().wall();
    const std::string object = target.kind + "\n" + target.ns + "\n" + target.name + "\n" +
                               target.uid + "\n" + target.api_version + "\n" + type;
    std::string identity = object + "\n" + reason;
    if (combines(identity, message, now))
      message = "(combined from similar events): " + message;
    else
      identity += "\n" + message;
    Known& one = known[identity];
    const bool again = one.count > 0 && now - one.last < kWindow;
    if (!again) {
      one.name =
          target.name + "." + hex(static_cast<std::uint64_t>(now.time_since_epoch().count()));
      one.count = 0;
    }
    ++one.count;
    one.last = now;
    if (floods(object, now)) {
      if (!again) one.count = 0;  // there is nothing to count on
      return;
    }
    std::string ns = target.ns.empty() ? "default" : target.ns;
    push(Waiting{std::move(identity), Key{std::move(ns), one.name}, target, type, reason,
                 std::move(message), one.count, now, !again});
    send();
  }

  bool combines(const std::string& group, const std::string& message, WallTime now) {
    Similar& of = similar[group];
    if (now - of.last > kWindow) of.messages.clear();
    of.last = now;
    const std::size_t hash = std::hash<std::string>{}(message);
    if (std::find(of.messages.begin(), of.messages.end(), hash) == of.messages.end())
      of.messages.push_back(hash);
    if (of.messages.size() < kSimilarMax) return false;
    of.messages.pop_back();
    return true;
  }

  bool floods(const std::string& object, WallTime now) {
    Bucket& bucket = buckets[object];
    const double gained =
        std::chrono::duration<double>(now - bucket.at) / std::chrono::duration<double>(kRefill);
    bucket.tokens = std::min(kBurst, bucket.tokens + std::max(gained, 0.0));
    bucket.at = now;
    if (bucket.tokens < 1) return true;
    bucket.tokens -= 1;
    return false;
  }

  json::Value event_object(const Waiting& one) const {
    const EventTarget& target = one.target;
    std::string stamp = model::format_rfc3339(one.last);
    json::Object involved{
        {"kind", target.kind}, {"apiVersion", target.api_version}, {"name", target.name}};
    if (!target.ns.empty()) involved["namespace"] = target.ns;
    if (!target.uid.empty()) involved["uid"] = target.uid;
    if (target.resource_version)
      involved["resourceVersion"] = std::to_string(target.resource_version);
    json::Object source{{"component", component}};
    if (!host.empty()) source["host"] = host;
    return json::Object{
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata", json::Object{{"name", one.key.name}, {"namespace", one.key.ns}}},
        {"involvedObject", std::move(involved)},
        {"reason", one.reason},
        {"message", one.message},
        {"source", std::move(source)},
        {"firstTimestamp", stamp},
        {"lastTimestamp", stamp},
        {"count", 1},
        {"type", one.type},
        {"eventTime", nullptr},
        {"reportingComponent", component},
        {"reportingInstance", host}};
  }

  void push(Waiting one) {
    // A count that has not gone out yet is only raised further.
    if (!one.create)
      for (Waiting& other : waiting)
        if (!other.create && other.identity == one.identity) {
          other.message = std::move(one.message);
          other.count = one.count;
          other.last = one.last;
          return;
        }
    if (waiting.size() >= kWaitingLimit) waiting.pop_front();
    waiting.push_back(std::move(one));
  }

  void send() {
    if (sending || waiting.empty()) return;
    sending = true;
    std::vector<Write> writes;
    auto sent = std::make_shared<std::vector<std::string>>();
    while (!waiting.empty() && writes.size() < kBatchLimit) {
      Waiting one = std::move(waiting.front());
      waiting.pop_front();
      Write write;
      write.resource = resources::events;
      write.key = one.key;
      if (one.create) {
        write.verb = Write::Verb::create;
        write.body = event_object(one);
      } else {
        write.verb = Write::Verb::patch;
        write.patch_type = PatchType::merge;
        write.body = json::Object{{"count", one.count},
                                  {"lastTimestamp", model::format_rfc3339(one.last)},
                                  {"message", one.message}};
      }
      sent->push_back(std::move(one.identity));
      writes.push_back(std::move(write));
    }
    client.batch(std::move(writes), [weak = weak_from_this(),
                                     sent](const std::vector<WriteResult>& results) {
      auto self = weak.lock();
      if (!self) return;
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i]) continue;
        // Gone (its namespace ended, or the event expired): the next occurrence makes a new one.
        self->known.erase((*sent)[i]);
        log_debug("kube", "an event was not written", {{"error", results[i].error().message}});
      }
      self->sending = false;
      self->send();
    });
  }
};

EventRecorder::EventRecorder(Client& client, std::string component, std::string host)
    : state_(std::make_shared<State>(client, std::move(component), std::move(host))) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(const EventTarget& target, const std::string& type,
                           const std::string& reason, const std::string& message) {
  state_->record(target, type, reason, message);
}

}  // namespace hekla::kube
