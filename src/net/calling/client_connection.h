// One connection of a client to an origin: connect, handshake, then one call after another. A state
// machine on the client's thread. While it idles it listens for the server's goodbye.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/calling/call.h"
#include "net/own_ranges.h"
#include "net/wire/channel.h"
#include "net/wire/http_parser.h"

namespace hekla::net {

class ClientConnection;

// The client as its connections see it; outlives them.
class ConnectionPool {
 public:
  virtual ~ConnectionPool() = default;
  virtual SSL_CTX& tls() = 0;
  // Whom the certificate must name.
  virtual std::string server_name(const Origin& origin) const = 0;
  virtual std::string bearer_token() = 0;
  virtual Nanos connect_timeout() const = 0;
  // Whether open_socket() makes them; `done` only posts, and is not called once the client has
  // gone.
  virtual bool opens_sockets() const = 0;
  virtual void open_socket(std::function<void(Result<int>)> done) = 0;
  virtual const OwnRanges& own_ranges() const = 0;
  // The call is over and the connection is free for another.
  virtual void on_idle(const std::shared_ptr<ClientConnection>& connection) = 0;
  // The connection has closed. `undone` is a call that it has not begun, to be tried elsewhere.
  virtual void on_closed(const std::shared_ptr<ClientConnection>& connection,
                         const std::shared_ptr<Call>& undone) = 0;
};

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  ClientConnection(ConnectionPool& pool, asio::io_context& io, Origin origin);

  const Origin& origin() const { return origin_; }
  // From any thread. One call at a time.
  void run(std::shared_ptr<Call> call);
  void close_now(std::string why);
  // When it last became idle; the pool's lock guards it.
  MonoTime idle_since{};
  // Set while it runs a call that counts against the origin's limit; the pool's lock guards it.
  bool counted = false;
  // Which of the pool's certificates it was made with.
  int tls_generation = 0;

 private:
  using Io = Channel::Io;
  using Address = std::pair<std::string, int>;  // the bytes of a sockaddr, and its family
  enum class Stage { fresh, connecting, handshake, ready, closed };

  void take(std::shared_ptr<Call> call);
  void connect();
  void resolve();
  void try_next_address();
  void connect_by(int socket, const Address& address);
  void on_connected();
  void step_handshake();
  void retry_connecting();
  void send_request();
  void hold(bool held);
  void flush_soon();
  void pump();
  bool refill();
  void on_output_end();
  void arm_read();
  void on_readable();
  void on_input(std::string_view data);
  bool read_head(std::string_view& data);
  void read_body(std::string_view& data);
  void on_eof();
  void finish_call();
  void fail_call(Error error);
  void close();
  Error failure(const std::string& why) const;

  ConnectionPool& pool_;
  asio::io_context& io_;
  const Origin origin_;
  Stage stage_ = Stage::fresh;
  std::optional<Channel> channel_;
  std::optional<asio::ip::tcp::resolver> resolver_;
  std::optional<asio::steady_timer> connect_timer_, retry_timer_;
  MonoTime connect_began_{};
  std::vector<Address> addresses_;
  std::size_t next_address_ = 0;
  std::string connect_failure_;
  bool refused_ = false;  // that was it

  std::shared_ptr<Call> call_;
  std::string output_;
  std::size_t output_sent_ = 0;
  bool output_counted_ = false;  // by the call, as its head and whole body are not
  bool request_sent_ = false;
  bool sending_done_ = false, server_done_ = false;  // the halves of a tunnel
  HeadReader head_reader_;
  std::optional<ResponseHead> head_;
  BodyReader body_reader_;
  std::string body_;
  bool answered_ = false;  // a byte of the answer has come
  bool upgraded_ = false;  // that was the last of HTTP
  bool held_ = false;      // nothing is to be read
  bool reused_ = false;    // has served a call before this one
  bool broken_ = false;    // half of it is closed: not for another call
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool flush_posted_ = false;
};

}  // namespace hekla::net
