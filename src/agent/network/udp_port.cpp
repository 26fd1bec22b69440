#include "agent/network/udp_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

namespace hekla::agent {
namespace {

constexpr std::size_t kMostSessions = 1024, kMostWaiting = 16, kLargestDatagram = 65536;
constexpr std::chrono::seconds kIdle{120}, kExpiryPeriod{30};
constexpr int kBurst = 64;  // datagrams before others have their turn

}  // namespace

void UdpPort::start() {
  loop_.watch(socket_.get(), EPOLLIN, [self = weak_from_this()](std::uint32_t) {
    if (auto port = self.lock()) port->receive();
  });
  expire();
}

void UdpPort::stop() {
  stopped_ = true;
  loop_.watch(socket_.get(), 0, {});
  for (auto& [client, session] : sessions_)
    if (session.pod) loop_.watch(session.pod.get(), 0, {});
  sessions_.clear();
}

void UdpPort::receive() {
  std::string buffer(kLargestDatagram, '\0');
  for (int i = 0; i < kBurst; ++i) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    ssize_t n = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                           reinterpret_cast<sockaddr*>(&from), &size);
    if (n < 0) return;
    const Client client{from.sin_addr.s_addr, from.sin_port};
    auto found = sessions_.find(client);
    if (found == sessions_.end()) {
      if (targets_.empty() || sessions_.size() >= kMostSessions) continue;
      found = sessions_.emplace(client, Session{}).first;
      open_session(client);
      found = sessions_.find(client);
      if (found == sessions_.end()) continue;
    }
    Session& session = found->second;
    session.used = real_clock().mono();
    if (session.pod)
      ::send(session.pod.get(), buffer.data(), static_cast<std::size_t>(n), MSG_DONTWAIT);
    else if (session.waiting.size() < kMostWaiting)
      session.waiting.emplace_back(buffer.data(), static_cast<std::size_t>(n));
  }
}

void UdpPort::open_session(const Client& client) {
  auto target = targets_[next_++ % targets_.size()];
  dial_([self = weak_from_this(), client, target](FileDescriptor pod) {
    auto port = self.lock();
    if (port && !port->stopped_) port->opened(client, std::move(pod), target);
  });
}

void UdpPort::opened(const Client& client, FileDescriptor pod,
                     const std::pair<std::string, std::int32_t>& target) {
  auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(target.second));
  if (!pod || ::inet_pton(AF_INET, target.first.c_str(), &name.sin_addr) != 1 ||
      ::connect(pod.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) {
    sessions_.erase(found);
    return;
  }
  Session& session = found->second;
  session.pod = std::move(pod);
  for (const std::string& datagram : session.waiting)
    ::send(session.pod.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
  session.waiting.clear();
  loop_.watch(session.pod.get(), EPOLLIN, [self = weak_from_this(), client](std::uint32_t) {
    if (auto port = self.lock()) port->answer(client);
  });
}

void UdpPort::answer(const Client& client) {
  auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = client.first;
  to.sin_port = client.second;
  std::string buffer(kLargestDatagram, '\0');
  for (int i = 0; i < kBurst; ++i) {
    ssize_t n = ::recv(found->second.pod.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
      // The target refuses: the next datagram tries another pod.
      return close_session(client);
    }
    if (n < 0) return;
    found->second.used = real_clock().mono();
    ::sendto(socket_.get(), buffer.data(), static_cast<std::size_t>(n), MSG_DONTWAIT,
             reinterpret_cast<sockaddr*>(&to), sizeof to);
  }
}

void UdpPort::close_session(const Client& client) {
  auto found = sessions_.find(client);
  if (found == sessions_.end()) return;
  if (found->second.pod) loop_.watch(found->second.pod.get(), 0, {});
  sessions_.erase(found);
}

void UdpPort::expire() {
  loop_.after(kExpiryPeriod, [self = weak_from_this()] {
    auto port = self.lock();
    if (!port || port->stopped_) return;
    const MonoTime now = real_clock().mono();
    std::vector<Client> idle;
    for (const auto& [client, session] : port->sessions_)
      if (now - session.used > kIdle) idle.push_back(client);
    for (const Client& client : idle) port->close_session(client);
    port->expire();
  });
}

}  // namespace hekla::agent
