// One client's connection to a server: handshake, requests one after another, their answers, the
// end. A state machine on one net thread; the read side stays armed while an answer is under way,
// so that a client that leaves is noticed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fetch_ahead.h"
#include "net/channel.h"
#include "net/exchange.h"
#include "net/http_parser.h"
#include "net/ready_connections.h"
#include "net/server.h"

namespace hekla::net {

class Connection;

// What connections share; the server owns it and outlives them.
struct ConnectionHost {
  ServerOptions options;
  Handler handler;
  SslContext tls;                                 // null without TLS
  std::atomic<std::size_t> unfinished_bytes = 0;  // of all connections, see ServerOptions
  std::atomic<std::size_t> unread_bytes = 0;      // likewise
  // Called on the connection's thread when it has closed.
  std::function<void(const std::shared_ptr<Connection>&)> on_closed;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `ready` is that of the thread the connection lives on.
  Connection(ConnectionHost& host, ReadyConnections& ready, int fd, Ssl ssl,
             std::string remote_address);
  ~Connection();

  // From any thread.
  void start();
  // Ends an open stream, lets a request under way finish, closes.
  void begin_shutdown();
  void close_now();
  // Closes if the present stage has lasted longer than it may.
  void check_deadline(MonoTime now);
  // Called by its thread after a wake: what was written goes out, what waited is delivered.
  void take_turn();
  // Its turn comes soon: what it touches is fetched, first the connection, then what it points to.
  void fetch() const { fetch_ahead(this, sizeof *this); }
  void fetch_parts() const;
  // Since when nothing of it is being answered, in nanoseconds of the monotonic clock; never while
  // something is.
  MonoTime::rep idle_since() const { return idle_since_.load(std::memory_order_relaxed); }
  // Closes it for somebody else's sake, unless a request has come meanwhile.
  void give_way();
  // Of a complete answer that its reader does not take, and since when it has taken nothing; none:
  // never.
  std::size_t unread_bytes() const { return unread_bytes_.load(std::memory_order_relaxed); }
  MonoTime::rep stuck_since() const { return stuck_since_.load(std::memory_order_relaxed); }
  // Closes it unless its reader has gone on since.
  void break_off(MonoTime::rep stuck_since);

 private:
  enum class Stage { handshake, requests, lingering, closed };
  using Io = Channel::Io;

  void wake();
  void step_handshake();
  void arm_read();
  void on_readable();
  void read_available();
  void deliver_input();
  void process_input();
  bool parse_next();
  void dispatch();
  void call_handler(Request request, std::shared_ptr<ResponseWriter> writer);
  void reject(const HttpError& error);
  void account_input();
  bool holds_too_much() const;
  void account_unread(std::size_t bytes);
  void pump();
  bool write_some();
  bool after_write(Io done);
  void on_drained();
  void finish_exchange();
  void linger();
  void close();
  void set_deadline(Nanos from_now);
  void clear_deadline();

  ConnectionHost& host_;
  ReadyConnections& ready_;
  // What a turn touches comes first: hundreds of watches do not fit into the processor's nearest
  // cache.
  std::atomic<bool> woken_ = false;  // and its turn has not come
  Stage stage_ = Stage::handshake;
  bool answer_taken_ = false;  // the exchange has nothing more to give
  bool wrote_ = false;         // since the last drain
  bool request_started_ = false;
  bool read_armed_ = false;
  bool more_to_read_ = false;
  bool write_armed_ = false;
  bool processing_ = false;
  bool pumping_ = false;
  bool peer_done_ = false;              // end of file on the read side
  bool close_after_ = false;            // no further requests
  bool stopping_ = false;               // the server is
  std::shared_ptr<Exchange> exchange_;  // the request being answered
  std::string output_;                  // to be sent before the exchange is asked for more
  Channel channel_;

  std::atomic<MonoTime::rep> deadline_;  // kNever or nanoseconds of the monotonic clock
  std::atomic<MonoTime::rep> idle_since_, stuck_since_;
  std::atomic<std::size_t> unread_bytes_ = 0;  // of the host's unread_bytes
  const std::string remote_address_;
  RequestParser parser_;
  std::string input_;          // read and not yet parsed
  std::size_t accounted_ = 0;  // of the host's unfinished_bytes
  std::optional<PeerCertificate> peer_;
};

}  // namespace hekla::net
