#include "agent/dns/forwarder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

namespace hekla::agent {
namespace {

// A socket on loopback, and where it is.
struct Place {
  explicit Place(int type = SOCK_DGRAM) : socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    socklen_t size = sizeof name;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size);
  }
  std::string receive(sockaddr_in* from = nullptr) {
    pollfd waiting{socket.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 2000) != 1) return "";
    char buffer[600];
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    ssize_t n = ::recvfrom(socket.get(), buffer, sizeof buffer, 0,
                           reinterpret_cast<sockaddr*>(&peer), &size);
    if (from) *from = peer;
    return {buffer, static_cast<std::size_t>(n)};
  }
  void send(const std::string& text, const sockaddr_in& to) {
    ::sendto(socket.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to),
             sizeof to);
  }
  FileDescriptor socket;
  sockaddr_in name{};
};

std::string message(const std::string& id, const std::string& name) {
  return id + std::string("\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10) + "\x03" + name +
         std::string("\x00\x00\x01\x00\x01", 5);
}

class DnsForwarderTest : public ::testing::Test {
 protected:
  DnsForwarderTest() {
    forwarder_.use({"127.0.0.1", "not an address"}, ntohs(upstream_.name.sin_port));
  }
  bool ask(const std::string& query, MonoTime now) {
    return forwarder_.ask(
        query, false, [this](std::string answer) { answer_ = std::move(answer); }, now);
  }
  void progress() {
    std::vector<pollfd> waiting;
    forwarder_.add_waits(waiting);
    ::poll(waiting.data(), waiting.size(), 500);
    forwarder_.progress();
  }
  Place upstream_;
  DnsForwarder forwarder_;
  std::string answer_;
  MonoTime now_{std::chrono::hours(1)};
};

TEST_F(DnsForwarderTest, AnswersFindTheirClientsUnderTheirOwnIds) {
  ASSERT_TRUE(ask(message("ab", "one"), now_));
  sockaddr_in from{};
  std::string asked = upstream_.receive(&from);
  ASSERT_EQ(asked.substr(2), message("ab", "one").substr(2));
  upstream_.send(asked.substr(0, 2) + message("", "ONE"), from);
  progress();
  EXPECT_EQ(answer_, message("ab", "ONE"));
  EXPECT_EQ(forwarder_.pending(), 0u);
}

TEST_F(DnsForwarderTest, AnswersToOtherQuestionsAreDropped) {
  ASSERT_TRUE(ask(message("ab", "one"), now_));
  sockaddr_in from{};
  std::string asked = upstream_.receive(&from);
  upstream_.send(asked.substr(0, 2) + message("", "two"), from);
  upstream_.send("?", from);
  progress();
  EXPECT_EQ(answer_, "");
  EXPECT_EQ(forwarder_.pending(), 1u) << "still waiting for the right one";
}

TEST_F(DnsForwarderTest, WhatIsNotAnsweredIsForgotten) {
  ASSERT_TRUE(ask(message("ab", "one"), now_));
  ASSERT_TRUE(ask(message("cd", "two"), now_ + std::chrono::seconds(6)));
  EXPECT_EQ(forwarder_.pending(), 1u);
  EXPECT_FALSE(ask("short", now_));
  forwarder_.use({});
  EXPECT_FALSE(ask(message("ab", "one"), now_)) << "nobody to ask";
}

TEST_F(DnsForwarderTest, WhatComesByAConnectionIsAskedByOne) {
  Place listener(SOCK_STREAM);
  ASSERT_EQ(::listen(listener.socket.get(), 4), 0);
  forwarder_.use({"127.0.0.1"}, ntohs(listener.name.sin_port));
  ASSERT_TRUE(forwarder_.ask(
      message("ab", "one"), true, [this](std::string answer) { answer_ = std::move(answer); },
      now_));
  progress();
  FileDescriptor peer(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  char buffer[100];
  ssize_t n = ::recv(peer.get(), buffer, sizeof buffer, 0);
  const std::string asked = message("ab", "one");
  const std::string framed = std::string{'\0', static_cast<char>(asked.size())} + asked;
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(n)), framed);
  const std::string answer = asked + std::string(600, 'x');  // longer than a datagram would be
  const std::string sent =
      std::string{static_cast<char>(answer.size() >> 8), static_cast<char>(answer.size())} + answer;
  ASSERT_EQ(::send(peer.get(), sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
  progress();
  EXPECT_EQ(answer_, answer);
  EXPECT_EQ(forwarder_.pending(), 0u);
}

TEST_F(DnsForwarderTest, NameServersMayHaveLongAddresses) {
  FileDescriptor server(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof name;
  if (!server || ::bind(server.get(), reinterpret_cast<sockaddr*>(&name), size) != 0)
    GTEST_SKIP() << "a machine without IPv6";
  ::getsockname(server.get(), reinterpret_cast<sockaddr*>(&name), &size);
  forwarder_.use({"::1"}, ntohs(name.sin6_port));
  ASSERT_TRUE(ask(message("ab", "one"), now_));
  char buffer[100];
  EXPECT_EQ(::recv(server.get(), buffer, sizeof buffer, 0),
            static_cast<ssize_t>(message("ab", "one").size()));
}

}  // namespace
}  // namespace hekla::agent
