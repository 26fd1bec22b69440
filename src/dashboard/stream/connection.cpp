#include "dashboard/stream/connection.h"

#include <charconv>
#include <utility>

#include "json/parse.h"
#include "net/websocket.h"

namespace hekla::dashboard {

namespace {

// Text that came over the wire may have spaces in it: it is read and written anew.
std::string shown(const kube::Object& object) {
  if (object.decoded) return page_object(*object.json);
  Result<json::Value> value = json::parse(*object.json);
  return value ? page_object(json::serialize(*value)) : "{}";
}

char letter(kube::WatchEvent::Type type) {
  switch (type) {
    case kube::WatchEvent::Type::added:
      return 'A';
    case kube::WatchEvent::Type::deleted:
      return 'D';
    default:
      return 'M';
  }
}

// A topic's messages, brought to the connection's loop.
class Sink final : public kube::TopicSink {
 public:
  struct Message {
    bool is_snapshot = false;
    std::vector<std::string> items;
    std::vector<kube::TopicChange> changes;
    std::string cursor;
    std::optional<Error> error;
  };
  using Deliver = std::function<void(Message)>;

  Sink(Executor& loop, Deliver deliver) : loop_(loop), deliver_(std::move(deliver)) {}
  void snapshot(std::vector<std::string> items, std::string cursor) override {
    post({.is_snapshot = true, .items = std::move(items), .cursor = std::move(cursor)});
  }
  void changes(std::vector<kube::TopicChange> changes, std::string cursor) override {
    post({.changes = std::move(changes), .cursor = std::move(cursor)});
  }
  void fail(Error error) override { post({.error = std::move(error)}); }

 private:
  void post(Message message) {
    loop_.post([deliver = deliver_, message = std::move(message)]() mutable {
      deliver(std::move(message));
    });
  }
  Executor& loop_;
  Deliver deliver_;
};

}  // namespace

struct Connection::Subscription {
  StreamRequest request;
  SeenScope scope;
  std::unique_ptr<kube::Watch> watch;
  std::unique_ptr<kube::TopicSubscription> topic;
  bool in_snapshot = false;
  std::vector<std::string> items;  // of the snapshot, those not yet sent from `next` on
  kube::List listed;               // or objects, made into text as they are sent
  std::size_t next = 0;
  struct Change {
    char type = 'M';
    kube::ObjectPtr object;
    std::string text;  // instead of an object
  };
  std::deque<Change> changes;
  std::string cursor;

  std::size_t size() const { return listed.items.size() + items.size(); }
  std::string item(std::size_t at) const {
    return at < listed.items.size() ? shown(*listed.items[at]) : items[at - listed.items.size()];
  }
};

Connection::Connection(std::shared_ptr<StreamShared> shared,
                       std::shared_ptr<net::ResponseWriter> writer, kube::User user)
    : shared_(std::move(shared)), writer_(std::move(writer)), user_(std::move(user)) {}

void Connection::receive(StreamRequest request) {
  if (closed_) return;
  subscriptions_.erase(request.id);
  if (request.op == StreamRequest::Op::subscribe) subscribe(std::move(request));
}

void Connection::subscribe(StreamRequest request) {
  if (subscriptions_.size() >= shared_->limits.subscriptions)
    return refuse(
        request.id,
        {Code::too_many_requests,
         "a page has at most " + std::to_string(shared_->limits.subscriptions) + " subscriptions"});
  auto subscription = std::make_shared<Subscription>();
  subscription->request = std::move(request);
  subscriptions_[subscription->request.id] = subscription;
  subscription->request.topic.empty() ? find_out(subscription) : begin_topic(subscription);
}

void Connection::begin_topic(const Subscribed& subscription) {
  const StreamRequest& request = subscription->request;
  for (const kube::StreamTopic& topic : shared_->topics) {
    if (topic.name != request.topic) continue;
    auto deliver = [weak = weak_from_this(),
                    waiting = std::weak_ptr(subscription)](Sink::Message message) {
      auto self = weak.lock();
      auto held = waiting.lock();
      if (!self || !held || !self->is_current(held)) return;
      if (message.error) return self->refuse(held->request.id, *message.error);
      held->cursor = std::move(message.cursor);
      if (message.is_snapshot) {
        held->changes.clear();
        held->items = std::move(message.items);
        held->next = 0;
        held->in_snapshot = true;
      }
      for (kube::TopicChange& change : message.changes)
        held->changes.push_back(
            {"AMD"[static_cast<int>(change.type)], nullptr, std::move(change.json)});
      self->pump(*held);
    };
    subscription->topic = topic.begin({user_, request.parameters, request.cursor},
                                      std::make_shared<Sink>(shared_->loop, std::move(deliver)));
    return;
  }
  refuse(request.id, {Code::not_found, "there is no topic \"" + request.topic + "\""});
}

// Whether they may, and of what; then the list, or the watch where the cursor says how far the page
// has come. A cursor is for one scope only.
void Connection::find_out(const Subscribed& subscription) {
  const StreamRequest& request = subscription->request;
  find_scope(shared_->client, shared_->authorizer, user_, request.resource, request.ns,
             [self = shared_from_this(), subscription](Result<SeenScope> scope) {
               if (!self->is_current(subscription)) return;
               if (!scope) return self->refuse(subscription->request.id, scope.error());
               subscription->scope = std::move(*scope);
               const std::string& cursor = subscription->request.cursor;
               std::uint64_t from = 0;
               std::from_chars(cursor.data(), cursor.data() + cursor.size(), from);
               if (from > 0 && !subscription->scope.only)
                 self->watch(subscription, from);
               else
                 self->list(subscription);
             });
}

void Connection::list(const Subscribed& subscription) {
  const StreamRequest& request = subscription->request;
  shared_->client.list(request.resource,
                       {subscription->scope.ns, request.label_selector, request.field_selector},
                       [self = shared_from_this(), subscription](Result<kube::List> listed) {
                         if (!self->is_current(subscription)) return;
                         if (!listed) return self->refuse(subscription->request.id, listed.error());
                         std::erase_if(listed->items, [&](const kube::ObjectPtr& object) {
                           return !subscription->scope.has(object->ns);
                         });
                         const std::uint64_t from = listed->resource_version;
                         subscription->listed = std::move(*listed);
                         subscription->next = 0;
                         subscription->in_snapshot = true;
                         subscription->cursor = std::to_string(from);
                         self->watch(subscription, from);
                         self->pump(*subscription);
                       });
}

void Connection::watch(const Subscribed& subscription, std::uint64_t from) {
  const StreamRequest& request = subscription->request;
  auto weak = weak_from_this();
  auto waiting = std::weak_ptr(subscription);
  subscription->watch = shared_->client.watch(
      request.resource,
      {subscription->scope.ns, request.label_selector, request.field_selector, from},
      {.on_events =
           [weak, waiting](std::vector<kube::WatchEvent> events) {
             auto self = weak.lock();
             auto held = waiting.lock();
             if (self && held && self->is_current(held)) self->on_events(held, std::move(events));
           },
       .on_error =
           [weak, waiting](const Error& error) {
             auto self = weak.lock();
             auto held = waiting.lock();
             if (self && held && self->is_current(held)) self->on_watch_error(held, error);
           }});
}

void Connection::on_events(const Subscribed& subscription, std::vector<kube::WatchEvent> events) {
  for (kube::WatchEvent& event : events) {
    subscription->cursor = std::to_string(event.resource_version);
    if (event.object && subscription->scope.has(event.object->ns))
      subscription->changes.push_back({letter(event.type), std::move(event.object), {}});
  }
  if (subscription->changes.size() > shared_->limits.waiting_changes)
    return start_anew(subscription);
  pump(*subscription);
}

// A watch ends when the history is too short, and now and then on a real cluster.
void Connection::on_watch_error(const Subscribed& subscription, const Error& error) {
  if (error.code == Code::forbidden || error.code == Code::not_found)
    return refuse(subscription->request.id, error);
  shared_->loop.post_after(error.code == Code::expired ? Nanos{} : Nanos(std::chrono::seconds(1)),
                           [weak = weak_from_this(), subscription] {
                             auto self = weak.lock();
                             if (self && self->is_current(subscription))
                               self->start_anew(subscription);
                           });
}

void Connection::start_anew(const Subscribed& subscription) {
  send(expired_message(subscription->request.id));
  subscription->watch.reset();
  subscription->changes.clear();
  subscription->listed = {};
  subscription->in_snapshot = false;
  list(subscription);
}

void Connection::refuse(std::int64_t id, const Error& error) {
  send(refused_message(id, error));
  subscriptions_.erase(id);
}

bool Connection::is_current(const Subscribed& subscription) const {
  auto found = subscriptions_.find(subscription->request.id);
  return !closed_ && found != subscriptions_.end() && found->second == subscription;
}

bool Connection::has_room() const {
  return !closed_ && writer_->pending_bytes() < shared_->limits.pending_bytes;
}

void Connection::send(const std::string& text) {
  if (!closed_) writer_->write(net::websocket_frame(net::WebSocketOpcode::text, text));
}

void Connection::pump() {
  for (const auto& [id, subscription] : subscriptions_) pump(*subscription);
}

void Connection::pump(Subscription& subscription) {
  while (has_room()) {
    if (subscription.in_snapshot)
      send_snapshot(subscription);
    else if (!subscription.changes.empty())
      send_changes(subscription);
    else
      return;
  }
}

void Connection::send_snapshot(Subscription& subscription) {
  MessageWriter message(subscription.request.id, "snapshot", "items");
  while (subscription.next < subscription.size() && message.size() < shared_->limits.piece_bytes)
    message.add(subscription.item(subscription.next++));
  if (subscription.next < subscription.size()) return send(std::move(message).finish_with_more());
  subscription.in_snapshot = false;
  subscription.listed = {};
  subscription.items.clear();
  // The cursor of changes that still wait comes with them.
  send(std::move(message).finish_with_cursor(subscription.changes.empty() ? subscription.cursor
                                                                          : ""));
}

void Connection::send_changes(Subscription& subscription) {
  MessageWriter message(subscription.request.id, "changes", "changes");
  while (!subscription.changes.empty() && message.size() < shared_->limits.piece_bytes) {
    const Subscription::Change& change = subscription.changes.front();
    message.add_change(change.type, change.object ? shown(*change.object) : change.text);
    subscription.changes.pop_front();
  }
  send(std::move(message).finish_with_cursor(subscription.changes.empty() ? subscription.cursor
                                                                          : ""));
}

void Connection::keep() {
  if (closed_) return;
  writer_->write(net::websocket_frame(net::WebSocketOpcode::ping, ""));
  for (const auto& [id, subscription] : subscriptions_) {
    if (!subscription->request.topic.empty()) continue;
    find_scope(shared_->client, shared_->authorizer, user_, subscription->request.resource,
               subscription->request.ns,
               [self = shared_from_this(), subscription](const Result<SeenScope>& scope) {
                 if (!self->is_current(subscription)) return;
                 if (!scope && scope.error().code == Code::forbidden)
                   return self->refuse(subscription->request.id, scope.error());
                 if (!scope || *scope == subscription->scope) return;
                 subscription->scope = *scope;
                 self->start_anew(subscription);
               });
  }
  shared_->loop.post_after(shared_->limits.ask_again, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->keep();
  });
}

void Connection::close() {
  closed_ = true;
  subscriptions_.clear();
}

}  // namespace hekla::dashboard
