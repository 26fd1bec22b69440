// The queue controller: keeps each queue's state, carries out open and close commands, and hands
// them on to the queues below. Of the status it writes the state alone; the scheduler writes what
// is allocated.
#pragma once

#include <deque>
#include <map>

#include "controllers/volcano/caches.h"
#include "controllers/volcano/queue/queue_state.h"
#include "kube/events.h"
#include "kube/reconcile.h"

namespace hekla::controllers {

// Lives on the client's executor.
class QueueController {
 public:
  // The queues `root` and `default` are made by the scheduler.
  QueueController(Caches& caches, kube::EventRecorder& events, int max_requeue);
  void enable() { loop_.enable(); }
  // A bus command for a queue; it is gone from the API already.
  void command(const model::Command& command);

 private:
  using QueueRef = std::shared_ptr<const model::Queue>;
  void queue_changed(const QueueRef& before, const QueueRef& after);
  void add(const std::string& queue) { loop_.add(kube::Key{"", queue}); }
  kube::Round reconcile(const std::string& name);
  void gave_up(const std::string& name, int failures, const Error& error);
  void record(const model::Queue& queue, const EventText& event);

  Caches& caches_;
  kube::EventRecorder& events_;
  const int max_requeue_;
  std::map<std::string, std::deque<QueueAction>> requests_;
  kube::ReconcileLoop loop_;
};

}  // namespace hekla::controllers
