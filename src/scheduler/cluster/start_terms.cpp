#include "scheduler/cluster/start_terms.h"

#include <charconv>

#include "base/log.h"
#include "model/time.h"

namespace hekla::scheduler {

namespace {

const std::string kDequeue = "hekla.io/dequeue-strategy";
const std::string kMaxRunning = "hekla.io/max-running-jobs";
const std::string kReserve = "hekla.io/reserve-after";
const std::string kEstimate = "hekla.io/running-estimate";
const std::string kHold = "hekla.io/hold-room";

// A value that cannot be read is said and ignored: an annotation must not stop a queue.
Nanos duration_term(const model::ObjectMeta& meta, const std::string& key, Nanos otherwise) {
  const std::string& text = meta.annotation(key);
  if (text.empty()) return otherwise;
  if (Result<Nanos> parsed = model::parse_go_duration(text); parsed && parsed->count() >= 0)
    return *parsed;
  log_warn("scheduler", "an annotation is not a duration and is ignored",
           {{"object", meta.ns + "/" + meta.name}, {"annotation", key}, {"value", text}});
  return otherwise;
}

}  // namespace

void fill_start_terms(const model::Queue& queue, Queue& out) {
  const std::string& strategy = queue.metadata.annotation(kDequeue);
  out.fifo = (strategy.empty() ? queue.spec.dequeueStrategy : strategy) == "fifo";
  out.max_running = 0;
  if (const std::string& text = queue.metadata.annotation(kMaxRunning); !text.empty()) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.max_running);
    if (error != std::errc() || end != text.data() + text.size() || out.max_running < 0) {
      out.max_running = 0;
      log_warn("scheduler", "an annotation is not a number and is ignored",
               {{"queue", queue.metadata.name}, {"annotation", kMaxRunning}, {"value", text}});
    }
  }
  out.reserve_after = duration_term(queue.metadata, kReserve, Nanos(0));
}

void fill_start_terms(const model::PodGroup& group, Job& out) {
  out.reserve_after = duration_term(group.metadata, kReserve, Nanos(-1));
  out.estimate = duration_term(group.metadata, kEstimate, Nanos(0));
  out.hold = duration_term(group.metadata, kHold, kDefaultHold);
}

}  // namespace hekla::scheduler
