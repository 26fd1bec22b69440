#include "agent/dns/forwarder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

namespace hekla::agent {
namespace {

// A UDP socket on loopback, and where it is.
struct Place {
  Place() : socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
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
    EXPECT_TRUE(forwarder_.open({INADDR_LOOPBACK}, ntohs(upstream_.name.sin_port)));
  }
  // Hands over what has arrived, by the client's own socket for simplicity.
  void answer() {
    pollfd waiting{forwarder_.sockets().at(0), POLLIN, 0};
    ::poll(&waiting, 1, 500);
    forwarder_.answer(server_.socket.get());
  }
  Place upstream_, client_, server_;
  DnsForwarder forwarder_;
  MonoTime now_{std::chrono::hours(1)};
};

TEST_F(DnsForwarderTest, AnswersFindTheirClientsUnderTheirOwnIds) {
  ASSERT_TRUE(forwarder_.ask(message("ab", "one"), client_.name, now_));
  sockaddr_in from{};
  std::string asked = upstream_.receive(&from);
  ASSERT_EQ(asked.substr(2), message("ab", "one").substr(2));
  upstream_.send(asked.substr(0, 2) + message("", "ONE"), from);
  answer();
  EXPECT_EQ(client_.receive(), message("ab", "ONE"));
  EXPECT_EQ(forwarder_.pending(), 0u);
}

TEST_F(DnsForwarderTest, AnswersToOtherQuestionsAreDropped) {
  ASSERT_TRUE(forwarder_.ask(message("ab", "one"), client_.name, now_));
  sockaddr_in from{};
  std::string asked = upstream_.receive(&from);
  upstream_.send(asked.substr(0, 2) + message("", "two"), from);
  upstream_.send("?", from);
  answer();
  EXPECT_EQ(forwarder_.pending(), 1u) << "still waiting for the right one";
}

TEST_F(DnsForwarderTest, WhatIsNotAnsweredIsForgotten) {
  ASSERT_TRUE(forwarder_.ask(message("ab", "one"), client_.name, now_));
  ASSERT_TRUE(forwarder_.ask(message("cd", "two"), client_.name, now_ + std::chrono::seconds(6)));
  EXPECT_EQ(forwarder_.pending(), 1u);
  EXPECT_FALSE(forwarder_.ask("short", client_.name, now_));
  DnsForwarder none;
  EXPECT_FALSE(none.ask(message("ab", "one"), client_.name, now_)) << "nobody to ask";
}

}  // namespace
}  // namespace hekla::agent
