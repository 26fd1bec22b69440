// A bound, listening TCP socket.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace hekla::net {

// An owned file descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int fd() const { return fd_; }
  int release();

 private:
  int fd_ = -1;
};

// `address` is an IPv4 or IPv6 address or a local name; port 0 takes a free one. Non-blocking.
Result<Socket> listen_on(const std::string& address, std::uint16_t port);
std::uint16_t local_port(const Socket& socket);

struct Accepted {
  Socket socket;  // non-blocking, tuned
  std::string remote_address;
};
// unavailable: nobody is waiting; too_many_requests: out of descriptors, try again later.
Result<Accepted> accept_from(int listener_fd);

}  // namespace hekla::net
