// Port-forward as the Python client asks for it: for the n-th port of the query channel 2n carries
// data and 2n+1 errors; the first message on each is the port, two bytes, little end first.
#include <mutex>

#include "apiserver/connect/connect.h"
#include "apiserver/connect/input_holds.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kMaxMessageBytes = 4 * 1024 * 1024;
constexpr std::size_t kMaxEarlyBytes = 256 * 1024;  // of a port that has not answered yet
constexpr std::uint16_t kNormalClosure = 1000;

class ChannelForward final : public std::enable_shared_from_this<ChannelForward> {
 public:
  ChannelForward(std::shared_ptr<net::ResponseWriter> writer, ForwardTarget target,
                 const std::vector<std::uint16_t>& ports)
      : writer_(std::move(writer)), holds_(writer_), target_(std::move(target)), ports_(ports) {
    channels_.resize(ports.size());
  }

  void open(net::Headers answer) {
    writer_->on_closed([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->leave_all();
    });
    writer_->upgrade(std::move(answer),
                     [self = shared_from_this()](std::string_view bytes) { self->receive(bytes); });
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const std::string port = {static_cast<char>(ports_[i] & 0xff),
                                static_cast<char>(ports_[i] >> 8)};
      send(2 * i, port);
      send(2 * i + 1, port);
    }
    for (std::size_t i = 0; i < ports_.size(); ++i) connect(i);
  }
  void send(std::size_t channel, std::string_view bytes) {
    writer_->write(
        net::websocket_frame(net::WebSocketOpcode::binary,
                             std::string(1, static_cast<char>(channel)) + std::string(bytes)));
  }
  // The protocol cannot say that one channel is over; the connection ends with its last.
  void ended() {
    if (++ended_ < ports_.size()) return;
    writer_->write(net::websocket_close(kNormalClosure, ""));
    writer_->end();
  }
  net::ResponseWriter& writer() { return *writer_; }
  InputHolds& holds() { return holds_; }

 private:
  // Input of a port waits in `early` until the pod has answered, and is dropped when it has
  // refused.
  struct Channel {
    std::shared_ptr<kube::ForwardedConnection> pod;
    std::string early;
    bool holds = false, refused = false;
  };
  class Sink final : public kube::ForwardClient {
   public:
    Sink(std::shared_ptr<ChannelForward> owner, std::size_t channel)
        : owner_(std::move(owner)), channel_(channel) {}
    ~Sink() override { hold_input(false); }
    void write(std::string bytes) override { owner_->send(channel_, bytes); }
    void end() override { owner_->ended(); }
    bool is_closed() const override { return owner_->writer().is_closed(); }
    std::size_t pending_bytes() const override { return owner_->writer().pending_bytes(); }
    void hold_input(bool hold) override {
      if (held_.exchange(hold) != hold) owner_->holds().hold(hold);
    }

   private:
    std::shared_ptr<ChannelForward> owner_;
    const std::size_t channel_;
    std::atomic<bool> held_ = false;
  };

  void connect(std::size_t i) {
    target_.streams->forward(
        target_.pod, ports_[i], std::make_shared<Sink>(shared_from_this(), 2 * i),
        [self = shared_from_this(), i](Result<std::shared_ptr<kube::ForwardedConnection>> pod) {
          if (pod) return self->connected(i, std::move(*pod));
          self->refused(i, pod.error());
        });
  }
  void connected(std::size_t i, std::shared_ptr<kube::ForwardedConnection> pod) {
    std::lock_guard lock(mutex_);
    if (left_) return pod->leave();
    Channel& channel = channels_[i];
    channel.pod = std::move(pod);
    release(channel);
    if (!channel.early.empty()) channel.pod->write(std::exchange(channel.early, {}));
  }
  void refused(std::size_t i, const Error& error) {
    {
      std::lock_guard lock(mutex_);
      channels_[i].refused = true;
      channels_[i].early = {};
      release(channels_[i]);
    }
    send(2 * i + 1, "error forwarding port " + std::to_string(ports_[i]) + " to pod " +
                        target_.pod.name + ", uid : " + error.message);
    ended();
  }
  void release(Channel& channel) {
    if (std::exchange(channel.holds, false)) holds_.hold(false);
  }
  void receive(std::string_view bytes) {
    std::vector<net::WebSocketMessage> messages;
    Result<void> read = reader_.feed(bytes, messages);
    for (const net::WebSocketMessage& message : messages) {
      if (message.opcode == net::WebSocketOpcode::ping)
        writer_->write(net::websocket_frame(net::WebSocketOpcode::pong, message.payload));
      else if (message.opcode == net::WebSocketOpcode::close)
        writer_->end();
      else if (message.opcode != net::WebSocketOpcode::pong && message.payload.size() > 1)
        on_channel(message.payload);
    }
    if (!read) writer_->abort();
  }
  void on_channel(std::string_view payload) {
    std::size_t channel = static_cast<std::uint8_t>(payload[0]);
    if (channel % 2 != 0 || channel / 2 >= ports_.size()) return;
    std::lock_guard lock(mutex_);
    Channel& of_port = channels_[channel / 2];
    if (of_port.refused) return;
    if (of_port.pod) return of_port.pod->write(std::string(payload.substr(1)));
    of_port.early += payload.substr(1);
    if (of_port.early.size() > kMaxEarlyBytes && !std::exchange(of_port.holds, true))
      holds_.hold(true);
  }
  void leave_all() {
    std::lock_guard lock(mutex_);
    left_ = true;
    for (Channel& channel : channels_)
      if (channel.pod) std::exchange(channel.pod, nullptr)->leave();
  }

  std::shared_ptr<net::ResponseWriter> writer_;
  InputHolds holds_;
  const ForwardTarget target_;
  const std::vector<std::uint16_t> ports_;
  net::WebSocketReader reader_{kMaxMessageBytes};
  std::atomic<std::size_t> ended_ = 0;
  std::mutex mutex_;
  bool left_ = false;
  std::vector<Channel> channels_;  // by port
};

}  // namespace

void run_websocket_forward(const ExchangePtr& exchange, net::Headers answer, ForwardTarget target,
                           const std::vector<std::uint16_t>& ports) {
  std::make_shared<ChannelForward>(exchange->writer, std::move(target), ports)
      ->open(std::move(answer));
}

}  // namespace hekla::apiserver
