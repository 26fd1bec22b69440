// For tests: a blocking socket that says exactly what it is told, and waits with a limit.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "base/patience_test.h"
#include "net/listener.h"

namespace hekla::net {

// The next connection to a listening socket; none (-1) when nobody comes.
inline Socket accept_soon(const Socket& listener) {
  pollfd one{listener.fd(), POLLIN, 0};
  if (::poll(&one, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) != 1)
    return {};
  return Socket(::accept(listener.fd(), nullptr, nullptr));
}

class RawPeer {
 public:
  explicit RawPeer(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      ::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    limit_waits();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  // The other end of an accepted connection.
  explicit RawPeer(Socket socket) : socket_(std::move(socket)), connected_(socket_.fd() >= 0) {
    limit_waits();
  }

  bool connected() const { return connected_; }

  bool send(std::string_view text) {
    while (!text.empty()) {
      ssize_t sent = ::send(socket_.fd(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void half_close() { ::shutdown(socket_.fd(), SHUT_WR); }

  // More bytes into `received`; false at the end, on an error, or when nothing comes for too long.
  bool receive_some() {
    std::array<char, 65536> buffer;
    ssize_t got = ::recv(socket_.fd(), buffer.data(), buffer.size(), 0);
    if (got > 0) received.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  const std::string& receive_until(std::string_view mark) {
    std::size_t from = 0;
    while (received.find(mark, from) == std::string::npos) {
      from = received.size() - std::min(received.size(), mark.size());
      if (!receive_some()) break;
    }
    return received;
  }
  const std::string& receive_all() {
    while (receive_some()) {
    }
    return received;
  }

  std::string received;

 private:
  void limit_waits() {
    const timeval limit{kPatience.count(), 0};
    for (int wait : {SO_RCVTIMEO, SO_SNDTIMEO})
      ::setsockopt(socket_.fd(), SOL_SOCKET, wait, &limit, sizeof limit);
  }

  Socket socket_;
  bool connected_ = false;
};

}  // namespace hekla::net
