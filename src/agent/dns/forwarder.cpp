#include "agent/dns/forwarder.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/rng.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kHeader = 12, kMostPending = 4096, kLargestAnswer = 65536;
constexpr std::chrono::seconds kPatience{5};
constexpr int kAnswerBurst = 64;

std::uint16_t id_of(std::string_view message) {
  return static_cast<std::uint16_t>((static_cast<unsigned char>(message[0]) << 8) |
                                    static_cast<unsigned char>(message[1]));
}

void set_id(std::string& message, std::uint16_t id) {
  message[0] = static_cast<char>(id >> 8);
  message[1] = static_cast<char>(id & 0xff);
}

// Name, type and class of the first question, in lower case: servers may spell it their way.
std::string question_of(std::string_view message) {
  std::size_t at = kHeader;
  while (at < message.size() && message[at] != 0)
    at += static_cast<unsigned char>(message[at]) + 1U;
  std::string out(message.substr(kHeader, std::min(at + 5, message.size()) - kHeader));
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

Result<void> DnsForwarder::open(const std::vector<std::uint32_t>& upstreams, std::uint16_t port) {
  for (std::uint32_t upstream : upstreams) {
    FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(port);
    name.sin_addr.s_addr = htonl(upstream);
    if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0)
      return errno_error("reach a name server");
    upstreams_.push_back(std::move(socket));
  }
  return {};
}

bool DnsForwarder::ask(std::string_view query, const sockaddr_in& client, MonoTime now) {
  if (upstreams_.empty() || query.size() <= kHeader) return false;
  // Whoever has not answered by now will not: the next server may.
  if (std::erase_if(pending_, [&](const auto& one) { return now - one.second.at > kPatience; }) > 0)
    current_ = (current_ + 1) % upstreams_.size();
  if (pending_.size() >= kMostPending) return false;
  auto id = static_cast<std::uint16_t>(real_rng().next());
  while (pending_.contains(id)) ++id;
  std::string message(query);
  set_id(message, id);
  if (::send(upstreams_[current_].get(), message.data(), message.size(), MSG_DONTWAIT) < 0) {
    current_ = (current_ + 1) % upstreams_.size();
    return false;
  }
  pending_[id] = {client, id_of(query), question_of(query), now};
  return true;
}

std::vector<int> DnsForwarder::sockets() const {
  std::vector<int> out;
  for (const FileDescriptor& socket : upstreams_) out.push_back(socket.get());
  return out;
}

void DnsForwarder::answer(int socket) {
  std::string buffer(kLargestAnswer, '\0');
  for (const FileDescriptor& upstream : upstreams_) {
    for (int i = 0; i < kAnswerBurst; ++i) {
      ssize_t n = ::recv(upstream.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n < 0) break;
      if (static_cast<std::size_t>(n) <= kHeader) continue;
      std::string message = buffer.substr(0, static_cast<std::size_t>(n));
      auto found = pending_.find(id_of(message));
      if (found == pending_.end() || question_of(message) != found->second.asked) continue;
      set_id(message, found->second.id);
      ::sendto(socket, message.data(), message.size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&found->second.client), sizeof(sockaddr_in));
      pending_.erase(found);
    }
  }
}

}  // namespace hekla::agent
