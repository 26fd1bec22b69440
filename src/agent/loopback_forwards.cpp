#include "agent/loopback_forwards.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "agent/streams/node_streams.h"

namespace hekla::agent {

void LoopbackForwards::open(std::uint16_t port, std::shared_ptr<kube::ForwardClient> client,
                            kube::PodStreams::ForwardReady ready) {
  std::lock_guard lock(mutex_);
  if (!core_) {
    Result<std::unique_ptr<FdLoop>> loop = FdLoop::open("hekla-forwards");
    if (!loop) return ready(std::unexpected(loop.error()));
    core_ = std::make_shared<StreamCore>(executor_, std::move(*loop));
  }
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket)
    return ready(
        fail(Code::unavailable, "make a socket: " + std::generic_category().message(errno)));
  open_forward(core_, std::move(socket), "127.0.0.1", port, std::move(client), std::move(ready));
}

}  // namespace hekla::agent
