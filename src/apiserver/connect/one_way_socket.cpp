#include "apiserver/connect/one_way_socket.h"

namespace hekla::apiserver {

namespace {

constexpr std::uint16_t kSocketDone = 1000, kSocketClientWrong = 1002;

void end_socket(net::ResponseWriter& writer, std::uint16_t code, std::string_view reason) {
  if (writer.is_closed()) return;
  writer.write(net::websocket_close(code, reason));
  writer.end();
}

}  // namespace

void OneWaySocket::open() {
  writer_->upgrade(std::move(answer_),
                   [self = shared_from_this()](std::string_view bytes) { self->receive(bytes); });
}

void OneWaySocket::send(net::WebSocketOpcode opcode, std::string_view message) {
  writer_->write(net::websocket_frame(opcode, message));
}

void OneWaySocket::close() { end_socket(*writer_, kSocketDone, ""); }

void OneWaySocket::receive(std::string_view bytes) {
  std::vector<net::WebSocketMessage> messages;
  Result<void> read = reader_.feed(bytes, messages);
  for (const net::WebSocketMessage& message : messages) {
    if (message.opcode == net::WebSocketOpcode::close) return close();
    if (message.opcode == net::WebSocketOpcode::ping)
      send(net::WebSocketOpcode::pong, message.payload);
  }
  if (!read) end_socket(*writer_, kSocketClientWrong, read.error().message);
}

}  // namespace hekla::apiserver
