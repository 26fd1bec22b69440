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
const std::string kElastic = "hekla.io/elastic-members";
const std::string kGranted = "hekla.io/granted-members";

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

std::int32_t number_term(const model::ObjectMeta& meta, const std::string& key) {
  const std::string& text = meta.annotation(key);
  if (text.empty()) return 0;
  std::int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  log_warn("scheduler", "an annotation is not a number and is ignored",
           {{"object", meta.ns + "/" + meta.name}, {"annotation", key}, {"value", text}});
  return 0;
}

}  // namespace

void fill_start_terms(const model::Queue& queue, Queue& out) {
  const std::string& strategy = queue.metadata.annotation(kDequeue);
  out.fifo = (strategy.empty() ? queue.spec.dequeueStrategy : strategy) == "fifo";
  out.max_running = number_term(queue.metadata, kMaxRunning);
  out.reserve_after = duration_term(queue.metadata, kReserve, Nanos(0));
}

void fill_start_terms(const model::PodGroup& group, Job& out) {
  out.reserve_after = duration_term(group.metadata, kReserve, Nanos(-1));
  out.estimate = duration_term(group.metadata, kEstimate, Nanos(0));
  out.hold = duration_term(group.metadata, kHold, kDefaultHold);
  out.elastic_members = number_term(group.metadata, kElastic);
  // Until our own word has arrived, the watch knows less than we do.
  if (out.status_writes == 0) out.granted = number_term(group.metadata, kGranted);
}

}  // namespace hekla::scheduler
