// An HTTP/1.1 server over TLS or plain TCP: keep-alive, pipelining in order, bodies and answers
// whole or as streams, limits. A server is one listener with threads and memory limits of its own:
// a process has one for each of its faces (API, gateway, objects), and none can starve another.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/crypto.h"
#include "base/result.h"
#include "net/http.h"
#include "net/listener.h"
#include "net/server_options.h"

namespace hekla::net {

class Server {
 public:
  // Listens; the handler runs on net threads and must not block.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
  // The same on a socket that listens already, whatever the options say of it: so its port is known
  // before.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler,
                                               Socket listener);
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  // Serves on one more socket as well, bound and listening; takes it over. It may live in another
  // network namespace: that is how pods reach a server of the host.
  virtual void serve_on(Socket socket) = 0;
  // New connections are served with this certificate. Only with tls.
  virtual Result<void> set_certificate(const KeyPair& certificate) = 0;
  // Stops accepting, ends streams, waits up to `grace` for requests under way, joins the threads.
  virtual void stop(std::chrono::milliseconds grace = std::chrono::milliseconds(1000)) = 0;
};

}  // namespace hekla::net
