#include "agent/pod/pod_plan.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::agent {
namespace {

constexpr std::chrono::seconds kFirstDelay{10};
constexpr std::chrono::seconds kLongestDelay{300};
constexpr const char* kResizable[] = {"cpu", "memory"};

bool has_exited(const ContainerRecord& container) {
  return container.current && container.current->phase == run_phase::exited;
}

bool succeeded(const ContainerRecord& container) {
  return has_exited(container) && container.current->exit_code == 0;
}

class Decider {
 public:
  Decider(const model::PodSpec& spec, const PodRecord& record, WallTime now,
          const HeldUntil& held_until, const IsStarted& is_started)
      : spec_(spec), record_(record), now_(now), held_until_(held_until), is_started_(is_started) {}

  PodDecision decide() {
    if (init_failed()) {
      finish(false);
      return std::move(decision_);
    }
    if (!decide_init()) return std::move(decision_);
    bool live = false, failed = false;
    for (std::size_t i = 0; i < record_.containers.size(); ++i) {
      const ContainerRecord& container = record_.containers[i];
      if (container.init) continue;
      if (container.ephemeral) {
        if (!container.current) want_start(i);
        continue;
      }
      if (!container.current) {
        live = true;
        want_start(i);
      } else if (!has_exited(container)) {
        live = true;
        replace_if_superseded(i);
      } else if (restarts(container)) {
        live = true;
        want_restart(i);
      } else {
        failed |= container.current->exit_code != 0;
      }
    }
    if (!live) finish(!failed);
    return std::move(decision_);
  }

 private:
  // False while the main containers have to wait.
  bool decide_init() {
    bool main_begun = std::ranges::any_of(record_.containers, [](const ContainerRecord& container) {
      return !container.init && !container.ephemeral && container.current.has_value();
    });
    for (std::size_t i = 0; i < record_.containers.size(); ++i) {
      const ContainerRecord& container = record_.containers[i];
      if (!container.init) break;
      if (!container.current) {
        if (main_begun && !container.sidecar) continue;
        want_start(i);
        return main_begun;
      }
      if (!has_exited(container)) {
        if (!container.sidecar) return false;
        replace_if_superseded(i);
        if (!main_begun && is_started_ && !is_started_(i)) return false;
        continue;
      }
      if (container.sidecar) {
        want_restart(i);
      } else if (!succeeded(container)) {
        want_restart(i);
        return false;
      }
    }
    return true;
  }

  bool init_failed() const {
    if (spec_.restartPolicy != "Never") return false;
    return std::ranges::any_of(record_.containers, [](const ContainerRecord& container) {
      return container.init && !container.sidecar && has_exited(container) && !succeeded(container);
    });
  }

  bool restarts(const ContainerRecord& container) const {
    if (container.current->replaced) return true;
    if (spec_.restartPolicy == "Never") return false;
    return spec_.restartPolicy != "OnFailure" || container.current->exit_code != 0;
  }

  void replace_if_superseded(std::size_t i) {
    if (is_superseded(spec_, record_.containers[i])) decision_.replace.push_back(i);
  }
  void want_start(std::size_t i) {
    if (decision_.start) return;
    if (std::optional<WallTime> until = held_until_(i); until && *until > now_) {
      wake_at(*until);
      return;
    }
    decision_.start = i;
  }
  void want_restart(std::size_t i) {
    const ContainerRecord& container = record_.containers[i];
    WallTime when = restart_time(container);
    // Earlier failures say nothing about a changed spec.
    if (when <= now_ || container.current->replaced || is_superseded(spec_, container))
      return want_start(i);
    decision_.backing_off.push_back(i);
    wake_at(when);
  }
  void wake_at(WallTime when) {
    if (!decision_.wake || when < *decision_.wake) decision_.wake = when;
  }
  void finish(bool well) {
    decision_ = {};
    for (std::size_t i = 0; i < record_.containers.size(); ++i) {
      const ContainerRecord& container = record_.containers[i];
      if (container.current && !has_exited(container)) decision_.stop.push_back(i);
    }
    if (decision_.stop.empty()) decision_.finished = well;
  }

  const model::PodSpec& spec_;
  const PodRecord& record_;
  WallTime now_;
  const HeldUntil& held_until_;
  const IsStarted& is_started_;
  PodDecision decision_;
};

}  // namespace

Nanos restart_delay(int restarts_in_a_row) {
  if (restarts_in_a_row <= 0) return Nanos(0);
  Nanos delay = kFirstDelay;
  for (int i = 1; i < restarts_in_a_row && delay < kLongestDelay; ++i) delay *= 2;
  return std::min<Nanos>(delay, kLongestDelay);
}

model::ResourceRequirements resizable(const model::ResourceRequirements& all) {
  model::ResourceRequirements out;
  for (const char* name : kResizable) {
    if (auto found = all.limits.find(name); found != all.limits.end()) out.limits.insert(*found);
    if (auto found = all.requests.find(name); found != all.requests.end())
      out.requests.insert(*found);
  }
  return out;
}

std::vector<std::string> resized(const model::ResourceRequirements& has,
                                 const model::ResourceRequirements& shall_have) {
  auto amount = [](const model::ResourceList& list, const char* name) {
    auto found = list.find(name);
    return found == list.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<std::string> out;
  for (const char* name : kResizable)
    if (amount(has.limits, name) != amount(shall_have.limits, name) ||
        amount(has.requests, name) != amount(shall_have.requests, name))
      out.emplace_back(name);
  return out;
}

bool is_superseded(const model::PodSpec& spec, const ContainerRecord& container) {
  if (!container.current || container.current->image.empty()) return false;
  for (const auto* containers : {&spec.initContainers, &spec.containers})
    for (const model::Container& one : *containers)
      if (one.name == container.name) return one.image != container.current->image;
  return false;
}

int backoff_steps(const ContainerRecord& container) {
  CHECK(has_exited(container), "only a container that has run can run again");
  const ContainerRun& run = *container.current;
  bool cleared = run.finished_ns - run.started_ns >= Nanos(kBackoffReset).count();
  return cleared && run.started_ns != 0 ? 0 : container.backoff;
}

WallTime restart_time(const ContainerRecord& container) {
  return from_ns(container.current->finished_ns) + restart_delay(backoff_steps(container));
}

bool init_finished(const PodRecord& record) {
  return std::ranges::all_of(record.containers, [](const ContainerRecord& container) {
    if (!container.init) return true;
    if (container.sidecar) return container.current.has_value();
    return succeeded(container);
  });
}

PodDecision decide(const model::PodSpec& spec, const PodRecord& record, WallTime now,
                   const HeldUntil& held_until, const IsStarted& is_started) {
  PodDecision decision = Decider(spec, record, now, held_until, is_started).decide();
  CHECK(!decision.finished || (decision.stop.empty() && !decision.start),
        "a pod that is over has nothing left to do");
  CHECK(!decision.start || !record.containers[*decision.start].current ||
            has_exited(record.containers[*decision.start]),
        "a container has one run at a time");
  return decision;
}

bool host_ports_clash(const model::PodSpec& one, const model::PodSpec& other) {
  auto any_address = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  auto protocol = [](const model::ContainerPort& port) {
    return port.protocol.empty() ? "TCP" : port.protocol;
  };
  auto clash = [&](const model::ContainerPort& a, const model::ContainerPort& b) {
    return a.hostPort > 0 && a.hostPort == b.hostPort && protocol(a) == protocol(b) &&
           (any_address(a.hostIP) || any_address(b.hostIP) || a.hostIP == b.hostIP);
  };
  for (const model::Container& mine : one.containers)
    for (const model::ContainerPort& port : mine.ports)
      for (const model::Container& theirs : other.containers)
        for (const model::ContainerPort& taken : theirs.ports)
          if (clash(port, taken)) return true;
  return false;
}

}  // namespace hekla::agent
