// One client's connection to a server: handshake, requests one after another, their answers, the
// end. A state machine on one net thread; the read side stays armed while an answer is under way,
// so that a client that leaves is noticed. connection.cpp is its life and its clock,
// connection_input.cpp the way from bytes to the handler, connection_output.cpp the way back.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "net/server_options.h"
#include "net/serving/exchange.h"
#include "net/serving/ready_connections.h"
#include "net/wire/channel.h"
#include "net/wire/http_parser.h"

namespace hekla::net {

class Connection;

// State that connections share; the server owns it and outlives them.
struct ConnectionHost {
  ServerOptions options;
  Handler handler;
  SslContext tls;                                 // null without TLS
  std::atomic<std::size_t> unfinished_bytes = 0;  // of all connections, see ServerOptions
  std::atomic<std::size_t> unread_bytes = 0;      // likewise
  // Called on the connection's thread when it has closed.
  std::function<void(const std::shared_ptr<Connection>&)> on_closed;
};

class Connection : public ReadyConnection, public std::enable_shared_from_this<Connection> {
 public:
  // `ready` is that of the thread the connection lives on.
  Connection(ConnectionHost& host, ReadyConnections& ready, int fd, Ssl ssl,
             std::string remote_address);
  ~Connection() override;

  // From any thread.
  void start();
  // Ends an open stream, lets a request under way finish, closes.
  void begin_shutdown();
  void close_now();
  // Closes if the present stage has lasted longer than it may.
  void check_deadline(MonoTime now);
  // Since when nothing of it is being answered, in nanoseconds of the monotonic clock; never while
  // something is.
  MonoTime::rep idle_since() const { return idle_since_.load(std::memory_order_relaxed); }
  // Closes it for somebody else's sake, unless a request has come meanwhile.
  void give_way();
  // Of a complete answer that its reader does not take, and since when it has taken nothing; none:
  // 0 and never.
  std::size_t unread_bytes() const { return unread_bytes_.load(std::memory_order_relaxed); }
  MonoTime::rep stuck_since() const { return stuck_since_.load(std::memory_order_relaxed); }
  // Closes it unless its reader has gone on since.
  void break_off(MonoTime::rep stuck_since);

  // Called by its thread after a wake: what was written goes out, what waited is delivered.
  void take_turn() override;
  void fetch_parts() const override;

 private:
  enum class Stage { handshake, requests, lingering, closed };
  using Io = Channel::Io;
  static constexpr MonoTime::rep kNever = std::numeric_limits<MonoTime::rep>::max();
  static MonoTime::rep now_count() { return real_clock().mono().time_since_epoch().count(); }

  void wake();
  void step_handshake();
  void linger();
  void close();
  // Deadlines.
  void set_deadline(Nanos from_now);
  void clear_deadline();
  void begin_deadlines();
  void update_deadline();
  void note_input();
  void note_tunnel_input();
  void expire();

  // Input.
  void arm_read();
  void on_readable();
  void read_available();
  void take_input(std::string_view data);
  void deliver_input();
  void deliver(std::string_view& data);
  void end_body();
  void fail_body(const HttpError& error);
  bool drop_body();
  bool body_is_far_from_end() const;
  void on_peer_done();
  void process_input();
  bool parse_next();
  Parsed<bool> read_request(std::string_view& data);
  Parsed<RouteRules> rules_of(const Request& head) const;
  void await_rest();
  void dispatch();
  void call_handler(Request request, std::shared_ptr<ResponseWriter> writer);
  void reject(const HttpError& error);
  void account_input();
  bool holds_too_much() const;

  // Output.
  void send_continue();
  void pump();
  bool is_deserted() const;
  bool write_some();
  bool after_write(Io done);
  void await_reader();
  void account_unread(std::size_t bytes);
  void on_drained();
  void finish_exchange();
  void finish_sending();

  ConnectionHost& host_;
  ReadyConnections& ready_;
  // Fields that a turn touches come first: hundreds of watches do not fit into the processor's
  // nearest cache.
  std::atomic<bool> woken_ = false;  // and its turn has not come
  Stage stage_ = Stage::handshake;
  bool answer_taken_ = false;  // the exchange has nothing more to give
  bool wrote_ = false;         // since the last drain
  bool request_started_ = false, head_came_ = false;
  bool read_armed_ = false;
  bool read_held_ = false;  // until output has left or the reader goes on
  bool more_to_read_ = false;
  bool write_armed_ = false;
  bool was_blocked_ = false;      // by a reader, since the last time that all was taken
  bool waits_as_stream_ = false;  // blocked before the answer was complete
  bool processing_ = false;
  bool pumping_ = false;
  bool peer_done_ = false;              // end of file on the read side
  bool close_after_ = false;            // no further requests
  bool stopping_ = false;               // the server is
  bool reading_body_ = false;           // a streamed one has not come to its end
  bool input_wanted_ = false;           // of it, the last time that somebody looked
  bool continue_wanted_ = false;        // by a client that waits with such a body
  bool sending_done_ = false;           // of a tunnel, whose other half goes on
  std::shared_ptr<Exchange> exchange_;  // the request being answered
  std::string output_;                  // to be sent before the exchange is asked for more
  Channel channel_;

  std::atomic<MonoTime::rep> deadline_;  // kNever or nanoseconds of the monotonic clock
  std::atomic<MonoTime::rep> idle_since_, stuck_since_;
  std::atomic<std::size_t> unread_bytes_ = 0;  // of the host's unread_bytes
  const std::string remote_address_;
  RequestParser parser_;
  RouteRules rules_;           // of the request that is being read or answered
  MonoTime request_began_{};   // its first byte, if it did not come whole
  MonoTime::rep total_until_;  // the parts of deadline_ while there is an exchange
  MonoTime::rep body_until_;
  MonoTime::rep input_since_ = 0, blocked_since_ = 0;
  std::string input_;          // read and not yet parsed
  std::size_t accounted_ = 0;  // of the host's unfinished_bytes
  std::optional<PeerCertificate> peer_;
};

}  // namespace hekla::net
