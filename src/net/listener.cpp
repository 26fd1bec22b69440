#include "net/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "net/wire/channel.h"

namespace hekla::net {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

Result<Socket> bind_and_listen(const addrinfo& info, const std::string& where) {
  Socket socket(::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd() < 0)
    return fail(Code::unavailable, "opening a socket for " + where + ": " + errno_text());
  int on = 1;
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.fd(), info.ai_addr, info.ai_addrlen) != 0)
    return fail(Code::unavailable, "listening on " + where + ": " + errno_text());
  if (::listen(socket.fd(), 1024) != 0)
    return fail(Code::unavailable, "listening on " + where + ": " + errno_text());
  return socket;
}

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text.data(),
              text.size());
  else if (address.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text.data(),
              text.size());
  std::string_view plain = text.data();
  // An IPv4 client of a dual-stack listener.
  if (plain.starts_with("::ffff:") && plain.find('.') != std::string_view::npos)
    plain.remove_prefix(7);
  return std::string(plain);
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

int Socket::release() { return std::exchange(fd_, -1); }

Result<Socket> listen_on(const std::string& address, std::uint16_t port) {
  std::string where = address + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  int error = getaddrinfo(address.empty() ? nullptr : address.c_str(), std::to_string(port).c_str(),
                          &hints, &found);
  if (error != 0)
    return fail(Code::bad_request, "listening on " + where + ": " + gai_strerror(error));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  return bind_and_listen(*found, where);
}

std::uint16_t local_port(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Result<Accepted> accept_from(int listener_fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  Socket socket(::accept4(listener_fd, reinterpret_cast<sockaddr*>(&address), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.fd() < 0) {
    bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return fail(exhausted ? Code::too_many_requests : Code::unavailable, "accept: " + errno_text());
  }
  tune_socket(socket.fd());
  return Accepted{std::move(socket), address_text(address)};
}

}  // namespace hekla::net
