// Byte streams out of running pods: what the API server needs from whoever runs them. The agent
// implements it and main plugs it in; on a real cluster the kubelet does this work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"

namespace hekla::kube {

struct LogOptions {
  std::string container;
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::int64_t> since_seconds;
  std::optional<WallTime> since_time;
  std::optional<std::int64_t> tail_lines;
  std::optional<std::int64_t> limit_bytes;
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

class PodStreams {
 public:
  virtual ~PodStreams() = default;
  // `start` is called once: with a sink-taking go-ahead impossible states become Status errors
  // before the first byte (container waiting, unknown container); afterwards bytes flow until
  // end().
  virtual void logs(const std::string& ns, const std::string& pod, const std::string& pod_uid,
                    const LogOptions& options, std::shared_ptr<ByteSink> sink,
                    std::move_only_function<void(Result<void>)> started) = 0;
};

}  // namespace hekla::kube
