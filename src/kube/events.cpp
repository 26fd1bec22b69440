#include "kube/events.h"

#include <deque>
#include <unordered_map>

#include "base/bytes.h"
#include "base/log.h"
#include "model/time.h"

namespace hekla::kube {
namespace {

constexpr std::size_t kWaitingLimit = 4096;
constexpr std::size_t kKnownLimit = 4096;
constexpr std::size_t kBatchLimit = 256;
constexpr auto kWindow = std::chrono::minutes(10);

struct Known {
  std::string name;  // of the Event object
  std::int64_t count = 1;
  WallTime last;
};

struct Waiting {
  std::string identity;
  Key key;
  json::Value body;  // of a create
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
  std::unordered_map<std::string, Known> known;
  std::deque<Waiting> waiting;
  bool sending = false;

  State(Client& c, std::string comp, std::string h)
      : client(c), component(std::move(comp)), host(std::move(h)) {}

  void record(const EventTarget& target, const std::string& type, const std::string& reason,
              const std::string& message) {
    WallTime now = client.executor().clock().wall();
    std::string identity = target.kind + "\n" + target.ns + "\n" + target.name + "\n" + target.uid +
                           "\n" + type + "\n" + reason + "\n" + message;
    std::string ns = target.ns.empty() ? "default" : target.ns;
    auto found = known.find(identity);
    if (found != known.end() && now - found->second.last < kWindow) {
      found->second.count++;
      found->second.last = now;
      push(
          Waiting{identity, Key{ns, found->second.name}, nullptr, found->second.count, now, false});
    } else {
      if (known.size() >= kKnownLimit) known.clear();
      std::string name =
          target.name + "." + hex(static_cast<std::uint64_t>(now.time_since_epoch().count()));
      known[identity] = Known{name, 1, now};
      push(Waiting{identity, Key{ns, name},
                   event_object(target, ns, name, type, reason, message, now), 1, now, true});
    }
    send();
  }

  json::Value event_object(const EventTarget& target, const std::string& ns,
                           const std::string& name, const std::string& type,
                           const std::string& reason, const std::string& message,
                           WallTime now) const {
    std::string stamp = model::format_rfc3339(now);
    json::Object involved{
        {"kind", target.kind}, {"apiVersion", target.api_version}, {"name", target.name}};
    if (!target.ns.empty()) involved["namespace"] = target.ns;
    if (!target.uid.empty()) involved["uid"] = target.uid;
    if (target.resource_version)
      involved["resourceVersion"] = std::to_string(target.resource_version);
    json::Object source{{"component", component}};
    if (!host.empty()) source["host"] = host;
    return json::Object{{"apiVersion", "v1"},
                        {"kind", "Event"},
                        {"metadata", json::Object{{"name", name}, {"namespace", ns}}},
                        {"involvedObject", std::move(involved)},
                        {"reason", reason},
                        {"message", message},
                        {"source", std::move(source)},
                        {"firstTimestamp", stamp},
                        {"lastTimestamp", stamp},
                        {"count", 1},
                        {"type", type},
                        {"eventTime", nullptr},
                        {"reportingComponent", component},
                        {"reportingInstance", host}};
  }

  void push(Waiting one) {
    // A count that has not gone out yet is only raised further.
    if (!one.create)
      for (Waiting& other : waiting)
        if (!other.create && other.identity == one.identity) {
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
        write.body = std::move(one.body);
      } else {
        write.verb = Write::Verb::patch;
        write.patch_type = PatchType::merge;
        write.body =
            json::Object{{"count", one.count}, {"lastTimestamp", model::format_rfc3339(one.last)}};
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
