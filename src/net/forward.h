// A request passed on to another server, and its answer back: the reverse proxy of gateway and API
// server. Bodies stream both ways in constant memory, each direction at the pace of its reader; an
// upgrade (WebSocket or any other protocol) becomes a tunnel. Framing is each connection's own:
// chunked, sized and close-delimited bodies are translated, trailers and interim answers passed on.
#pragma once

#include <functional>
#include <memory>

#include "net/client.h"
#include "net/http.h"

namespace hekla::net {

struct Forwarding {
  // Where to and with which header fields. Method, body and framing come from the request; an empty
  // method is the request's. The caller chooses what of the request's fields goes on, by
  // end_to_end_headers(), and says which time-outs hold (none by default).
  ClientRequest upstream;
  // Whether the request's wish to upgrade is passed on.
  bool allow_upgrade = true;
  // Called before the answer's head is sent, which it may change; on the client's thread.
  std::function<void(int status, Headers& headers)> on_head = {};
  // The answer when the other server has given none; none: 502, or 504 when it took too long, as a
  // Kubernetes Status.
  std::function<Response(const Error& error)> on_failure = {};
  // Bytes of a body or tunnel pass, from the requesting side or to it; each direction on the thread
  // of its sender.
  std::function<void(std::string_view bytes, bool from_requester)> on_passing = {};
  // Once, when the exchange is over, however it ended.
  std::function<void()> on_over = {};
};

// `client` outlives the exchange. Best with the client of the connection's own thread
// (LocalClients::here()); any works. The client's connection is closed as soon as the requesting
// side leaves, and the other way round: a body cut off there is cut off here, never ended.
void forward(const Request& request, std::shared_ptr<ResponseWriter> writer, Client& client,
             Forwarding forwarding);

// Header fields without those of one connection (RFC 9110 section 7.6.1): the hop-by-hop ones,
// those that Connection names, and the framing. Order and repetitions are kept.
Headers end_to_end_headers(const Headers& headers);

}  // namespace hekla::net
