// One forwarded connection: a socket made inside the pod's network namespace, connected to its
// localhost, or one of the network that pods are in. The host's own namespace has no route to pods
// and is never asked.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "agent/os/fd_pipe.h"
#include "agent/streams/node_streams.h"

namespace hekla::agent {
namespace {

using ForwardReady = kube::PodStreams::ForwardReady;
constexpr std::size_t kMaxPendingForward = 1024 * 1024;

Error connect_failure(std::uint16_t port, int number) {
  const std::string text = std::to_string(port);
  return Error{Code::unavailable,
               "failed to connect to localhost:" + text +
                   " inside namespace, IPv4: dial tcp4 127.0.0.1:" + text + ": connect: " +
                   (number == ECONNREFUSED ? "connection refused"
                                           : std::generic_category().message(number))};
}

class ForwardSession final : public kube::ForwardedConnection,
                             public std::enable_shared_from_this<ForwardSession> {
 public:
  ForwardSession(std::shared_ptr<StreamCore> core, std::shared_ptr<kube::ForwardClient> client)
      : core_(std::move(core)), client_(std::move(client)) {}

  void write(std::string bytes) override {
    core_->loop->post([self = shared_from_this(), bytes = std::move(bytes)]() mutable {
      if (self->pipe_) self->pipe_->write(std::move(bytes));
    });
  }
  void end() override {
    core_->loop->post([self = shared_from_this()] {
      if (self->pipe_) self->pipe_->finish_writing();
    });
  }
  void leave() override {
    core_->loop->post([self = shared_from_this()] { self->close(); });
  }

  // On the loop.
  void connect(FileDescriptor socket, const std::string& to, std::uint16_t port,
               ForwardReady ready) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ::inet_pton(AF_INET, to.c_str(), &address.sin_addr);
    int fd = socket.get();
    int done = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
    if (done != 0 && errno != EINPROGRESS)
      return ready(std::unexpected(connect_failure(port, errno)));
    auto shared = std::make_shared<std::pair<FileDescriptor, ForwardReady>>(std::move(socket),
                                                                            std::move(ready));
    core_->loop->watch(fd, EPOLLOUT, [self = shared_from_this(), shared, port](std::uint32_t) {
      int failure = 0;
      socklen_t size = sizeof failure;
      ::getsockopt(shared->first.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
      self->core_->loop->watch(shared->first.get(), 0, {});
      if (failure != 0) return shared->second(std::unexpected(connect_failure(port, failure)));
      self->run(std::move(shared->first));
      shared->second(std::shared_ptr<kube::ForwardedConnection>(self));
    });
  }

 private:
  void run(FileDescriptor socket) {
    std::weak_ptr<ForwardSession> weak = weak_from_this();
    FdPipeCallbacks callbacks;
    callbacks.on_data = [weak](std::string bytes) {
      if (auto self = weak.lock(); self && self->client_) self->client_->write(std::move(bytes));
    };
    callbacks.on_end = [weak] {
      if (auto self = weak.lock(); self && self->client_) self->client_->end();
    };
    callbacks.is_full = [weak] {
      auto self = weak.lock();
      return self && self->client_ && self->client_->pending_bytes() > kMaxPendingForward;
    };
    callbacks.hold = [weak](bool hold) {
      if (auto self = weak.lock(); self && self->client_) self->client_->hold_input(hold);
    };
    pipe_ = std::make_shared<FdPipe>(*core_->loop, std::move(socket), FdPipe::Kind::socket,
                                     std::move(callbacks));
    pipe_->start();
  }
  void close() {
    if (pipe_) std::exchange(pipe_, nullptr)->close();
    client_ = nullptr;
  }

  std::shared_ptr<StreamCore> core_;
  std::shared_ptr<kube::ForwardClient> client_;
  std::shared_ptr<FdPipe> pipe_;
};

}  // namespace

void open_forward(const std::shared_ptr<StreamCore>& core, FileDescriptor socket,
                  const std::string& address, std::uint16_t port,
                  std::shared_ptr<kube::ForwardClient> client, ForwardReady ready) {
  auto session = std::make_shared<ForwardSession>(core, std::move(client));
  core->loop->post(
      [session, socket = std::move(socket), address, port, ready = std::move(ready)]() mutable {
        session->connect(std::move(socket), address, port, std::move(ready));
      });
}

}  // namespace hekla::agent
