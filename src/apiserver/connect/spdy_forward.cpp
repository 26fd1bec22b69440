// Port-forward over SPDY, directly or inside WebSocket messages: for each of the client's local
// connections a pair of streams, data and error, with the same request id.
#include <charconv>
#include <map>
#include <mutex>

#include "apiserver/connect/connect.h"
#include "apiserver/connect/input_holds.h"
#include "base/check.h"
#include "net/spdy.h"
#include "net/websocket.h"

namespace hekla::apiserver {

namespace {

constexpr std::size_t kMaxMessageBytes = 16 * 1024 * 1024;
constexpr std::size_t kMaxConnections = 1024;
constexpr std::size_t kMaxEarlyBytes = 256 * 1024;  // of a connection the pod has not answered yet
constexpr std::uint16_t kNormalClosure = 1000;

// The client's bytes, with or without WebSocket around them.
class ForwardLink {
 public:
  ForwardLink(std::shared_ptr<net::ResponseWriter> writer, bool tunneled)
      : writer(writer), holds(std::move(writer)), tunneled_(tunneled) {}

  void send(std::string bytes) {
    writer->write(tunneled_ ? net::websocket_frame(net::WebSocketOpcode::binary, bytes)
                            : std::move(bytes));
  }
  Result<std::string> unwrap(std::string_view bytes) {
    if (!tunneled_) return std::string(bytes);
    std::vector<net::WebSocketMessage> messages;
    TRY(reader_.feed(bytes, messages));
    std::string out;
    for (net::WebSocketMessage& message : messages) {
      if (message.opcode == net::WebSocketOpcode::ping) {
        writer->write(net::websocket_frame(net::WebSocketOpcode::pong, message.payload));
      } else if (message.opcode == net::WebSocketOpcode::close) {
        writer->write(net::websocket_close(kNormalClosure, ""));
        writer->end();
      } else if (message.opcode != net::WebSocketOpcode::pong) {
        out += message.payload;
      }
    }
    return out;
  }
  const std::shared_ptr<net::ResponseWriter> writer;
  InputHolds holds;

 private:
  const bool tunneled_;
  net::WebSocketReader reader_{kMaxMessageBytes};
};

// Bytes out of the pod on one connection.
class StreamSink final : public kube::ForwardClient {
 public:
  StreamSink(std::shared_ptr<ForwardLink> link, std::uint32_t data, std::uint32_t error,
             std::function<void()> on_end)
      : link_(std::move(link)), data_(data), error_(error), on_end_(std::move(on_end)) {}
  ~StreamSink() override {
    if (held_) link_->holds.hold(false);
  }
  void write(std::string bytes) override {
    link_->send(net::SpdyWriter::data(data_, bytes, false));
  }
  void end() override {
    link_->send(net::SpdyWriter::data(data_, "", true) + net::SpdyWriter::data(error_, "", true));
    on_end_();
  }
  void fail_with(const std::string& message) {
    link_->send(net::SpdyWriter::data(error_, message, true) +
                net::SpdyWriter::data(data_, "", true));
  }
  bool is_closed() const override { return link_->writer->is_closed(); }
  std::size_t pending_bytes() const override { return link_->writer->pending_bytes(); }
  void hold_input(bool hold) override {
    if (held_.exchange(hold) != hold) link_->holds.hold(hold);
  }

 private:
  std::shared_ptr<ForwardLink> link_;
  const std::uint32_t data_, error_;
  const std::function<void()> on_end_;
  std::atomic<bool> held_ = false;
};

class SpdyForward final : public std::enable_shared_from_this<SpdyForward> {
 public:
  SpdyForward(std::shared_ptr<ForwardLink> link, ForwardTarget target)
      : link_(std::move(link)), target_(std::move(target)) {}

  void open(net::Headers answer) {
    link_->writer->on_closed([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->leave_all();
    });
    link_->writer->upgrade(std::move(answer), [self = shared_from_this()](std::string_view bytes) {
      self->receive(bytes);
    });
  }

 private:
  struct Pair {
    std::uint32_t data = 0, error = 0;
    std::uint16_t port = 0;
  };
  // Input waits here until the pod has answered; gone when both sides have ended.
  struct Connection {
    std::shared_ptr<kube::ForwardedConnection> pod;
    std::string early;
    bool holds_link = false;
    bool ended = false, pod_ended = false;
  };

  void receive(std::string_view bytes) {
    Result<std::string> plain = link_->unwrap(bytes);
    std::vector<net::SpdyEvent> events;
    Result<void> read = plain ? reader_.feed(*plain, events) : std::unexpected(plain.error());
    for (net::SpdyEvent& event : events) on_event(event);
    if (!read) link_->writer->abort();
  }
  void on_event(net::SpdyEvent& event) {
    using Kind = net::SpdyEvent::Kind;
    if (event.kind == Kind::ping) return link_->send(net::SpdyWriter::ping(event.id));
    if (event.kind == Kind::refused_stream)
      return link_->send(net::SpdyWriter::reset(event.id, net::SpdyWriter::kProtocolError));
    if (event.kind == Kind::stream) return on_stream(event);
    if (event.kind == Kind::reset) return drop(event.id);
    if (event.kind == Kind::data) on_data(event);
  }

  void on_stream(const net::SpdyEvent& event) {
    std::string_view port_text = event.headers.get("port");
    std::uint16_t port = 0;
    auto [end, error] =
        std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    bool full = pairs_.size() + connection_count() >= kMaxConnections;
    if (error != std::errc{} || end != port_text.data() + port_text.size() || port == 0 || full)
      return link_->send(net::SpdyWriter::reset(event.id, net::SpdyWriter::kRefusedStream));
    link_->send(frames_.syn_reply(event.id));
    std::string request(event.headers.get("requestid"));
    Pair& pair = pairs_[request];
    (event.headers.get("streamtype") == "error" ? pair.error : pair.data) = event.id;
    pair.port = port;
    if (pair.data == 0 || pair.error == 0) return;
    connect(pair);
    pairs_.erase(request);
  }
  void connect(const Pair& pair) {
    {
      std::lock_guard lock(mutex_);
      const bool added = connections_.try_emplace(pair.data).second;
      CHECK(added, "the reader refuses an id that has been used");
    }
    auto sink = std::make_shared<StreamSink>(link_, pair.data, pair.error,
                                             [weak = weak_from_this(), stream = pair.data] {
                                               if (auto self = weak.lock()) self->pod_ended(stream);
                                             });
    target_.streams->forward(
        target_.pod, pair.port, sink,
        [self = shared_from_this(), sink,
         pair](Result<std::shared_ptr<kube::ForwardedConnection>> pod) {
          if (pod) return self->connected(pair.data, std::move(*pod));
          sink->fail_with("error forwarding port " + std::to_string(pair.port) + " to pod " +
                          self->target_.pod.name + ", uid : " + pod.error().message);
          self->drop(pair.data);
        });
  }
  void connected(std::uint32_t stream, std::shared_ptr<kube::ForwardedConnection> pod) {
    std::lock_guard lock(mutex_);
    auto found = connections_.find(stream);
    if (found == connections_.end()) return pod->leave();
    Connection& connection = found->second;
    connection.pod = std::move(pod);
    release(connection);
    if (!connection.early.empty()) connection.pod->write(std::exchange(connection.early, {}));
    if (connection.ended) connection.pod->end();
  }
  void pod_ended(std::uint32_t stream) {
    std::lock_guard lock(mutex_);
    auto found = connections_.find(stream);
    if (found == connections_.end()) return;
    found->second.pod_ended = true;
    if (found->second.ended) remove(found);
  }
  std::size_t connection_count() {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }
  void release(Connection& connection) {
    if (std::exchange(connection.holds_link, false)) link_->holds.hold(false);
  }
  void on_data(net::SpdyEvent& event) {
    std::lock_guard lock(mutex_);
    auto found = connections_.find(event.id);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    connection.ended |= event.fin;
    if (!connection.pod) {
      connection.early += event.data;
      if (connection.early.size() > kMaxEarlyBytes && !std::exchange(connection.holds_link, true))
        link_->holds.hold(true);
      return;
    }
    if (!event.data.empty()) connection.pod->write(std::move(event.data));
    if (event.fin) connection.pod->end();
    if (connection.ended && connection.pod_ended) remove(found);
  }
  void drop(std::uint32_t stream) {
    std::lock_guard lock(mutex_);
    auto found = connections_.find(stream);
    if (found != connections_.end()) remove(found);
  }
  void remove(std::map<std::uint32_t, Connection>::iterator found) {
    if (found->second.pod) found->second.pod->leave();
    release(found->second);
    connections_.erase(found);
  }
  void leave_all() {
    std::lock_guard lock(mutex_);
    for (auto& [stream, connection] : connections_)
      if (connection.pod) connection.pod->leave();
    connections_.clear();
  }

  std::shared_ptr<ForwardLink> link_;
  const ForwardTarget target_;
  net::SpdyReader reader_;
  net::SpdyWriter frames_;
  std::map<std::string, Pair> pairs_;  // half open, by request id
  std::mutex mutex_;
  std::map<std::uint32_t, Connection> connections_;  // by data stream
};

}  // namespace

void run_spdy_forward(const ExchangePtr& exchange, net::Headers answer, ForwardTarget target,
                      bool tunneled) {
  auto link = std::make_shared<ForwardLink>(exchange->writer, tunneled);
  std::make_shared<SpdyForward>(std::move(link), std::move(target))->open(std::move(answer));
}

}  // namespace hekla::apiserver
