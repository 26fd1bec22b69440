// Byte streams out of running pods: what the API server needs from whoever runs them. The agent
// implements it and main plugs it in; on a real cluster the kubelet does this work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/done.h"
#include "kube/client.h"
#include "model/meta.h"

namespace hekla::kube {

// One pod; without a uid, whichever has the name.
struct PodRef {
  std::string ns, name, uid;
};

struct LogOptions {
  std::string container;
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::int64_t> since_seconds;
  std::optional<WallTime> since_time;
  std::optional<std::int64_t> tail_lines;
  std::optional<std::int64_t> limit_bytes;
  std::string stream;  // stdout or stderr; empty: both
};

// Where the bytes go. Thread-safe.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;
  virtual bool is_closed() const = 0;
  virtual std::size_t pending_bytes() const = 0;
};

struct ExecOptions {
  std::string container;             // of a pod with several it must be named
  std::vector<std::string> command;  // exec alone
  bool in = false, out = false, err = false, tty = false;
};

// The client of a process in a pod: where output and exit code go. Thread-safe.
class ProcessClient {
 public:
  virtual ~ProcessClient() = default;
  enum class Output { out, err };
  virtual void write(Output which, std::string bytes) = 0;
  // The last call: the exit code, or why there is none.
  virtual void finish(Result<int> exit_code) = 0;
  virtual bool is_closed() const = 0;
  virtual std::size_t pending_bytes() const = 0;
  // The process reads more slowly than the client sends.
  virtual void hold_input(bool hold) = 0;
};

// A process in a pod, as its client sees it. Thread-safe. Nothing runs before begin().
class PodProcess {
 public:
  virtual ~PodProcess() = default;
  virtual void begin(std::shared_ptr<ProcessClient> client) = 0;
  virtual void write_input(std::string bytes) = 0;
  virtual void end_input() = 0;
  virtual void resize(int width, int height) = 0;
  // The client has vanished. A process without a terminal runs on, its output goes nowhere.
  virtual void leave() = 0;
};

// One forwarded connection's ends: what comes out of the pod, and what goes in. Thread-safe.
class ForwardClient : public ByteSink {
 public:
  virtual void hold_input(bool hold) = 0;
};
class ForwardedConnection {
 public:
  virtual ~ForwardedConnection() = default;
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;    // nothing more will come from the client
  virtual void leave() = 0;  // nor will it listen
};

// The log of a pod that is gone, kept because its job is still there.
struct KeptLog {
  std::string ns, pod, uid;
  model::OwnerReference job;
  std::int64_t bytes = 0;
  WallTime ended;
  std::vector<std::string> containers;
};

// The use of a node and its pods: CPU as an average over `window`, memory as the working set.
struct ContainerUsage {
  std::string name;
  std::int64_t cpu_nanocores = 0, memory_bytes = 0;
};
struct PodUsage {
  std::string ns, name, uid;
  Nanos window{};
  std::vector<ContainerUsage> containers;
};
struct NodeUsage {
  std::string node;
  WallTime at;
  Nanos window{};
  std::int64_t cpu_nanocores = 0, memory_bytes = 0;
  std::vector<PodUsage> pods;
};

class PodStreams {
 public:
  virtual ~PodStreams() = default;
  // `started` is called once, before the first byte: an error (container waiting, unknown
  // container) becomes the answer's Status. Afterwards bytes flow into the sink until its end().
  virtual void logs(const PodRef& pod, const LogOptions& options, std::shared_ptr<ByteSink> sink,
                    Done<void> started) = 0;
  // The logs of gone pods, in the order in which those ended. logs() finds them by name or uid.
  virtual void kept_logs(const std::string& ns, Done<std::vector<KeptLog>> done) {
    (void)ns;
    done(std::vector<KeptLog>{});
  }
  virtual void usage(Done<NodeUsage> done) {
    done(fail(Code::unavailable, "nothing here measures pods"));
  }

  // Errors are those of kubelet ("container not found"), before anything has been started.
  using ProcessReady = Done<std::shared_ptr<PodProcess>>;
  virtual void exec(const PodRef& pod, const ExecOptions& options, ProcessReady ready) = 0;
  // The container's own first process.
  virtual void attach(const PodRef& pod, const ExecOptions& options, ProcessReady ready) = 0;
  // A non-blocking IPv4 stream socket of the network that pods are in, for whoever takes it: the
  // only way to a pod's or a service's address. `done` may run on any thread.
  virtual void open_socket(std::function<void(Result<int>)> done) {
    done(fail(Code::unavailable, "no pods can be reached from here"));
  }
  // A connection to localhost:port as the pod's processes see it.
  using ForwardReady = Done<std::shared_ptr<ForwardedConnection>>;
  virtual void forward(const PodRef& pod, std::uint16_t port, std::shared_ptr<ForwardClient> client,
                       ForwardReady ready) = 0;
};

}  // namespace hekla::kube
