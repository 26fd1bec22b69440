#include "dashboard/stream/stream.h"

#include <utility>

#include "dashboard/stream/connection.h"
#include "net/websocket.h"

namespace hekla::dashboard {

namespace {

// The side of a connection that lives on its net thread: bytes to messages.
class Input {
 public:
  Input(std::shared_ptr<StreamShared> shared, std::shared_ptr<net::ResponseWriter> writer,
        std::shared_ptr<Connection> connection)
      : shared_(std::move(shared)),
        writer_(std::move(writer)),
        connection_(std::move(connection)),
        reader_(shared_->limits.message_bytes) {}

  void feed(std::string_view data) {
    std::vector<net::WebSocketMessage> messages;
    Result<void> read = reader_.feed(data, messages);
    for (net::WebSocketMessage& message : messages) take(message);
    if (!read) end(1002, read.error().message);
  }

 private:
  void take(const net::WebSocketMessage& message) {
    switch (message.opcode) {
      case net::WebSocketOpcode::ping:
        return writer_->write(net::websocket_frame(net::WebSocketOpcode::pong, message.payload));
      case net::WebSocketOpcode::close:
        return end(1000, "");
      case net::WebSocketOpcode::text:
        return request(message.payload);
      case net::WebSocketOpcode::binary:
        return end(1003, "messages are text");
      default:
        return;
    }
  }
  void request(const std::string& text) {
    Result<StreamRequest> parsed = parse_stream_request(text);
    if (!parsed) return end(1007, parsed.error().message);
    Task task = [connection = connection_, request = std::move(*parsed)]() mutable {
      connection->receive(std::move(request));
    };
    if (!shared_->loop.try_post(task)) end(1013, "busy; come again");
  }
  void end(std::uint16_t code, std::string_view reason) {
    writer_->write(net::websocket_close(code, reason));
    writer_->end();
  }

  std::shared_ptr<StreamShared> shared_;
  std::shared_ptr<net::ResponseWriter> writer_;
  std::shared_ptr<Connection> connection_;
  net::WebSocketReader reader_;
};

}  // namespace

Streams::Streams(Executor& loop, kube::Client& client, kube::Authorizer& authorizer,
                 kube::StreamTopics topics, StreamLimits limits)
    : shared_(std::make_shared<StreamShared>(loop, client, authorizer, std::move(topics), limits)) {
}

void Streams::serve(kube::WebExchange exchange) {
  Result<net::Headers> headers =
      net::wants_websocket(exchange.request)
          ? net::websocket_answer(exchange.request, "")
          : fail(Code::bad_request, "the stream is a WebSocket: send an Upgrade");
  if (!headers)
    return exchange.writer->respond({.status = 400, .body = headers.error().message + "\n"});
  std::shared_ptr<net::ResponseWriter> writer = exchange.writer;
  auto connection = std::make_shared<Connection>(shared_, writer, std::move(exchange.user));
  auto post = [shared = shared_, connection](void (Connection::*what)()) {
    return [shared, connection, what] {
      shared->loop.post([connection, what] { ((*connection).*what)(); });
    };
  };
  writer->on_drained(post(&Connection::pump));
  writer->on_closed(post(&Connection::close));
  auto input = std::make_shared<Input>(shared_, writer, connection);
  writer->upgrade(std::move(*headers), [input](std::string_view data) { input->feed(data); });
  shared_->loop.post_after(shared_->limits.ask_again, [connection] { connection->keep(); });
}

}  // namespace hekla::dashboard
