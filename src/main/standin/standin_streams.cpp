#include "main/standin/standin_streams.h"

#include <algorithm>

#include "agent/loopback_forwards.h"
#include "kube/log_format.h"
#include "model/time.h"

namespace hekla {
namespace {

constexpr std::chrono::milliseconds kFollowPeriod{200};

kube::LogFormat format_of(const kube::LogOptions& options, WallTime now) {
  kube::LogFormat format{options.timestamps, options.since_time, options.limit_bytes};
  if (options.since_seconds) format.since = now - std::chrono::seconds(*options.since_seconds);
  return format;
}

// One client that reads a part's lines; lives as long as its timer.
class StandInLog : public std::enable_shared_from_this<StandInLog> {
 public:
  StandInLog(const LogRing& ring, Executor& executor, StandIns::Log log,
             const kube::LogOptions& options, std::shared_ptr<kube::ByteSink> sink)
      : ring_(ring),
        executor_(executor),
        log_(std::move(log)),
        options_(options),
        formatter_(format_of(options, executor.clock().wall())),
        sink_(std::move(sink)) {}

  void begin() {
    std::vector<LogLine> lines = read_on();
    if (!log_.line.empty()) lines.push_back({0, executor_.clock().wall(), log_.line});
    if (options_.tail_lines) {
      auto kept = std::clamp<std::ptrdiff_t>(*options_.tail_lines, 0, std::ssize(lines));
      lines.erase(lines.begin(), lines.end() - kept);
    }
    put(lines);
    go_on();
  }

 private:
  std::vector<LogLine> read_on() {
    std::vector<LogLine> lines = ring_.read(log_.names, seen_);
    if (!lines.empty()) seen_ = lines.back().number;
    return lines;
  }
  void put(const std::vector<LogLine>& lines) {
    std::string text;
    for (const LogLine& line : lines)
      text +=
          formatter_.feed(model::format_rfc3339_nano(line.at) + " stderr F " + line.text + "\n");
    if (!text.empty()) sink_->write(std::move(text));
  }
  void go_on() {
    if (!options_.follow || formatter_.is_full() || sink_->is_closed()) return sink_->end();
    executor_.post_after(kFollowPeriod, [self = shared_from_this()] {
      self->put(self->read_on());
      self->go_on();
    });
  }

  const LogRing& ring_;
  Executor& executor_;
  const StandIns::Log log_;
  const kube::LogOptions options_;
  kube::LogFormatter formatter_;
  std::shared_ptr<kube::ByteSink> sink_;
  std::uint64_t seen_ = 0;
};

class PlatformStreams final : public kube::PodStreams {
 public:
  PlatformStreams(agent::Agent* node, const StandIns& standins, const LogRing& ring,
                  Executor& executor, PartPorts ports)
      : node_(node),
        agent_(node ? &node->streams() : nullptr),
        standins_(standins),
        ring_(ring),
        executor_(executor),
        ports_(std::move(ports)),
        loopback_(executor) {}

  void logs(const kube::PodRef& pod, const kube::LogOptions& options,
            std::shared_ptr<kube::ByteSink> sink, Done<void> started) override {
    std::optional<StandIns::Log> log = standins_.log_of(pod.ns, pod.name);
    if (!log) {
      if (!agent_) return started(no_agent("logs"));
      return agent_->logs(pod, options, std::move(sink), std::move(started));
    }
    executor_.post([this, log = std::move(*log), name = pod.name, options, sink = std::move(sink),
                    started = std::move(started)]() mutable {
      if (options.previous)
        return started(fail(Code::bad_request, "previous terminated container \"" +
                                                   options.container + "\" in pod \"" + name +
                                                   "\" not found"));
      started({});
      std::make_shared<StandInLog>(ring_, executor_, std::move(log), options, std::move(sink))
          ->begin();
    });
  }
  void kept_logs(const std::string& ns, Done<std::vector<kube::KeptLog>> done) override {
    if (!agent_) return PodStreams::kept_logs(ns, std::move(done));
    agent_->kept_logs(ns, std::move(done));
  }
  void usage(Done<kube::NodeUsage> done) override {
    if (!agent_) return PodStreams::usage(std::move(done));
    agent_->usage(std::move(done));
  }
  void exec(const kube::PodRef& pod, const kube::ExecOptions& options,
            ProcessReady ready) override {
    if (standins_.log_of(pod.ns, pod.name)) return ready(no_container(pod.name));
    if (!agent_) return ready(no_agent("exec"));
    agent_->exec(pod, options, std::move(ready));
  }
  void attach(const kube::PodRef& pod, const kube::ExecOptions& options,
              ProcessReady ready) override {
    if (standins_.log_of(pod.ns, pod.name)) return ready(no_container(pod.name));
    if (!agent_) return ready(no_agent("attach"));
    agent_->attach(pod, options, std::move(ready));
  }
  void open_socket(std::function<void(Result<int>)> done) override {
    if (!agent_) return PodStreams::open_socket(std::move(done));
    agent_->open_socket(std::move(done));
  }
  void forward(const kube::PodRef& pod, std::uint16_t port,
               std::shared_ptr<kube::ForwardClient> client, ForwardReady ready) override {
    if (const std::optional<std::string> part = standins_.part_behind(pod.ns, pod.name)) {
      if (const std::optional<std::uint16_t> here = ports_(*part, port))
        return loopback_.open(*here, std::move(client), std::move(ready));
      const std::string address = standins_.address_of(pod.ns, pod.name);
      if (node_ && !address.empty())
        return node_->forward_to(address, port, std::move(client), std::move(ready));
      return ready(fail(Code::bad_request, "pod " + pod.name +
                                               " is a part of hekla itself, and nothing of it "
                                               "listens at port " +
                                               std::to_string(port)));
    }
    if (!agent_) return ready(no_agent("port-forward"));
    agent_->forward(pod, port, std::move(client), std::move(ready));
  }

 private:
  static std::unexpected<Error> no_container(const std::string& pod) {
    return fail(Code::bad_request,
                "pod " + pod + " is a part of hekla itself: it has no container of its own");
  }
  static std::unexpected<Error> no_agent(const std::string& what) {
    return fail(Code::unavailable, "no node agent serves " + what + " on this server");
  }
  agent::Agent* node_;
  kube::PodStreams* agent_;
  const StandIns& standins_;
  const LogRing& ring_;
  Executor& executor_;
  const PartPorts ports_;
  agent::LoopbackForwards loopback_;
};

}  // namespace

std::unique_ptr<kube::PodStreams> with_standin_streams(agent::Agent* node, const StandIns& standins,
                                                       const LogRing& ring, Executor& executor,
                                                       PartPorts ports) {
  return std::make_unique<PlatformStreams>(node, standins, ring, executor, std::move(ports));
}

}  // namespace hekla
