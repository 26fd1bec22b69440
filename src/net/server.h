// An HTTP/1.1 server over TLS or plain TCP: keep-alive, pipelining in order, chunked streams,
// limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/crypto.h"
#include "base/result.h"
#include "net/http.h"
#include "net/listener.h"

namespace hekla::net {

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0 takes a free one
  int threads = 2;
  bool tls = true;
  KeyPair certificate;        // with tls
  std::string client_ca_pem;  // client certificates are asked for and verified, never demanded
  std::size_t max_body_bytes = 3 * 1024 * 1024;
  std::size_t max_header_bytes = 64 * 1024;
  std::size_t max_connections = 10'000;
  // Memory of all requests that have not come to their end, which nobody has authenticated yet.
  // Beyond it only small ones are read on; larger ones are told to come again (429).
  std::size_t max_unfinished_bytes = std::size_t{256} << 20;
  // Memory of all answers that are complete and wait for their readers. Beyond it those whose
  // readers have taken nothing for the longest time, and for a second at least, are broken off.
  std::size_t max_unread_bytes = std::size_t{512} << 20;
  std::chrono::seconds idle_timeout{300};
  std::chrono::milliseconds request_timeout{60'000};  // from a request's first byte to its last
};

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
