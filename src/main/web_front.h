// The embedded platform's front door: a listener, the gateway behind it, and the routes of the
// modules that answer people.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/crypto.h"
#include "base/result.h"
#include "kube/web_route.h"
#include "net/client.h"
#include "net/listener.h"

namespace hekla {

namespace apiserver {
class ApiServer;
}
namespace cli {
struct WebFlags;
}

struct WebFrontParts {
  apiserver::ApiServer& api;
  const KeyPair& ca;
  kube::WebRoutes routes;
  net::OpenSocket pod_sockets;
  bool ask_kernels = false;
};

class WebFront {
  struct Parts;
  struct Private {};

 public:
  static Result<std::unique_ptr<WebFront>> start(const cli::WebFlags& flags,
                                                 const std::string& data_dir, WebFrontParts with);
  WebFront(Private, std::unique_ptr<Parts> parts);
  ~WebFront();
  void stop();
  // One more place where the same is answered.
  void serve_on(net::Socket listener);
  // "http://localhost:8080": for people on this machine.
  const std::string& url() const;
  // Where it listens on 127.0.0.1; 0: only on another address.
  std::uint16_t loopback_port() const;

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace hekla
