#include "agent/dns/forwarder.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/rng.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kHeader = 12, kMostPending = 4096, kMostStreams = 128, kLargestAnswer = 65536;
constexpr std::chrono::seconds kAnswerTimeout{5};
constexpr int kAnswerBurst = 64;

std::uint16_t id_of(std::string_view message) {
  return static_cast<std::uint16_t>((static_cast<unsigned char>(message[0]) << 8) |
                                    static_cast<unsigned char>(message[1]));
}

std::string two_bytes(std::size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
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

// As the kernel has it; empty for what is no address.
std::string socket_address(const std::string& server, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(server.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return {};
  std::string out(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen);
  ::freeaddrinfo(found);
  return out;
}

const sockaddr* raw(const std::string& address) {
  return reinterpret_cast<const sockaddr*>(address.data());
}

FileDescriptor socket_to(const std::string& address, int type) {
  return FileDescriptor(::socket(raw(address)->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

void DnsForwarder::use(const std::vector<std::string>& servers, std::uint16_t port) {
  upstreams_.clear();
  pending_.clear();
  current_ = 0;
  for (const std::string& server : servers) {
    Upstream upstream{{}, socket_address(server, port)};
    if (upstream.address.empty()) continue;
    upstream.socket = socket_to(upstream.address, SOCK_DGRAM);
    if (upstream.socket && ::connect(upstream.socket.get(), raw(upstream.address),
                                     static_cast<socklen_t>(upstream.address.size())) == 0)
      upstreams_.push_back(std::move(upstream));
  }
}

// A server that has not answered by now will not: the next may.
void DnsForwarder::forget_old(MonoTime now) {
  auto is_old = [&](const Question& question) { return now - question.at > kAnswerTimeout; };
  if (std::erase_if(pending_, [&](const auto& one) { return is_old(one.second); }) +
          std::erase_if(streams_, [&](const Stream& one) { return is_old(one.question); }) >
      0)
    current_ = (current_ + 1) % upstreams_.size();
}

bool DnsForwarder::ask(std::string_view query, bool stream, DnsReply reply, MonoTime now) {
  if (upstreams_.empty() || query.size() <= kHeader) return false;
  forget_old(now);
  Question question{id_of(query), question_of(query), now, std::move(reply)};
  if (stream) return ask_by_stream(query, std::move(question));
  if (pending_.size() >= kMostPending) return false;
  auto id = static_cast<std::uint16_t>(real_rng().next());
  while (pending_.contains(id)) ++id;
  const std::string message = two_bytes(id) + std::string(query.substr(2));
  if (::send(upstreams_[current_].socket.get(), message.data(), message.size(), MSG_DONTWAIT) < 0) {
    current_ = (current_ + 1) % upstreams_.size();
    return false;
  }
  pending_.emplace(id, std::move(question));
  return true;
}

bool DnsForwarder::ask_by_stream(std::string_view query, Question question) {
  if (streams_.size() >= kMostStreams) return false;
  const std::string& address = upstreams_[current_].address;
  Stream stream{socket_to(address, SOCK_STREAM), two_bytes(query.size()) + std::string(query), "",
                std::move(question)};
  if (!stream.socket) return false;
  if (::connect(stream.socket.get(), raw(address), static_cast<socklen_t>(address.size())) != 0 &&
      errno != EINPROGRESS)
    return false;
  streams_.push_back(std::move(stream));
  return true;
}

void DnsForwarder::add_waits(std::vector<pollfd>& waiting) const {
  for (const Upstream& upstream : upstreams_) waiting.push_back({upstream.socket.get(), POLLIN, 0});
  for (const Stream& stream : streams_)
    waiting.push_back(
        {stream.socket.get(), static_cast<short>(stream.out.empty() ? POLLIN : POLLOUT), 0});
}

bool DnsForwarder::progress(Stream& stream) {
  if (!stream.out.empty()) {
    ssize_t n = ::send(stream.socket.get(), stream.out.data(), stream.out.size(),
                       MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == ENOTCONN;
    stream.out.erase(0, static_cast<std::size_t>(n));
    return true;
  }
  char buffer[4096];
  ssize_t n = ::recv(stream.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n <= 0) return n < 0 && errno == EAGAIN;
  stream.in.append(buffer, static_cast<std::size_t>(n));
  if (stream.in.size() < 2 || stream.in.size() < 2U + id_of(stream.in)) return true;
  std::string message = stream.in.substr(2, id_of(stream.in));
  if (message.size() > kHeader && question_of(message) == stream.question.asked)
    stream.question.reply(std::move(message));
  return false;
}

void DnsForwarder::progress() {
  for (auto at = streams_.begin(); at != streams_.end();)
    at = progress(*at) ? std::next(at) : streams_.erase(at);
  std::string buffer(kLargestAnswer, '\0');
  for (const Upstream& upstream : upstreams_) {
    for (int i = 0; i < kAnswerBurst; ++i) {
      ssize_t n = ::recv(upstream.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n < 0) break;
      if (static_cast<std::size_t>(n) <= kHeader) continue;
      const std::string_view message(buffer.data(), static_cast<std::size_t>(n));
      auto found = pending_.find(id_of(message));
      if (found == pending_.end() || question_of(message) != found->second.asked) continue;
      Question question = std::move(found->second);
      pending_.erase(found);
      question.reply(two_bytes(question.id) + std::string(message.substr(2)));
    }
  }
}

}  // namespace hekla::agent
