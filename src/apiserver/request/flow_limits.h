// Fair use: one client's noise must not starve the others. Every user is a flow of its own. While
// the server has time to spare nobody is limited; when it has not, a flow that takes more than its
// share is told to come again (429). Requests that last (watches, logs, exec) hold no such share:
// they are only counted, per flow and in all.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/admission.h"

namespace hekla::apiserver {

struct FlowOptions {
  std::size_t requests = 4096, requests_per_flow = 1024;  // being answered at the same time
  std::size_t streams = 8192, streams_per_flow = 2048;
  int threads = 2;           // that answer requests
  double busy_share = 0.75;  // of the threads' time: beyond, shares count
  double generosity = 1.25;  // a flow may take so much more than its share
};

// Thread-safe.
class FlowLimits : public std::enable_shared_from_this<FlowLimits> {
 public:
  FlowLimits(FlowOptions options, const Clock& clock) : options_(options), clock_(clock) {}

  // Held by a request while it is being answered, and perhaps longer than the server lives.
  class Ticket;
  // too_many_requests when it is to come again. Members of system:masters are never refused, as
  // upstream exempts them.
  Result<std::shared_ptr<Ticket>> admit(const kube::UserInfo& user, bool stream);
  // The time a thread has given to a flow.
  void spent(const std::string& flow, Nanos time);

 private:
  struct Flow {
    std::size_t requests = 0, streams = 0;
    double busy = 0;  // seconds of thread time, fading with kMemory
    MonoTime at;      // of `busy`
  };
  void release(const std::string& name, bool stream);
  void fade(Flow& flow, MonoTime now) const;
  bool takes_too_much(Flow& flow, MonoTime now);
  void sweep(MonoTime now);

  const FlowOptions options_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Flow> flows_;
  Flow all_;
  MonoTime swept_{};
};

}  // namespace hekla::apiserver
