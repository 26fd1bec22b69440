#include "agent/probes/probe.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace hekla::agent {
namespace {

// A number, a number as text, or the name of one of the container's ports.
std::optional<std::uint16_t> probe_port(const json::Value* value,
                                        const model::Container& container) {
  if (!value) return std::nullopt;
  if (value->is_number()) {
    auto number = value->to_number<std::int64_t>();
    if (number < 1 || number > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
    return static_cast<std::uint16_t>(number);
  }
  if (!value->is_string()) return std::nullopt;
  std::string_view text = json::sv(value->get_string());
  for (const model::ContainerPort& port : container.ports)
    if (port.name == text) return static_cast<std::uint16_t>(port.containerPort);
  std::uint16_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::optional<ProbeAction> parse_action(const json::Value& from,
                                        const model::Container& container) {
  ProbeAction action;
  if (const json::Array* command = json::array_at(from, {"exec", "command"})) {
    for (const json::Value& word : *command)
      if (word.is_string()) action.command.emplace_back(json::sv(word.get_string()));
    return action;
  }
  const json::Value* section = nullptr;
  if ((section = json::find(from, "httpGet"))) {
    action.kind = ProbeAction::Kind::http;
    action.host = json::string_at(*section, {"host"});
    action.path = json::string_at(*section, {"path"});
    if (!action.path.starts_with('/')) action.path.insert(0, "/");
    if (std::string_view scheme = json::string_at(*section, {"scheme"}); !scheme.empty())
      action.scheme = lower_case(scheme);
    if (const json::Array* headers = json::array_at(*section, {"httpHeaders"}))
      for (const json::Value& header : *headers)
        action.headers.emplace_back(json::string_at(header, {"name"}),
                                    json::string_at(header, {"value"}));
  } else if ((section = json::find(from, "tcpSocket"))) {
    action.kind = ProbeAction::Kind::tcp;
    action.host = json::string_at(*section, {"host"});
  } else if ((section = json::find(from, "grpc"))) {
    action.kind = ProbeAction::Kind::grpc;
    action.service = json::string_at(*section, {"service"});
  } else if ((section = json::find(from, "sleep"))) {
    action.kind = ProbeAction::Kind::sleep;
    action.sleep = std::chrono::seconds(json::int_at(*section, {"seconds"}));
    return action;
  } else {
    return std::nullopt;
  }
  std::optional<std::uint16_t> port = probe_port(json::find(*section, "port"), container);
  if (!port) return std::nullopt;
  action.port = *port;
  return action;
}

}  // namespace

std::optional<ProbeSpec> parse_probe(const json::Value& probe, const model::Container& container) {
  std::optional<ProbeAction> action = parse_action(probe, container);
  if (!action) return std::nullopt;
  // Zero is what a server that does not default would send; the API's defaults then hold.
  auto seconds = [&](const char* name, std::int64_t otherwise) {
    std::int64_t value = json::int_at(probe, {name});
    return std::chrono::seconds(value > 0 ? value : otherwise);
  };
  ProbeSpec spec;
  spec.action = std::move(*action);
  spec.action.timeout = seconds("timeoutSeconds", 1);
  spec.initial_delay = seconds("initialDelaySeconds", 0);
  spec.period = seconds("periodSeconds", 10);
  spec.success_threshold = static_cast<int>(seconds("successThreshold", 1).count());
  spec.failure_threshold = static_cast<int>(seconds("failureThreshold", 3).count());
  if (json::find(probe, "terminationGracePeriodSeconds"))
    spec.grace_seconds = json::int_at(probe, {"terminationGracePeriodSeconds"});
  return spec;
}

std::optional<ProbeAction> parse_hook(const json::Value& hook, const model::Container& container) {
  std::optional<ProbeAction> action = parse_action(hook, container);
  if (action) action->hook = true;
  return action;
}

std::optional<bool> ProbeCounter::add(bool success) {
  in_a_row_ = success == last_ ? in_a_row_ + 1 : 1;
  last_ = success;
  if (in_a_row_ < (success ? success_threshold_ : failure_threshold_)) return std::nullopt;
  return success;
}

}  // namespace hekla::agent
