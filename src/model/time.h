// RFC 3339 times as Kubernetes writes them, Go durations, and the ages kubectl prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "json/node.h"

namespace hekla::model {

// metav1.Time: whole seconds, "2024-03-15T05:59:15Z"; JSON null when unset.
struct Time {
  std::optional<WallTime> at;

  Time() = default;
  Time(WallTime when) : at(std::chrono::floor<std::chrono::seconds>(when)) {}
  explicit operator bool() const { return at.has_value(); }
  bool operator==(const Time&) const = default;
  static Result<Time> from_node(const json::Node& node);
  static Result<Time> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
};

// metav1.MicroTime: six digits of a second.
struct MicroTime {
  std::optional<WallTime> at;
  bool operator==(const MicroTime&) const = default;
  static Result<MicroTime> from_node(const json::Node& node);
  static Result<MicroTime> from_json(const json::Value& value) { return from_node(value); }
  json::Value to_json() const;
};

Result<WallTime> parse_rfc3339(std::string_view text);  // any fraction, Z or an offset
std::string format_rfc3339(WallTime when);              // seconds, Z
std::string format_rfc3339_micro(WallTime when);
std::string format_rfc3339_nano(WallTime when);  // up to nine digits, trailing zeros cut

// Go's time.Duration: "10m14.475393813s", "1h0m0s", "300ms".
std::string format_go_duration(Nanos duration);
Result<Nanos> parse_go_duration(std::string_view text);

// kubectl's AGE column: "5s", "3m20s", "4h", "2d".
std::string human_duration(Nanos duration);

}  // namespace hekla::model
