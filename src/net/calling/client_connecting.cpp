// How a client's connection comes about: name, address, socket, handshake.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>

#include "net/calling/client_connection.h"
#include "net/listener.h"

namespace hekla::net {
namespace {

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

}  // namespace hekla::net
