#include "apiserver/request/flow_limits.h"

#include <cmath>

#include "apiserver/auth/auth.h"
#include "apiserver/text/errors.h"
#include "base/check.h"

namespace hekla::apiserver {

namespace {

constexpr double kMemory = 1.0;  // seconds after which use counts for a third
constexpr Nanos kSweepPeriod = std::chrono::seconds(10);
constexpr double kForgotten = 1e-4;  // of a second: a flow that used less lately takes no part

double seconds(Nanos time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

class FlowLimits::Ticket {
 public:
  Ticket(std::shared_ptr<FlowLimits> limits, std::string flow, bool stream)
      : limits_(std::move(limits)), flow_(std::move(flow)), stream_(stream) {}
  ~Ticket() { limits_->release(flow_, stream_); }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

 private:
  const std::shared_ptr<FlowLimits> limits_;
  const std::string flow_;
  const bool stream_;
};

Result<std::shared_ptr<FlowLimits::Ticket>> FlowLimits::admit(const kube::UserInfo& user,
                                                              bool stream) {
  const MonoTime now = clock_.mono();
  {
    std::lock_guard lock(mutex_);
    if (now - swept_ > kSweepPeriod) sweep(now);
    Flow& flow = flows_[user.name];
    fade(flow, now);
    const bool full =
        stream ? all_.streams >= options_.streams || flow.streams >= options_.streams_per_flow
               : all_.requests >= options_.requests ||
                     flow.requests >= options_.requests_per_flow || takes_too_much(flow, now);
    if (full && !in_group(user, "system:masters")) return std::unexpected(too_busy_error());
    for (Flow* one : {&flow, &all_}) ++(stream ? one->streams : one->requests);
  }
  return std::make_shared<Ticket>(shared_from_this(), user.name, stream);
}

void FlowLimits::spent(const std::string& name, Nanos time) {
  const MonoTime now = clock_.mono();
  std::lock_guard lock(mutex_);
  for (Flow* one : {&flows_[name], &all_}) {
    fade(*one, now);
    one->busy += seconds(time);
  }
}

void FlowLimits::release(const std::string& name, bool stream) {
  std::lock_guard lock(mutex_);
  for (Flow* one : {&flows_[name], &all_}) {
    auto& held = stream ? one->streams : one->requests;
    CHECK(held > 0, "a place is given back once");
    --held;
  }
}

void FlowLimits::fade(Flow& flow, MonoTime now) const {
  if (flow.busy > 0) flow.busy *= std::exp(-seconds(now - flow.at) / kMemory);
  flow.at = now;
}

// Full use of all threads settles at threads * kMemory seconds.
bool FlowLimits::takes_too_much(Flow& flow, MonoTime now) {
  fade(all_, now);
  const double capacity = options_.threads * kMemory;
  if (all_.busy < capacity * options_.busy_share) return false;
  std::size_t users = 0;
  for (auto& [name, one] : flows_) {
    fade(one, now);
    users += one.busy > kForgotten || one.requests > 0 ? 1 : 0;
  }
  return users > 1 && flow.busy > capacity * options_.generosity / static_cast<double>(users);
}

void FlowLimits::sweep(MonoTime now) {
  swept_ = now;
  std::erase_if(flows_, [&](const auto& entry) {
    Flow flow = entry.second;
    fade(flow, now);
    return flow.requests == 0 && flow.streams == 0 && flow.busy < kForgotten;
  });
}

}  // namespace hekla::apiserver
