// Exec and attach over WebSocket: each message is a channel's number and bytes.
#include "apiserver/connect/connect.h"
#include "base/bytes.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kMaxMessageBytes = 4 * 1024 * 1024;
constexpr std::uint16_t kNormalClosure = 1000, kProtocolError = 1002;
enum Channel : std::uint8_t { kIn = 0, kOut = 1, kErr = 2, kStatus = 3, kResize = 4, kClose = 255 };

class WebSocketExec final : public kube::ProcessClient,
                            public std::enable_shared_from_this<WebSocketExec> {
 public:
  WebSocketExec(std::shared_ptr<net::ResponseWriter> writer, ChannelProtocol protocol,
                std::shared_ptr<kube::PodProcess> process)
      : writer_(std::move(writer)), protocol_(std::move(protocol)), process_(std::move(process)) {}

  void open(net::Headers answer) {
    writer_->on_closed([process = process_] { process->leave(); });
    writer_->upgrade(std::move(answer),
                     [self = shared_from_this()](std::string_view bytes) { self->receive(bytes); });
    process_->begin(shared_from_this());
  }

  void write(Output which, std::string bytes) override {
    send(which == Output::out ? kOut : kErr, bytes);
  }
  void finish(Result<int> exit_code) override {
    if (std::string status = exec_status(exit_code, protocol_.text_status); !status.empty())
      send(kStatus, status);
    close(kNormalClosure, "");
  }
  bool is_closed() const override { return writer_->is_closed(); }
  std::size_t pending_bytes() const override { return writer_->pending_bytes(); }
  void hold_input(bool hold) override { writer_->pause_input(hold); }

 private:
  void send(Channel channel, std::string_view bytes) {
    if (protocol_.base64)
      return writer_->write(net::websocket_frame(
          net::WebSocketOpcode::text,
          std::string(1, static_cast<char>('0' + channel)) + base64_encode(bytes)));
    writer_->write(
        net::websocket_frame(net::WebSocketOpcode::binary,
                             std::string(1, static_cast<char>(channel)) + std::string(bytes)));
  }
  void close(std::uint16_t code, std::string_view reason) {
    writer_->write(net::websocket_close(code, reason));
    writer_->end();
  }

  void receive(std::string_view bytes) {
    std::vector<net::WebSocketMessage> messages;
    Result<void> read = reader_.feed(bytes, messages);
    for (const net::WebSocketMessage& message : messages) on_message(message);
    if (read) return;
    process_->leave();
    close(kProtocolError, read.error().message);
  }
  void on_message(const net::WebSocketMessage& message) {
    switch (message.opcode) {
      case net::WebSocketOpcode::ping:
        return writer_->write(net::websocket_frame(net::WebSocketOpcode::pong, message.payload));
      case net::WebSocketOpcode::close:
        process_->leave();
        return close(kNormalClosure, "");
      case net::WebSocketOpcode::pong:
        return;
      default:
        if (!message.payload.empty()) on_channel(message.payload);
    }
  }
  void on_channel(std::string_view payload) {
    auto channel = static_cast<std::uint8_t>(payload[0]);
    std::string bytes(payload.substr(1));
    if (protocol_.base64) {
      channel = static_cast<std::uint8_t>(channel - '0');
      std::optional<std::string> decoded = base64_decode(bytes);
      if (!decoded) return;
      bytes = std::move(*decoded);
    }
    if (channel == kIn && !bytes.empty()) process_->write_input(std::move(bytes));
    if (channel == kResize) resize_process(*process_, bytes);
    if (channel == kClose && bytes == std::string(1, static_cast<char>(kIn))) process_->end_input();
  }

  std::shared_ptr<net::ResponseWriter> writer_;
  const ChannelProtocol protocol_;
  std::shared_ptr<kube::PodProcess> process_;
  net::WebSocketReader reader_{kMaxMessageBytes};
};

}  // namespace

void run_websocket_exec(const ExchangePtr& exchange, net::Headers answer, ChannelProtocol protocol,
                        std::shared_ptr<kube::PodProcess> process) {
  std::make_shared<WebSocketExec>(exchange->writer, std::move(protocol), std::move(process))
      ->open(std::move(answer));
}

}  // namespace hekla::apiserver
