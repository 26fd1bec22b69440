// A log over WebSocket: each piece of it is a message.
#include <algorithm>

#include "apiserver/connect/connect.h"
#include "apiserver/connect/one_way_socket.h"
#include "base/bytes.h"

namespace hekla::apiserver {

namespace {

class WebSocketLog final : public LogAnswer {
 public:
  WebSocketLog(ExchangePtr exchange, net::Headers answer, bool base64)
      : exchange_(std::move(exchange)),
        socket_(std::make_shared<OneWaySocket>(exchange_->writer, std::move(answer))),
        base64_(base64) {}

  void begin() override {
    exchange_->count(101);
    socket_->open();
  }
  void write(std::string bytes) override {
    if (base64_)
      socket_->send(net::WebSocketOpcode::text, base64_encode(bytes));
    else
      socket_->send(net::WebSocketOpcode::binary, bytes);
  }
  void end() override { socket_->close(); }
  bool is_closed() const override { return exchange_->writer->is_closed(); }
  std::size_t pending_bytes() const override { return exchange_->writer->pending_bytes(); }

 private:
  ExchangePtr exchange_;
  std::shared_ptr<OneWaySocket> socket_;
  const bool base64_;
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
