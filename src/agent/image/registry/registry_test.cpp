#include "agent/image/registry/registry.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "agent/os/file_descriptor.h"

namespace hekla::agent {
namespace {

// A registry that takes connections and never says a word.
struct SilentRegistry {
  FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string host;

  SilentRegistry() {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof name;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::listen(socket.get(), 8), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    host = "127.0.0.1:" + std::to_string(ntohs(name.sin_port));
  }
};

TEST(RegistrySession, ARequestUnderWayEndsWhenItIsCancelled) {
  SilentRegistry registry;
  std::atomic<bool> cancelled = false;
  RegistryOptions options;
  options.cancelled = &cancelled;
  RegistrySession session(options, parse_reference(registry.host + "/app:1").value(), std::nullopt);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancelled = true;
  });
  const auto begun = std::chrono::steady_clock::now();
  Result<FetchedManifest> fetched = session.manifest("1");
  EXPECT_FALSE(fetched);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30))
      << "a silent peer is given up after 60";
  later.join();
}

TEST(RegistrySession, NothingIsFetchedFromPods) {
  SilentRegistry registry;
  RegistryOptions options;
  options.own_ranges = net::OwnRanges::parse({"127.0.0.0/8"}).value();
  RegistrySession session(options, parse_reference(registry.host + "/app:1").value(), std::nullopt);
  Result<FetchedManifest> fetched = session.manifest("1");
  ASSERT_FALSE(fetched);
  EXPECT_TRUE(
      fetched.error().message.ends_with("127.0.0.1 is an address of pods or services, which cannot "
                                        "be reached from the host's network"))
      << fetched.error().message;
}

}  // namespace
}  // namespace hekla::agent
