// A log over WebSocket: each piece of it is a message.
#include <algorithm>

#include "apiserver/connect/connect.h"
#include "base/bytes.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kLargestClientMessage = 4096;  // it has nothing to say
constexpr std::uint16_t kLogEnded = 1000, kLogClientWrong = 1002;

class WebSocketLog final : public LogAnswer, public std::enable_shared_from_this<WebSocketLog> {
 public:
  WebSocketLog(ExchangePtr exchange, net::Headers answer, bool base64)
      : exchange_(std::move(exchange)), answer_(std::move(answer)), base64_(base64) {}

  void begin() override {
    exchange_->count(101);
    exchange_->writer->upgrade(
        std::move(answer_),
        [self = shared_from_this()](std::string_view bytes) { self->receive(bytes); });
  }
  void write(std::string bytes) override {
    exchange_->writer->write(
        base64_ ? net::websocket_frame(net::WebSocketOpcode::text, base64_encode(bytes))
                : net::websocket_frame(net::WebSocketOpcode::binary, bytes));
  }
  void end() override { close(kLogEnded, ""); }
  bool is_closed() const override { return exchange_->writer->is_closed(); }
  std::size_t pending_bytes() const override { return exchange_->writer->pending_bytes(); }

 private:
  void close(std::uint16_t code, std::string_view reason) {
    exchange_->writer->write(net::websocket_close(code, reason));
    exchange_->writer->end();
  }
  void receive(std::string_view bytes) {
    std::vector<net::WebSocketMessage> messages;
    Result<void> read = reader_.feed(bytes, messages);
    for (const net::WebSocketMessage& message : messages) {
      if (message.opcode == net::WebSocketOpcode::close) return close(kLogEnded, "");
      if (message.opcode == net::WebSocketOpcode::ping)
        exchange_->writer->write(net::websocket_frame(net::WebSocketOpcode::pong, message.payload));
    }
    if (!read) close(kLogClientWrong, read.error().message);
  }

  ExchangePtr exchange_;
  net::Headers answer_;
  const bool base64_;
  net::WebSocketReader reader_{kLargestClientMessage};
};

}  // namespace

Result<std::shared_ptr<LogAnswer>> websocket_log(const ExchangePtr& exchange) {
  constexpr std::string_view kBinary = "binary.k8s.io", kBase64 = "base64.binary.k8s.io";
  const std::vector<std::string> offered = net::websocket_protocols(exchange->request);
  auto known = std::ranges::find_if(
      offered, [&](const std::string& name) { return name == kBinary || name == kBase64; });
  if (known == offered.end() && !offered.empty())
    return fail(Code::bad_request, "unable to upgrade: no protocol for logs in common");
  const std::string protocol = known == offered.end() ? std::string() : *known;
  net::Headers answer = TRY(net::websocket_answer(exchange->request, protocol));
  return std::make_shared<WebSocketLog>(exchange, std::move(answer), protocol == kBase64);
}

}  // namespace hekla::apiserver
