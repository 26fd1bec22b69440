// A WebSocket on which the server alone has something to say: logs and watches.
#pragma once

#include <memory>
#include <string_view>

#include "net/http.h"
#include "net/websocket.h"

namespace hekla::apiserver {

// Pings are answered; when the client closes or speaks nonsense, the connection ends. Any thread.
class OneWaySocket : public std::enable_shared_from_this<OneWaySocket> {
 public:
  OneWaySocket(std::shared_ptr<net::ResponseWriter> writer, net::Headers answer)
      : writer_(std::move(writer)), answer_(std::move(answer)) {}

  void open();
  void send(net::WebSocketOpcode opcode, std::string_view message);
  void close();
  net::ResponseWriter& writer() const { return *writer_; }

 private:
  void receive(std::string_view bytes);

  std::shared_ptr<net::ResponseWriter> writer_;
  net::Headers answer_;
  net::WebSocketReader reader_{4096};  // the client has little to say
};

}  // namespace hekla::apiserver
