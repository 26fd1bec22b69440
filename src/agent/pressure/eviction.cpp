#include "agent/pressure/eviction.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "model/time.h"

namespace hekla::agent {
namespace {

constexpr std::int32_t kSystemCritical = 2'000'000'000;
constexpr const char* kSignals[] = {"memory.available",  "nodefs.available",   "nodefs.inodesFree",
                                    "imagefs.available", "imagefs.inodesFree", "pid.available"};

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

Result<std::pair<std::string, std::string>> split_at(const std::string& text, char separator,
                                                     const std::string& flag) {
  std::size_t at = text.find(separator);
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return fail(Code::bad_request, flag + ": invalid eviction threshold syntax " + text +
                                       ", expected <signal>" + separator + "<value>");
  std::string signal = text.substr(0, at);
  if (std::ranges::find(kSignals, signal) == std::end(kSignals))
    return fail(Code::bad_request, flag + ": unsupported eviction signal " + signal);
  return std::pair(std::move(signal), text.substr(at + 1));
}

Result<void> parse_amount(const std::string& text, const std::string& flag,
                          EvictionThreshold& out) {
  if (text.ends_with('%')) {
    double percent = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size() - 1, percent);
    if (failed != std::errc{} || end != text.data() + text.size() - 1 || percent < 0 ||
        percent >= 100)
      return fail(Code::bad_request, flag + ": eviction percentage threshold " + out.signal +
                                         " must be >= 0% and < 100%, was " + text);
    out.percent = percent;
    return {};
  }
  Result<model::Quantity> quantity = model::Quantity::parse(text);
  if (!quantity || quantity->value() < 0)
    return fail(Code::bad_request, flag + ": eviction threshold " + out.signal +
                                       " must be a positive value, was " + text);
  out.quantity = quantity->value();
  return {};
}

Result<void> add_thresholds(const std::string& text, bool hard,
                            std::vector<EvictionThreshold>& out) {
  const std::string flag = hard ? "--eviction-hard" : "--eviction-soft";
  for (const std::string& one : split_commas(text)) {
    auto [signal, amount] = TRY(split_at(one, '<', flag));
    EvictionThreshold threshold;
    threshold.signal = signal;
    threshold.hard = hard;
    TRY(parse_amount(amount, flag, threshold));
    if (std::ranges::any_of(out, [&](const auto& other) {
          return other.hard == hard && other.signal == threshold.signal;
        }))
      return fail(Code::bad_request,
                  flag + ": found duplicate eviction threshold for signal " + signal);
    // Zero switches a signal off.
    if (threshold.quantity > 0 || threshold.percent > 0) out.push_back(std::move(threshold));
  }
  return {};
}

std::int64_t requested(const model::Container& container, const char* resource) {
  auto found = container.resources.requests.find(resource);
  return found == container.resources.requests.end() ? 0 : found->second.value();
}

std::int64_t requested(const model::Pod& pod, const char* resource) {
  std::int64_t sum = 0, largest_init = 0;
  for (const model::Container& container : pod.spec.containers)
    sum += requested(container, resource);
  for (const model::Container& container : pod.spec.initContainers)
    largest_init = std::max(largest_init, requested(container, resource));
  return std::max(sum, largest_init);
}

std::string bytes_text(std::int64_t bytes) {
  return model::Quantity::of(bytes, model::Quantity::Format::binary_si).text();
}

std::optional<model::Quantity> size_limit(const json::Value& volume) {
  const json::Value* limit = json::find_path(volume, {"emptyDir", "sizeLimit"});
  if (!limit || limit->is_null()) return std::nullopt;
  Result<model::Quantity> quantity = model::Quantity::from_json(*limit);
  if (!quantity || quantity->value() <= 0) return std::nullopt;
  return *quantity;
}

bool is_memory(const std::string& signal) { return signal == "memory.available"; }
bool is_pids(const std::string& signal) { return signal == "pid.available"; }

bool tolerates(const model::Pod& pod, std::string_view key) {
  return std::ranges::any_of(pod.spec.tolerations, [&](const model::Toleration& one) {
    return (one.key == key || (one.key.empty() && one.op == "Exists")) &&
           (one.effect.empty() || one.effect == "NoSchedule");
  });
}

}  // namespace

std::int64_t EvictionThreshold::value(std::int64_t capacity) const {
  return percent > 0 ? static_cast<std::int64_t>(static_cast<double>(capacity) * percent / 100)
                     : quantity;
}

Result<std::vector<EvictionThreshold>> parse_thresholds(const EvictionFlags& flags) {
  std::vector<EvictionThreshold> out;
  TRY(add_thresholds(flags.hard, true, out));
  TRY(add_thresholds(flags.soft, false, out));
  for (const std::string& one : split_commas(flags.soft_grace_period)) {
    auto [signal, text] = TRY(split_at(one, '=', "--eviction-soft-grace-period"));
    Result<Nanos> grace = model::parse_go_duration(text);
    if (!grace || *grace < Nanos(0))
      return fail(Code::bad_request,
                  "--eviction-soft-grace-period: invalid eviction grace period " + text +
                      " for signal " + signal);
    for (EvictionThreshold& threshold : out)
      if (!threshold.hard && threshold.signal == signal) threshold.grace = *grace;
  }
  for (const EvictionThreshold& threshold : out)
    if (!threshold.hard && threshold.grace == Nanos(0))
      return fail(Code::bad_request,
                  "--eviction-soft-grace-period: grace period must be specified "
                  "for the soft eviction threshold " +
                      threshold.signal);
  for (const std::string& one : split_commas(flags.minimum_reclaim)) {
    auto [signal, text] = TRY(split_at(one, '=', "--eviction-minimum-reclaim"));
    Result<model::Quantity> amount = model::Quantity::parse(text);
    if (!amount || amount->value() < 0)
      return fail(Code::bad_request,
                  "--eviction-minimum-reclaim: invalid amount " + text + " for signal " + signal);
    for (EvictionThreshold& threshold : out)
      if (threshold.signal == signal) threshold.minimum_reclaim = amount->value();
  }
  return out;
}

PressureTracker::Verdict PressureTracker::judge(const NodeReadings& readings, WallTime now) {
  Verdict verdict;
  for (std::size_t i = 0; i < thresholds_.size(); ++i) {
    const EvictionThreshold& threshold = thresholds_[i];
    auto reading = readings.find(threshold.signal);
    if (reading == readings.end()) continue;
    std::int64_t limit = threshold.value(reading->second.capacity);
    if (reclaiming_[i]) limit += threshold.minimum_reclaim;
    if (reading->second.available >= limit) {
      crossed_.erase(i);
      reclaiming_[i] = false;
      continue;
    }
    WallTime since = crossed_.try_emplace(i, now).first->second;
    held_[starved_resource(threshold.signal)] = now;
    if (now - since < threshold.grace) continue;
    reclaiming_[i] = true;
    verdict.met.push_back({threshold, reading->second});
  }
  std::ranges::stable_sort(verdict.met, {},
                           [](const Met& met) { return !is_memory(met.threshold.signal); });
  auto holds = [&](const char* resource) {
    auto last = held_.find(resource);
    return last != held_.end() && (last->second == now || now - last->second < transition_);
  };
  verdict.pressure = {holds("memory"), holds("ephemeral-storage") || holds("inodes"),
                      holds("pids")};
  return verdict;
}

std::string starved_resource(const std::string& signal) {
  if (is_memory(signal)) return "memory";
  if (is_pids(signal)) return "pids";
  return signal.ends_with(".inodesFree") ? "inodes" : "ephemeral-storage";
}

std::int64_t PodUse::memory_bytes() const {
  std::int64_t sum = 0;
  for (const ContainerUse& container : containers) sum += container.memory_bytes;
  return sum;
}

std::int64_t PodUse::disk_bytes() const {
  CHECK(pod, "a use is that of a pod");
  std::int64_t sum = file_bytes;
  for (const ContainerUse& container : containers) sum += container.disk_bytes;
  for (const auto& [name, bytes] : volumes) {
    bool memory = std::ranges::any_of(pod->spec.volumes, [&](const json::Value& volume) {
      return json::string_at(volume, {"name"}) == name &&
             json::string_at(volume, {"emptyDir", "medium"}) == "Memory";
    });
    if (!memory) sum += bytes;
  }
  return sum;
}

bool is_critical(const model::Pod& pod) {
  return pod.spec.priority.value_or(0) >= kSystemCritical ||
         pod.metadata.annotations.contains("kubernetes.io/config.mirror");
}

std::vector<const PodUse*> rank_for_eviction(const std::string& signal,
                                             const std::vector<PodUse>& pods) {
  std::vector<const PodUse*> out;
  for (const PodUse& pod : pods)
    if (!is_critical(*pod.pod)) out.push_back(&pod);
  auto use = [&](const PodUse& pod) {
    if (is_pids(signal)) return pod.processes;
    return is_memory(signal) ? pod.memory_bytes() : pod.disk_bytes();
  };
  auto excess = [&](const PodUse& pod) {
    return use(pod) - requested(*pod.pod, is_memory(signal) ? "memory" : "ephemeral-storage");
  };
  std::ranges::stable_sort(out, [&](const PodUse* a, const PodUse* b) {
    if (!is_pids(signal)) {
      const bool a_exceeds = excess(*a) > 0, b_exceeds = excess(*b) > 0;
      if (a_exceeds != b_exceeds) return a_exceeds;
    }
    const std::int32_t a_priority = a->pod->spec.priority.value_or(0);
    const std::int32_t b_priority = b->pod->spec.priority.value_or(0);
    if (a_priority != b_priority) return a_priority < b_priority;
    return is_pids(signal) ? use(*a) > use(*b) : excess(*a) > excess(*b);
  });
  return out;
}

std::string eviction_message(const PressureTracker::Met& met, const PodUse& victim) {
  const std::string resource = starved_resource(met.threshold.signal);
  std::string out = "The node was low on resource: " + resource + ". ";
  const std::int64_t limit = met.threshold.value(met.reading.capacity);
  const bool bytes = resource == "memory" || resource == "ephemeral-storage";
  auto text = [&](std::int64_t amount) {
    return bytes ? bytes_text(amount) : std::to_string(amount);
  };
  out +=
      "Threshold quantity: " + text(limit) + ", available: " + text(met.reading.available) + ". ";
  if (!bytes) return out;
  for (const ContainerUse& container : victim.containers) {
    auto spec =
        std::ranges::find(victim.pod->spec.containers, container.name, &model::Container::name);
    if (spec == victim.pod->spec.containers.end()) continue;
    const std::int64_t asked = requested(*spec, resource.c_str());
    const std::int64_t used = resource == "memory" ? container.memory_bytes : container.disk_bytes;
    if (used > asked)
      out += "Container " + container.name + " was using " + bytes_text(used) + ", request is " +
             bytes_text(asked) + ", has larger consumption of " + resource + ". ";
  }
  return out;
}

std::optional<std::string> exceeded_storage(const PodUse& use) {
  for (const json::Value& volume : use.pod->spec.volumes) {
    const std::string name(json::string_at(volume, {"name"}));
    std::optional<model::Quantity> limit = size_limit(volume);
    auto used = use.volumes.find(name);
    if (limit && used != use.volumes.end() && used->second > limit->value())
      return "Usage of EmptyDir volume \"" + name + "\" exceeds the limit \"" + limit->text() +
             "\". ";
  }
  std::int64_t total = 0;
  bool limited = true;
  for (const model::Container& container : use.pod->spec.containers) {
    auto limit = container.resources.limits.find("ephemeral-storage");
    if (limit == container.resources.limits.end()) {
      limited = false;
      continue;
    }
    total += limit->second.value();
  }
  if (limited && total > 0 && use.disk_bytes() > total)
    return "Pod ephemeral local storage usage exceeds the total limit of containers " +
           bytes_text(total) + ". ";
  for (const model::Container& container : use.pod->spec.containers) {
    auto limit = container.resources.limits.find("ephemeral-storage");
    auto used = std::ranges::find(use.containers, container.name, &ContainerUse::name);
    if (limit != container.resources.limits.end() && used != use.containers.end() &&
        used->disk_bytes > limit->second.value())
      return "Container " + container.name + " exceeded its local ephemeral storage limit \"" +
             limit->second.text() + "\". ";
  }
  return std::nullopt;
}

bool has_storage_limits(const model::Pod& pod) {
  return std::ranges::any_of(pod.spec.containers,
                             [](const model::Container& container) {
                               return container.resources.limits.contains("ephemeral-storage");
                             }) ||
         std::ranges::any_of(pod.spec.volumes,
                             [](const auto& volume) { return size_limit(volume).has_value(); });
}

std::optional<std::string> refusal_under(const NodePressure& pressure, const model::Pod& pod) {
  if ((!pressure.memory && !pressure.disk && !pressure.pids) || is_critical(pod))
    return std::nullopt;
  // A pod that asked for memory, or tolerates the pressure, is let in while nothing else is short.
  if (pressure.memory && !pressure.disk && !pressure.pids &&
      (pod.status.qosClass != "BestEffort" || tolerates(pod, "node.kubernetes.io/memory-pressure")))
    return std::nullopt;
  std::string names;
  auto add = [&](bool holds, const char* name) {
    if (holds) names += (names.empty() ? "" : " ") + std::string(name);
  };
  add(pressure.memory, "MemoryPressure");
  add(pressure.disk, "DiskPressure");
  add(pressure.pids, "PIDPressure");
  return "The node had condition: [" + names + "]. ";
}

}  // namespace hekla::agent
