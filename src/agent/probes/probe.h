// Probes and hooks as the spec writes them, and what a row of results means. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "model/core.h"

namespace hekla::agent {

// Something to do in or to a container that succeeds or fails: a probe's or a hook's action.
struct ProbeAction {
  enum class Kind { exec, http, tcp, grpc, sleep };
  Kind kind = Kind::exec;
  std::vector<std::string> command;                          // exec
  std::string scheme = "http", host, path;                   // http; an empty host is the pod's
  std::vector<std::pair<std::string, std::string>> headers;  // http
  std::uint16_t port = 0;                                    // http, tcp, grpc
  std::string service;                                       // grpc
  Nanos sleep{0};
  Nanos timeout{std::chrono::seconds(1)};
  bool hook = false;  // may take long
};

struct ProbeSpec {
  ProbeAction action;
  Nanos initial_delay{0}, period{std::chrono::seconds(10)};
  int success_threshold = 1, failure_threshold = 3;
  std::optional<std::int64_t> grace_seconds;
};

// Empty when there is none, or when its port has a name that the container does not know.
std::optional<ProbeSpec> parse_probe(const json::Value& probe, const model::Container& container);
// lifecycle.postStart and lifecycle.preStop.
std::optional<ProbeAction> parse_hook(const json::Value& hook, const model::Container& container);

struct ProbeOutcome {
  bool success = false;
  std::string output;
};

// Counts results of one probe; a verdict changes when its threshold is reached.
class ProbeCounter {
 public:
  explicit ProbeCounter(const ProbeSpec& spec)
      : success_threshold_(spec.success_threshold), failure_threshold_(spec.failure_threshold) {}
  // True, false, or nothing while the row is too short.
  std::optional<bool> add(bool success);

 private:
  int success_threshold_, failure_threshold_;
  bool last_ = false;
  int in_a_row_ = 0;
};

}  // namespace hekla::agent
