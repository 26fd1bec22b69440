#include "scheduler/loop/node_load_source.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/log.h"
#include "json/parse.h"
#include "model/quantity.h"
#include "model/time.h"

namespace hekla::scheduler {

namespace {

const kube::Resource kNodeMetrics{"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false};
constexpr Nanos kUsualInterval = std::chrono::seconds(30);
// Percent of the last five minutes, for every node the node exporter watches.
constexpr std::string_view kCpuQuery =
    R"(avg_over_time(clamp_min(100-(avg by (instance) )"
    R"((rate(node_cpu_seconds_total{mode="idle"}[5m]))*100),0)[5m:30s]))";
constexpr std::string_view kMemoryQuery =
    R"(100*avg_over_time((1-node_memory_MemAvailable_bytes/node_memory_MemTotal_bytes)[5m:30s]))";

std::string encoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                 c == '-' || c == '_' || c == '.' || c == '~';
    auto byte = static_cast<unsigned char>(c);
    if (plain)
      out += c;
    else
      out.append("%").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return out;
}

// The value of each instance; its name is the node's, perhaps with a port.
std::map<std::string, double> vector_of(const json::Value& answer) {
  std::map<std::string, double> out;
  const json::Array* rows = json::array_at(answer, {"data", "result"});
  for (std::size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
    std::string node(json::string_at((*rows)[i], {"metric", "instance"}));
    node.resize(std::min(node.find(':'), node.size()));
    const json::Array* value = json::array_at((*rows)[i], {"value"});
    if (value == nullptr || value->size() != 2 || !(*value)[1].is_string()) continue;
    std::string_view text = json::sv((*value)[1].get_string());
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc()) out[node] = number;
  }
  return out;
}

}  // namespace

struct NodeLoadSource::State : std::enable_shared_from_this<State> {
  State(Executor& e, kube::Http* h, kube::Client* c, CapacityOf of)
      : executor(e), http(h), client(c), capacity(std::move(of)) {}

  void ask(std::string_view query, bool cpu, std::uint64_t round) {
    kube::HttpCall call;
    call.url = address + "/api/v1/query?query=" + encoded(query);
    http->send(std::move(call), executor,
               [weak = weak_from_this(), cpu, round](const Result<kube::HttpAnswer>& answer) {
                 if (auto self = weak.lock(); self && self->round == round) self->take(answer, cpu);
               });
  }
  void take(const Result<kube::HttpAnswer>& answer, bool cpu) {
    Result<json::Value> body = fail(Code::unavailable, "");
    if (!answer)
      body = std::unexpected(answer.error());
    else if (answer->status != 200)
      body = fail(Code::unavailable, "status " + std::to_string(answer->status));
    else
      body = json::parse(answer->body);
    if (!body) {
      log_warn("scheduler", "the load of nodes is not known",
               {{"source", address}, {"error", body.error().message}});
      return;
    }
    for (const auto& [node, value] : vector_of(*body)) {
      Known& load = loads[node];
      (cpu ? load.cpu : load.memory) = {value, executor.clock().wall()};
    }
  }
  void ask_metrics_server(std::uint64_t asked) {
    client->list(kNodeMetrics, {}, [weak = weak_from_this(), asked](Result<kube::List> list) {
      auto self = weak.lock();
      if (!self || self->round != asked) return;
      if (list) return self->take(*list);
      log_warn("scheduler", "the load of nodes is not known",
               {{"source", "metrics.k8s.io"}, {"error", list.error().message}});
    });
  }
  void take(const kube::List& list) {
    for (const kube::ObjectPtr& item : list.items) {
      Result<json::Value> one = json::parse(*item->json);
      if (!one) continue;
      std::string node(json::string_at(*one, {"metadata", "name"}));
      std::optional<Capacity> whole = capacity(node);
      auto cpu = model::Quantity::parse(json::string_at(*one, {"usage", "cpu"}));
      auto memory = model::Quantity::parse(json::string_at(*one, {"usage", "memory"}));
      if (!whole || whole->cpu_milli <= 0 || whole->memory_bytes <= 0 || !cpu || !memory) continue;
      Result<WallTime> at = model::parse_rfc3339(json::string_at(*one, {"timestamp"}));
      WallTime when = at ? *at : executor.clock().wall();
      auto percent = [](const model::Quantity& used, double of) {
        return static_cast<double>(used.nanos) / 1e7 / of;
      };
      loads[node] = {{percent(*cpu, static_cast<double>(whole->cpu_milli) / 1e3), when},
                     {percent(*memory, static_cast<double>(whole->memory_bytes)), when}};
    }
  }
  void begin(std::uint64_t now) {
    if (round != now) return;
    if (from_server) {
      ask_metrics_server(now);
    } else {
      ask(kCpuQuery, true, now);
      ask(kMemoryQuery, false, now);
    }
    executor.post_after(interval, [weak = weak_from_this(), now] {
      if (auto self = weak.lock()) self->begin(now);
    });
  }

  Executor& executor;
  kube::Http* http;
  kube::Client* client;
  CapacityOf capacity;
  bool from_server = false;
  std::string address;
  Nanos interval = kUsualInterval;
  std::uint64_t round = 0;  // of configurations
  struct Known {
    struct Number {
      double value = 0;
      WallTime at{};
    };
    Number cpu, memory;
  };
  std::map<std::string, Known, std::less<>> loads;
};

NodeLoadSource::NodeLoadSource(Executor& executor, kube::Http* http, kube::Client* client,
                               CapacityOf capacity)
    : state_(std::make_shared<State>(executor, http, client, std::move(capacity))) {}
NodeLoadSource::~NodeLoadSource() = default;

Result<void> NodeLoadSource::configure(const json::Value& metrics) {
  bool given = metrics.is_object() && !metrics.get_object().empty();
  std::string_view type = json::string_at(metrics, {"type"});
  std::string address(json::string_at(metrics, {"address"}));
  const bool server = type == "metrics_server";
  if (given && !server && type != "prometheus")
    return fail(Code::invalid, "metrics: the load of nodes cannot be had from \"" +
                                   std::string(type) +
                                   "\", only from prometheus or metrics_server");
  if (given && !server && address.empty()) return fail(Code::invalid, "metrics address is empty");
  std::uint64_t round = ++state_->round;
  if (!given) {
    state_->loads.clear();
    return {};
  }
  while (address.ends_with('/')) address.pop_back();
  if (server != state_->from_server) state_->loads.clear();
  state_->from_server = server;
  state_->address = std::move(address);
  Result<Nanos> interval = model::parse_go_duration(json::string_at(metrics, {"interval"}));
  state_->interval = interval && interval->count() > 0 ? *interval : kUsualInterval;
  if (server ? state_->client != nullptr && state_->capacity : state_->http != nullptr)
    state_->begin(round);
  return {};
}

std::optional<NodeLoad> NodeLoadSource::of(std::string_view node) const {
  auto found = state_->loads.find(node);
  if (found == state_->loads.end()) return std::nullopt;
  const auto& [cpu, memory] = found->second;
  // Half an answer is none: a node of which only the idle half is known is not idle.
  if (cpu.at == WallTime{} || memory.at == WallTime{}) return std::nullopt;
  return NodeLoad{cpu.value, memory.value, std::min(cpu.at, memory.at)};
}

}  // namespace hekla::scheduler
