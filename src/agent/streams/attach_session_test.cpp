#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "agent/streams/node_streams.h"
#include "base/patience_test.h"
#include "base/temp_dir_test.h"
#include "support/sim_executor.h"

namespace hekla::agent {
namespace {

constexpr int kTimeoutMs = std::chrono::milliseconds(kPatience).count();

class SilentClient final : public kube::ProcessClient {
 public:
  void write(Output, std::string) override {}
  void finish(Result<int>) override {}
  bool is_closed() const override { return false; }
  std::size_t pending_bytes() const override { return 0; }
  void hold_input(bool) override {}
};

// A client sends its first line as soon as its connection is upgraded, whoever is still to be told
// to begin.
TEST(AttachSession, WhatComesBeforeItBeginsIsNotLost) {
  TempDir directory;
  const std::string path = directory.path() + "/attach";
  FileDescriptor conmon(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(::bind(conmon.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(conmon.get(), 1), 0);

  sim::Simulation simulation{1};
  auto core = std::make_shared<StreamCore>(
      StreamCore{simulation.add("agent"), FdLoop::open("streams").value(), nullptr, nullptr});
  AttachPlace place;
  place.socket = path;
  kube::ExecOptions options;
  options.in = true;
  auto session = make_attach_session(core, place, options);
  session->write_input("first\n");
  session->begin(std::make_shared<SilentClient>());
  session->write_input("second\n");

  pollfd somebody{conmon.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&somebody, 1, kTimeoutMs), 1) << "nobody connects";
  FileDescriptor container(::accept(conmon.get(), nullptr, nullptr));
  ASSERT_TRUE(container);
  std::string heard;
  while (heard.size() < 13) {
    pollfd more{container.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&more, 1, kTimeoutMs), 1) << "nothing comes after: " << heard;
    char bytes[64];
    const ssize_t count = ::recv(container.get(), bytes, sizeof bytes, 0);
    ASSERT_GT(count, 0);
    heard.append(bytes, static_cast<std::size_t>(count));
  }
  EXPECT_EQ(heard, "first\nsecond\n");
  session->leave();
  core->loop->stop();
}

}  // namespace
}  // namespace hekla::agent
