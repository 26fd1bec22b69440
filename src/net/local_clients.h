// Outgoing connections on a server's own net threads, one Client for each: a proxy's two
// connections then share a thread, and a piece goes from one to the other without a lock that is
// contended or a thread that is woken.
#pragma once

#include <memory>

#include "base/result.h"
#include "net/client.h"

namespace hekla::net {

class LocalClients {
 public:
  // May be made before the server and destroyed before or after it, but on none of its threads.
  // Server::stop() ends their calls when its own connections have ended; from then on they refuse.
  static Result<std::unique_ptr<LocalClients>> make(ClientOptions options);
  virtual ~LocalClients() = default;
  // The client that lives on the calling thread, made when it is first asked for. For handlers and
  // callbacks of a server; anywhere else it is a programmer's error. Callbacks of its calls run on
  // this thread.
  virtual Client& here() = 0;
};

}  // namespace hekla::net
