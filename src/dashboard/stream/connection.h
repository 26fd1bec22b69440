// One page's connection and its subscriptions. Lives on the dashboard's loop.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dashboard/stream/message.h"
#include "dashboard/stream/scope.h"
#include "dashboard/stream/shared.h"
#include "net/http.h"

namespace hekla::dashboard {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<StreamShared> shared, std::shared_ptr<net::ResponseWriter> writer,
             kube::User user);

  void receive(StreamRequest request);
  // The page has taken what it was sent.
  void pump();
  void close();
  // Asks again, from time to time, whether the visitor still may, and says that it is there.
  void keep();

 private:
  struct Subscription;
  using Subscribed = std::shared_ptr<Subscription>;

  void subscribe(StreamRequest request);
  void begin_topic(const Subscribed& subscription);
  void find_out(const Subscribed& subscription);
  void list(const Subscribed& subscription);
  void watch(const Subscribed& subscription, std::uint64_t from);
  void on_events(const Subscribed& subscription, std::vector<kube::WatchEvent> events);
  void on_watch_error(const Subscribed& subscription, const Error& error);
  void start_anew(const Subscribed& subscription);
  void refuse(std::int64_t id, const Error& error);
  void pump(Subscription& subscription);
  void send_snapshot(Subscription& subscription);
  void send_changes(Subscription& subscription);
  bool has_room() const;
  void send(const std::string& text);
  bool is_current(const Subscribed& subscription) const;

  std::shared_ptr<StreamShared> shared_;
  std::shared_ptr<net::ResponseWriter> writer_;
  kube::User user_;
  std::map<std::int64_t, Subscribed> subscriptions_;
  bool closed_ = false;
};

}  // namespace hekla::dashboard
