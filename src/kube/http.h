// Outgoing HTTP calls to services that are no Kubernetes API (a metrics store, a scheduler
// extender) as an interface, so that whoever makes them can be tested without a network.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"

namespace hekla::kube {

struct HttpCall {
  std::string method = "GET";
  std::string url;
  std::string body;  // JSON, if any
  std::chrono::milliseconds timeout{10'000};
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Not getting an answer is an error (unavailable, timeout); an answer with an error status is not.
class Http {
 public:
  virtual ~Http() = default;
  // `done` is posted to `executor`.
  virtual void send(HttpCall call, Executor& executor,
                    std::function<void(Result<HttpAnswer>)> done) = 0;
  // Blocks the caller, at most for the call's timeout.
  virtual Result<HttpAnswer> fetch(HttpCall call) = 0;
};

// Over the network. `insecure`: servers need no certificate that this machine trusts.
Result<std::unique_ptr<Http>> make_http(bool insecure = false);

}  // namespace hekla::kube
