#include "cli/inside/waiting.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace hekla::cli {
namespace {

constexpr std::chrono::milliseconds kPause{250};
constexpr std::chrono::seconds kConnectPatience{2}, kWordEvery{10};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Null when there is no such name at present.
Addresses look_up(const std::string& name, const char* port) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  return Addresses(::getaddrinfo(name.c_str(), port, &hints, &list) == 0 ? list : nullptr);
}

bool connects(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  bool open = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0;
  pollfd ready{fd, POLLOUT, 0};
  const auto wait_ms = static_cast<int>(std::chrono::milliseconds(kConnectPatience).count());
  if (!open && errno == EINPROGRESS && ::poll(&ready, 1, wait_ms) == 1) {
    int why = 0;
    socklen_t size = sizeof why;
    open = ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0;
  }
  ::close(fd);
  return open;
}

Result<void> wait_until(const std::string& what, std::chrono::seconds patience,
                        const std::function<bool()>& is_so) {
  const MonoTime begun = real_clock().mono();
  MonoTime next_word = begun;
  while (!is_so()) {
    const MonoTime now = real_clock().mono();
    if (now - begun >= patience)
      return fail(Code::timeout,
                  what + " has not come within " + std::to_string(patience.count()) + " s");
    if (now >= next_word) {
      std::printf("waiting for %s\n", what.c_str());
      std::fflush(stdout);
      next_word = now + kWordEvery;
    }
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
  }
  return {};
}

}  // namespace

Result<void> wait_for_name(const std::string& name, std::chrono::seconds patience) {
  return wait_until(name, patience, [&] { return look_up(name, nullptr) != nullptr; });
}

Result<void> wait_for_port(const std::string& host, const std::string& port,
                           std::chrono::seconds patience) {
  return wait_until(host + ":" + port, patience, [&] {
    const Addresses found = look_up(host, port.c_str());
    for (const addrinfo* one = found.get(); one; one = one->ai_next)
      if (connects(*one)) return true;
    return false;
  });
}

}  // namespace hekla::cli
