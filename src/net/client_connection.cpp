#include "net/client_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>

#include "net/listener.h"

namespace hekla::net {
namespace {

constexpr std::size_t kReadStep = 64 * 1024;
constexpr std::size_t kMaxHeadBytes = 256 * 1024;
constexpr int kReadsPerTurn = 16;
constexpr std::size_t kMaxPerWrite = 240 * 1024;
constexpr int kWritesPerTurn = 4;  // then others on this thread have their turn
constexpr std::chrono::milliseconds kRetryPause{50};

template <class Raw>
std::string raw_bytes(const Raw& address, std::size_t size = sizeof(Raw)) {
  return std::string(reinterpret_cast<const char*>(&address), size);
}

// The sockaddr of a literal address or a socket path; nullopt for a name.
std::optional<std::pair<std::string, int>> literal_address(const Origin& origin) {
  if (origin.scheme == Origin::Scheme::unix_socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    origin.host.copy(address.sun_path, sizeof address.sun_path - 1);
    return std::pair(raw_bytes(address), AF_UNIX);
  }
  sockaddr_in v4{};
  if (inet_pton(AF_INET, origin.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(origin.port);
    return std::pair(raw_bytes(v4), AF_INET);
  }
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET6, origin.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(origin.port);
    return std::pair(raw_bytes(v6), AF_INET6);
  }
  return std::nullopt;
}

std::string errno_text(int error) { return std::generic_category().message(error); }

}  // namespace

ClientConnection::ClientConnection(ConnectionPool& pool, asio::io_context& io, Origin origin)
    : pool_(pool), io_(io), origin_(std::move(origin)), head_reader_(kMaxHeadBytes) {}

void ClientConnection::run(std::shared_ptr<Call> call) {
  asio::post(io_, [self = shared_from_this(), call = std::move(call)]() mutable {
    self->take(std::move(call));
  });
}

void ClientConnection::close_now(std::string why) {
  asio::post(io_, [self = shared_from_this(), why = std::move(why)] {
    if (self->stage_ == Stage::closed) return;
    if (self->call_) return self->fail_call(self->failure(why));
    self->close();
  });
}

void ClientConnection::take(std::shared_ptr<Call> call) {
  // It may have closed while the call was on its way here: nothing has been sent.
  if (stage_ == Stage::closed) return pool_.on_closed(shared_from_this(), call);
  // Runs `order`, unless the call has left by then: at once when this is the thread.
  auto on_thread = [self = shared_from_this(), which = std::weak_ptr(call)](auto order) {
    auto task = [self, which, order = std::move(order)] {
      if (self->call_ && self->call_ == which.lock()) order(*self);
    };
    if (self->io_.get_executor().running_in_this_thread()) return task();
    asio::post(self->io_, std::move(task));
  };
  Call::Controls controls;
  controls.give_up = [self = shared_from_this(), which = std::weak_ptr(call)] {
    asio::post(self->io_, [self, which] {
      if (self->call_ && self->call_ == which.lock()) self->close();
    });
  };
  controls.hold = [on_thread](bool held) {
    on_thread([held](ClientConnection& self) { self.hold(held); });
  };
  controls.wake = [on_thread] { on_thread([](ClientConnection& self) { self.flush_soon(); }); };
  call_ = call;
  answered_ = false;
  if (!call->attach(std::move(controls))) {
    call_ = nullptr;
    if (stage_ == Stage::ready) return pool_.on_idle(shared_from_this());
    return close();
  }
  if (stage_ == Stage::ready)
    send_request();
  else
    connect();
}

void ClientConnection::connect() {
  stage_ = Stage::connecting;
  connect_began_ = real_clock().mono();
  connect_timer_.emplace(io_, pool_.connect_timeout());
  connect_timer_->async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error || self->stage_ == Stage::ready || self->stage_ == Stage::closed) return;
    self->fail_call(self->failure("connecting took too long"));
  });
  if (std::optional<Address> address = literal_address(origin_)) {
    addresses_.push_back(std::move(*address));
    try_next_address();
  } else {
    resolve();
  }
}

void ClientConnection::resolve() {
  resolver_.emplace(io_);
  auto done = [self = shared_from_this()](boost::system::error_code error,
                                          const asio::ip::tcp::resolver::results_type& results) {
    if (self->stage_ != Stage::connecting) return;
    if (error) return self->fail_call(self->failure("looking up the name: " + error.message()));
    for (const auto& entry : results) {
      asio::ip::tcp::endpoint endpoint = entry.endpoint();
      self->addresses_.emplace_back(
          std::string(reinterpret_cast<const char*>(endpoint.data()), endpoint.size()),
          endpoint.data()->sa_family);
    }
    self->try_next_address();
  };
  resolver_->async_resolve(origin_.host, std::to_string(origin_.port), std::move(done));
}

void ClientConnection::try_next_address() {
  while (next_address_ < addresses_.size()) {
    const Address& address = addresses_[next_address_++];
    if (address.second == AF_INET && pool_.opens_sockets()) {
      pool_.open_socket([weak = weak_from_this(), address](Result<int> made) {
        auto socket = std::make_shared<Socket>(made.value_or(-1));
        std::shared_ptr<ClientConnection> self = weak.lock();
        if (!self) return;
        asio::post(self->io_, [self, address, socket, made = std::move(made)] {
          if (self->stage_ != Stage::connecting) return;
          if (!made) return self->fail_call(self->failure(made.error().message));
          self->connect_by(socket->release(), address);
        });
      });
      return;
    }
    if (std::optional<std::string> refusal =
            pool_.own_ranges().refusal(reinterpret_cast<const sockaddr*>(address.first.data()))) {
      connect_failure_ = *refusal;
      continue;
    }
    const int socket = ::socket(address.second, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket >= 0) return connect_by(socket, address);
    connect_failure_ = errno_text(errno);
  }
  if (refused_ && call_ && real_clock().mono() < connect_began_ + call_->request().refused_retry)
    return retry_connecting();
  fail_call(failure(connect_failure_.empty() ? "the name has no address" : connect_failure_));
}

void ClientConnection::retry_connecting() {
  next_address_ = 0;
  refused_ = false;
  retry_timer_.emplace(io_, kRetryPause);
  retry_timer_->async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (!error && self->stage_ == Stage::connecting) self->try_next_address();
  });
}

void ClientConnection::connect_by(int fd, const Address& address) {
  Socket socket(fd);
  tune_socket(fd);
  int done = ::connect(fd, reinterpret_cast<const sockaddr*>(address.first.data()),
                       static_cast<socklen_t>(address.first.size()));
  if (done != 0 && errno != EINPROGRESS) {
    connect_failure_ = errno_text(errno);
    refused_ = errno == ECONNREFUSED;
    return try_next_address();
  }
  Ssl ssl;
  if (origin_.scheme == Origin::Scheme::https) {
    Result<Ssl> session = make_client_session(pool_.tls(), pool_.server_name(origin_));
    if (!session) return fail_call(failure(session.error().message));
    ssl = std::move(*session);
  }
  channel_.emplace(io_, socket.release(), std::move(ssl));
  channel_->wait_writable([self = shared_from_this()] { self->on_connected(); });
}

void ClientConnection::on_connected() {
  if (stage_ != Stage::connecting) return;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(channel_->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    connect_failure_ = errno_text(error);
    refused_ = error == ECONNREFUSED;
    channel_.reset();
    return try_next_address();
  }
  stage_ = Stage::handshake;
  step_handshake();
}

void ClientConnection::step_handshake() {
  if (stage_ != Stage::handshake) return;
  switch (channel_->handshake()) {
    case Io::done:
      stage_ = Stage::ready;
      connect_timer_.reset();
      send_request();
      return;
    case Io::want_read:
      channel_->wait_readable([self = shared_from_this()] { self->step_handshake(); });
      return;
    case Io::want_write:
      channel_->wait_writable([self = shared_from_this()] { self->step_handshake(); });
      return;
    case Io::eof:
      fail_call(failure("the server closed the connection in the TLS handshake"));
      return;
    case Io::failed:
      fail_call(failure(channel_->failure()));
      return;
  }
}

void ClientConnection::send_request() {
  output_ = call_->format_request(pool_.bearer_token());
  output_sent_ = 0;
  output_counted_ = request_sent_ = false;
  arm_read();
  pump();
}

// Takes effect at once; reading begins again in a turn of its own, since whoever asks may be a
// callback of this connection.
void ClientConnection::hold(bool held) {
  if (std::exchange(held_, held) == held || held || read_armed_) return;
  read_armed_ = true;
  asio::post(io_, [self = shared_from_this()] {
    self->read_armed_ = false;
    self->on_readable();
  });
}

// Many writes of one turn leave together.
void ClientConnection::flush_soon() {
  if (write_armed_ || std::exchange(flush_posted_, true)) return;
  asio::post(io_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->pump();
  });
}

void ClientConnection::pump() {
  for (int turn = 0; turn < kWritesPerTurn; ++turn) {
    if (write_armed_ || stage_ != Stage::ready) return;
    if (output_sent_ == output_.size() && !refill()) return;
    std::size_t taken = 0;
    Io done = channel_->write(std::string_view(output_).substr(output_sent_), taken);
    output_sent_ += taken;
    if (output_counted_ && call_) {
      std::shared_ptr<Call> call = call_;  // a callback may end it
      call->on_sent(taken);
    }
    if (done == Io::want_write) {
      write_armed_ = true;
      channel_->wait_writable([self = shared_from_this()] {
        self->write_armed_ = false;
        self->pump();
      });
    } else if (done != Io::done) {
      // The answer may be there although the server has stopped reading: let the read side decide.
      broken_ = true;
      output_ = {};
      output_sent_ = 0;
      return;
    }
  }
  flush_soon();
}

// False when there is nothing to send.
bool ClientConnection::refill() {
  output_.clear();
  output_sent_ = 0;
  if (!call_ || broken_) return false;
  if (output_.capacity() > 4 * kMaxPerWrite) output_ = {};
  output_counted_ = true;
  if (call_->take(output_, kMaxPerWrite) == Call::Left::nothing && output_.empty()) on_output_end();
  return !output_.empty();
}

// All of a request has left, or all of a tunnel's half.
void ClientConnection::on_output_end() {
  if (!upgraded_) {
    if (!std::exchange(request_sent_, true)) call_->on_request_sent();
    return;
  }
  if (std::exchange(sending_done_, true)) return;
  channel_->finish_sending();
  if (server_done_) finish_call();
}

void ClientConnection::arm_read() {
  if (read_armed_ || held_ || server_done_ || stage_ != Stage::ready) return;
  read_armed_ = true;
  channel_->wait_readable([self = shared_from_this()] {
    self->read_armed_ = false;
    self->on_readable();
  });
}

void ClientConnection::on_readable() {
  thread_local std::array<char, kReadStep> buffer;
  for (int turn = 0; stage_ == Stage::ready && !held_ && !server_done_; ++turn) {
    if (turn == kReadsPerTurn) {
      asio::post(io_, [self = shared_from_this()] { self->on_readable(); });
      return;
    }
    std::size_t got = 0;
    Io done = channel_->read(buffer, got);
    if (done == Io::want_read) break;
    if (done == Io::eof) return on_eof();
    if (done != Io::done) return call_ ? fail_call(failure(channel_->failure())) : close();
    if (!call_) return close();  // nobody asked: the server is not to be trusted with a next call
    on_input({buffer.data(), got});
    if (got < buffer.size() && stage_ == Stage::ready && !channel_->has_buffered()) break;
  }
  arm_read();
}

void ClientConnection::on_input(std::string_view data) {
  answered_ = true;
  while (call_ && !head_) {
    if (!read_head(data)) return;
  }
  if (call_) read_body(data);
  // Bytes after the answer belong to nothing.
  if (!call_ && !data.empty()) close();
}

// False when more bytes are needed or the connection has failed.
bool ClientConnection::read_head(std::string_view& data) {
  Parsed<bool> complete = head_reader_.feed(data);
  if (complete && !*complete) return false;
  Parsed<ResponseHead> head =
      complete ? parse_response_head(head_reader_.text()) : std::unexpected(complete.error());
  head_reader_.reset();
  if (!head) {
    fail_call(failure("malformed answer: " + head.error().message));
    return false;
  }
  if (head->status < 200 && head->status != 101) {
    call_->on_interim(head->status, head->headers);
    return stage_ == Stage::ready;
  }
  std::size_t limit = call_->is_stream() ? std::numeric_limits<std::size_t>::max()
                                         : call_->request().max_body_bytes;
  Parsed<BodyReader> body =
      BodyReader::for_response(*head, call_->request().method == "HEAD", limit);
  if (!body) {
    fail_call(failure("unreadable answer: " + body.error().message));
    return false;
  }
  upgraded_ = head->status == 101 && call_->is_stream() && request_sent_;
  if (upgraded_) call_->begin_tunnel();
  head_ = std::move(*head);
  body_reader_ = upgraded_ ? BodyReader::until_close() : std::move(*body);
  call_->on_head(head_->status, head_->headers);
  return true;
}

void ClientConnection::read_body(std::string_view& data) {
  Parsed<std::string_view> piece = body_reader_.gather(data, body_);
  std::shared_ptr<Call> call = call_;
  if (piece) call->on_data(*piece);
  if (body_.capacity() > 4 * kReadStep) body_ = {};
  if (stage_ != Stage::ready || !call_) return;
  if (!piece) {
    Error error = failure("unreadable answer: " + piece.error().message);
    if (piece.error().status == 413) error.code = Code::too_large;
    return fail_call(std::move(error));
  }
  if (!body_reader_.complete()) return;
  call->on_trailers(body_reader_.take_trailers());
  finish_call();
}

void ClientConnection::on_eof() {
  if (!call_) return close();
  if (upgraded_) {
    server_done_ = true;
    std::shared_ptr<Call> call = call_;
    if (!sending_done_ && call->on_server_end()) return;
    if (call_) finish_call();
    return;
  }
  broken_ = true;
  if (head_ && body_reader_.at_eof()) return finish_call();
  fail_call(failure("the server closed the connection before the end of its answer"));
}

void ClientConnection::finish_call() {
  bool reusable = !broken_ && wants_keep_alive(head_->headers, head_->minor_version) &&
                  head_->status != 101 && request_sent_ && !write_armed_;
  std::shared_ptr<Call> done = std::move(call_);
  call_ = nullptr;
  head_.reset();
  output_ = {};
  output_sent_ = 0;
  request_sent_ = held_ = false;
  reused_ = true;
  done->detach();
  // First the pool, then the caller: what the caller sends next finds this connection free.
  if (reusable)
    pool_.on_idle(shared_from_this());
  else
    close();
  done->finish({});
}

void ClientConnection::fail_call(Error error) {
  std::shared_ptr<Call> failed = std::move(call_);
  call_ = nullptr;
  bool stale = reused_ && !answered_ && failed && !failed->finished() && !failed->retried &&
               failed->may_repeat();
  if (failed) failed->detach();
  if (stale) failed->retried = true;
  if (stage_ != Stage::closed) {
    stage_ = Stage::closed;
    if (channel_) channel_->close();
    connect_timer_.reset();
    retry_timer_.reset();
    if (resolver_) resolver_->cancel();
    pool_.on_closed(shared_from_this(), stale ? failed : nullptr);
  }
  if (failed && !stale) failed->finish(std::unexpected(std::move(error)));
}

void ClientConnection::close() { fail_call(failure("the connection was closed")); }

Error ClientConnection::failure(const std::string& why) const {
  std::string what = call_ ? call_->request().method + " " + call_->request().url : origin_.host;
  return Error{Code::unavailable, what + ": " + why};
}

}  // namespace hekla::net
