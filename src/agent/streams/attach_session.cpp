// One attach: a client of the container's own stdio, which conmon holds. Packets from conmon begin
// with the number of their stream; what is sent to it is the container's input.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "agent/os/fd_pipe.h"
#include "agent/streams/node_streams.h"
#include "base/check.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kMaxPendingAttach = 1024 * 1024;
constexpr char kErrPacket = 3;

Result<FileDescriptor> connect_packets(const std::string& path) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open an attach socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail(Code::internal, path + " is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return errno_error("attach to the container");
  return socket;
}

// All state belongs to the FdLoop's thread.
class AttachSession final : public kube::PodProcess,
                            public std::enable_shared_from_this<AttachSession> {
 public:
  AttachSession(std::shared_ptr<StreamCore> core, AttachPlace place, kube::ExecOptions options)
      : core_(std::move(core)), place_(std::move(place)), options_(std::move(options)) {}

  void begin(std::shared_ptr<kube::ProcessClient> client) override {
    core_->loop->post([self = shared_from_this(), client = std::move(client)]() mutable {
      self->run(std::move(client));
    });
  }
  void write_input(std::string bytes) override {
    core_->loop->post([self = shared_from_this(), bytes = std::move(bytes)]() mutable {
      if (!self->options_.in) return;
      if (!self->begun_)
        self->early_ += bytes;
      else if (self->pipe_)
        self->pipe_->write(std::move(bytes));
    });
  }
  void end_input() override {
    core_->loop->post([self = shared_from_this()] {
      if (!self->options_.in) return;
      self->input_ended_ = true;
      if (self->pipe_) self->pipe_->finish_writing();
    });
  }
  void resize(int width, int height) override {
    core_->loop->post([self = shared_from_this(), width, height] {
      FileDescriptor control(
          ::open(self->place_.control.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      if (!control) return;  // the container has ended
      std::string line = "1 " + std::to_string(height) + " " + std::to_string(width) + "\n";
      [[maybe_unused]] ssize_t written = ::write(control.get(), line.data(), line.size());
    });
  }
  void leave() override {
    core_->loop->post([self = shared_from_this()] { self->end(); });
  }

 private:
  void run(std::shared_ptr<kube::ProcessClient> client) {
    CHECK(!begun_, "a session begins once");
    client_ = std::move(client);
    begun_ = true;
    if (client_->is_closed()) return client_.reset();  // it left before anything began
    Result<FileDescriptor> socket = connect_packets(place_.socket);
    if (!socket) return std::exchange(client_, nullptr)->finish(std::unexpected(socket.error()));
    std::weak_ptr<AttachSession> weak = weak_from_this();
    FdPipeCallbacks callbacks;
    callbacks.on_data = [weak](std::string packet) {
      if (auto self = weak.lock()) self->on_packet(std::move(packet));
    };
    callbacks.on_end = [weak] {
      if (auto self = weak.lock()) self->end();
    };
    callbacks.is_full = [weak] {
      auto self = weak.lock();
      return self && self->client_ && self->client_->pending_bytes() > kMaxPendingAttach;
    };
    callbacks.hold = [weak](bool hold) {
      if (auto self = weak.lock(); self && self->client_) self->client_->hold_input(hold);
    };
    pipe_ = std::make_shared<FdPipe>(*core_->loop, std::move(*socket), FdPipe::Kind::packets,
                                     std::move(callbacks));
    pipe_->start();
    if (!early_.empty()) pipe_->write(std::exchange(early_, {}));
    if (input_ended_) pipe_->finish_writing();
  }
  void on_packet(std::string packet) {
    bool err = packet.front() == kErrPacket && !options_.tty;
    packet.erase(0, 1);
    if (!client_ || !(err ? options_.err : options_.out) || packet.empty()) return;
    client_->write(err ? kube::ProcessClient::Output::err : kube::ProcessClient::Output::out,
                   std::move(packet));
  }
  // The container's exit code is in the pod's status; an attach itself always succeeds.
  void end() {
    if (pipe_) std::exchange(pipe_, nullptr)->close();
    if (auto client = std::exchange(client_, nullptr)) client->finish(0);
  }

  std::shared_ptr<StreamCore> core_;
  const AttachPlace place_;
  const kube::ExecOptions options_;
  std::shared_ptr<kube::ProcessClient> client_;
  std::shared_ptr<FdPipe> pipe_;
  // The client may speak, on its connection's thread, before anybody has begun.
  bool begun_ = false, input_ended_ = false;
  std::string early_;
};

}  // namespace

std::shared_ptr<kube::PodProcess> make_attach_session(std::shared_ptr<StreamCore> core,
                                                      AttachPlace place,
                                                      const kube::ExecOptions& options) {
  return std::make_shared<AttachSession>(std::move(core), std::move(place), options);
}

}  // namespace hekla::agent
