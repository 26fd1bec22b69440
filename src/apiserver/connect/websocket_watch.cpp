// A watch over WebSocket: each event is a text message. Java's fabric8 client watches so.
#include "apiserver/connect/connect.h"
#include "apiserver/connect/one_way_socket.h"

namespace hekla::apiserver {

namespace {

// Takes the lines of a watch as an HTTP answer would.
class WebSocketWatch final : public net::ResponseWriter {
 public:
  explicit WebSocketWatch(std::shared_ptr<OneWaySocket> socket) : socket_(std::move(socket)) {}

  void respond(net::Response response) override { under().respond(std::move(response)); }
  void begin(int, net::Headers) override { socket_->open(); }
  using ResponseWriter::write;
  void write(net::SharedBytes chunk) override {
    for (std::string_view rest = *chunk; !rest.empty();) {
      const std::size_t line = std::min(rest.find('\n'), rest.size() - 1) + 1;
      socket_->send(net::WebSocketOpcode::text, rest.substr(0, line));
      rest.remove_prefix(line);
    }
  }
  void end() override { socket_->close(); }
  void abort() override { under().abort(); }
  std::size_t pending_bytes() const override { return under().pending_bytes(); }
  void on_drained(std::function<void()> drained) override {
    under().on_drained(std::move(drained));
  }
  void on_closed(std::function<void()> closed) override { under().on_closed(std::move(closed)); }
  bool is_closed() const override { return under().is_closed(); }
  void upgrade(net::Headers headers, std::function<void(std::string_view)> on_data) override {
    under().upgrade(std::move(headers), std::move(on_data));
  }
  void pause_input(bool paused) override { under().pause_input(paused); }

 private:
  net::ResponseWriter& under() const { return socket_->writer(); }

  std::shared_ptr<OneWaySocket> socket_;
};

}  // namespace

Result<std::shared_ptr<net::ResponseWriter>> websocket_watch(const ExchangePtr& exchange) {
  const std::vector<std::string> offered = net::websocket_protocols(exchange->request);
  net::Headers answer =
      TRY(net::websocket_answer(exchange->request, offered.empty() ? "" : offered.front()));
  return std::make_shared<WebSocketWatch>(
      std::make_shared<OneWaySocket>(exchange->writer, std::move(answer)));
}

}  // namespace hekla::apiserver
