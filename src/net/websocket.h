// WebSocket (RFC 6455) after the upgrade: frames to messages, and messages to a server's frames.
// Pure: bytes come from an upgraded connection and go to one; whoever owns both answers pings and
// closes.
//
// Our connections are readiness-driven queues, not Asio streams, so a library's stream class would
// have to be run over an imitation of one; the frames alone are less code than that imitation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace hekla::net {

enum class WebSocketOpcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

struct WebSocketMessage {
  WebSocketOpcode opcode = WebSocketOpcode::binary;
  std::string payload;
};

bool wants_websocket(const Request& request);
// The names in Sec-WebSocket-Protocol, in the client's order.
std::vector<std::string> websocket_protocols(const Request& request);
// The headers of the 101 answer; the error is the reason for a 400.
Result<Headers> websocket_answer(const Request& request, std::string_view protocol);

// One unfragmented, unmasked frame, as servers send them.
std::string websocket_frame(WebSocketOpcode opcode, std::string_view payload);
std::string websocket_close(std::uint16_t code, std::string_view reason);

// Puts the other side's frames together. After an error the connection's bytes mean nothing any
// more.
class WebSocketReader {
 public:
  // Clients mask their frames, servers do not.
  enum class From : std::uint8_t { client, server };
  explicit WebSocketReader(std::size_t max_message_bytes, From from = From::client)
      : limit_(max_message_bytes), from_(from) {}
  // Takes everything; appends the messages that became complete. Control frames come as messages.
  Result<void> feed(std::string_view data, std::vector<WebSocketMessage>& out);

 private:
  struct Head {
    bool final = false;
    WebSocketOpcode opcode{};
    std::size_t size = 0, length = 0;  // of the head, of the payload
  };
  // A size of 0: nothing yet.
  Result<Head> parse_head(std::string_view data) const;
  Result<void> check_head(std::uint8_t first, std::uint8_t second) const;
  void on_frame(const Head& head, std::string payload, std::vector<WebSocketMessage>& out);

  std::size_t limit_;
  From from_;
  std::string buffer_;
  WebSocketMessage partial_;
  bool in_message_ = false;
};

}  // namespace hekla::net
