#include "agent/network/host_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>

#include "agent/streams/fd_pipe.h"
#include "base/log.h"

namespace hekla::agent {
namespace {

constexpr int kBacklog = 128;
constexpr std::size_t kMaxConnections = 4096;
// How long a client may take for the rest of an answer when both sides have ended.
constexpr std::chrono::milliseconds kFlushPause{5};
constexpr int kFlushLooks = 6000;

sockaddr_in socket_address(std::uint32_t address, int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(address);
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  return name;
}

Result<FileDescriptor> listen_on_loopback(std::uint16_t port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open a socket");
  int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name = socket_address(INADDR_LOOPBACK, port);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return errno_error("listen on 127.0.0.1:" + std::to_string(port));
  return socket;
}

// Two sockets, each fed with what the other says, no faster than it takes it. On the loop's thread.
class Relay : public std::enable_shared_from_this<Relay> {
 public:
  Relay(FdLoop& loop, std::function<void()> gone) : loop_(loop), gone_(std::move(gone)) {}
  ~Relay() { gone_(); }

  void begin(FileDescriptor client, FileDescriptor pod) {
    ends_[0] = make_end(std::move(client), 0);
    ends_[1] = make_end(std::move(pod), 1);
    for (auto& end : ends_) end->start();
  }

 private:
  std::shared_ptr<FdPipe> make_end(FileDescriptor socket, std::size_t own) {
    auto self = shared_from_this();  // until both have closed
    FdPipeCallbacks callbacks;
    callbacks.on_data = [self, own](std::string bytes) {
      self->ends_[1 - own]->write(std::move(bytes));
    };
    callbacks.on_end = [self, own] { self->ended(own); };
    callbacks.is_full = [self, own] { return self->held_[1 - own]; };
    callbacks.hold = [self, own](bool hold) { self->held_[own] = hold; };
    return std::make_shared<FdPipe>(loop_, std::move(socket), FdPipe::Kind::socket,
                                    std::move(callbacks));
  }
  void ended(std::size_t own) {
    over_[own] = true;
    ends_[1 - own]->finish_writing();
    if (over_[0] && over_[1]) close_when_flushed(kFlushLooks);
  }
  // Never from within a pipe's own call.
  void close_when_flushed(int looks) {
    loop_.after(kFlushPause, [self = shared_from_this(), looks] {
      const bool done = self->ends_[0]->is_flushed() && self->ends_[1]->is_flushed();
      if (!done && looks > 0) return self->close_when_flushed(looks - 1);
      for (auto& end : self->ends_) end->close();
    });
  }

  FdLoop& loop_;
  std::function<void()> gone_;
  std::shared_ptr<FdPipe> ends_[2];
  bool held_[2] = {false, false}, over_[2] = {false, false};
};

}  // namespace

struct HostPorts::State : std::enable_shared_from_this<HostPorts::State> {
  State(Executor& executor, Dial dial, std::unique_ptr<FdLoop> loop)
      : executor(executor), dial(std::move(dial)), loop(std::move(loop)) {}

  struct Listener {
    FileDescriptor socket;
    std::vector<std::pair<std::string, std::int32_t>> targets;
    std::size_t next = 0;
  };

  Executor& executor;
  Dial dial;                    // the executor's; empty once the owner has gone
  std::unique_ptr<FdLoop> loop;
  // The loop's own.
  std::map<std::uint16_t, Listener> listeners;
  std::set<std::uint16_t> failing;
  std::size_t connections = 0;

  std::vector<std::uint16_t> change(std::vector<HostPort> ports);
  void open_listener(const HostPort& port);
  void accept_one(std::uint16_t port);
  void connect(FileDescriptor client, FileDescriptor pod,
               const std::pair<std::string, std::int32_t>& target);
  void relay(FileDescriptor client, FileDescriptor pod);
};

std::vector<std::uint16_t> HostPorts::State::change(std::vector<HostPort> ports) {
  std::map<std::uint16_t, HostPort> wanted;
  for (HostPort& port : ports) wanted.emplace(port.port, std::move(port));
  for (auto listener = listeners.begin(); listener != listeners.end();) {
    if (wanted.contains(listener->first)) {
      ++listener;
      continue;
    }
    loop->watch(listener->second.socket.get(), 0, {});
    listener = listeners.erase(listener);
  }
  std::vector<std::uint16_t> ours;
  for (const auto& [number, port] : wanted) {
    if (!listeners.contains(number)) open_listener(port);
    auto listener = listeners.find(number);
    if (listener == listeners.end()) continue;
    listener->second.targets = port.targets;
    ours.push_back(number);
  }
  return ours;
}

void HostPorts::State::open_listener(const HostPort& port) {
  Result<FileDescriptor> socket = listen_on_loopback(port.port);
  if (!socket) {
    if (failing.insert(port.port).second)
      log_warn("agent", "a service's port on the host does not work",
               {{"error", socket.error().message}});
    return;
  }
  failing.erase(port.port);
  int fd = socket->get();
  listeners[port.port] = Listener{std::move(*socket), {}, 0};
  loop->watch(fd, EPOLLIN, [self = weak_from_this(), number = port.port](std::uint32_t) {
    if (auto state = self.lock()) state->accept_one(number);
  });
}

void HostPorts::State::accept_one(std::uint16_t port) {
  auto found = listeners.find(port);
  if (found == listeners.end()) return;
  Listener& listener = found->second;
  FileDescriptor client(
      ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!client || listener.targets.empty() || connections >= kMaxConnections) return;
  auto target = listener.targets[listener.next++ % listener.targets.size()];
  executor.post([self = weak_from_this(), client = std::move(client), target]() mutable {
    auto state = self.lock();
    if (!state || !state->dial) return;
    state->dial([self, client = std::move(client), target](Result<FileDescriptor> pod) mutable {
      auto living = self.lock();
      if (!living || !pod) return;
      living->loop->post([self, client = std::move(client), pod = std::move(*pod), target]() mutable {
        if (auto there = self.lock()) there->connect(std::move(client), std::move(pod), target);
      });
    });
  });
}

void HostPorts::State::connect(FileDescriptor client, FileDescriptor pod,
                               const std::pair<std::string, std::int32_t>& target) {
  in_addr address{};
  if (::inet_pton(AF_INET, target.first.c_str(), &address) != 1) return;
  sockaddr_in name = socket_address(ntohl(address.s_addr), target.second);
  const int fd = pod.get();
  if (::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 && errno != EINPROGRESS)
    return;
  auto ends = std::make_shared<std::pair<FileDescriptor, FileDescriptor>>(std::move(client),
                                                                         std::move(pod));
  loop->watch(fd, EPOLLOUT, [self = weak_from_this(), ends](std::uint32_t) {
    auto state = self.lock();
    if (!state) return;
    auto held = ends;  // the watch goes, and we with it
    state->loop->watch(held->second.get(), 0, {});
    int failure = 0;
    socklen_t size = sizeof failure;
    ::getsockopt(held->second.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure == 0) state->relay(std::move(held->first), std::move(held->second));
  });
}

void HostPorts::State::relay(FileDescriptor client, FileDescriptor pod) {
  ++connections;
  std::make_shared<Relay>(*loop, [self = weak_from_this()] {
    if (auto state = self.lock()) --state->connections;
  })->begin(std::move(client), std::move(pod));
}

Result<std::unique_ptr<HostPorts>> HostPorts::open(Executor& executor, Dial dial) {
  return std::make_unique<HostPorts>(executor, std::move(dial), TRY(FdLoop::open("hekla-ports")));
}

HostPorts::HostPorts(Executor& executor, Dial dial, std::unique_ptr<FdLoop> loop)
    : state_(std::make_shared<State>(executor, std::move(dial), std::move(loop))) {}

HostPorts::~HostPorts() {
  state_->dial = {};
  state_->loop->stop();
}

void HostPorts::set(std::vector<HostPort> ports,
                    std::function<void(std::vector<std::uint16_t> ours)> taken) {
  state_->loop->post([state = std::weak_ptr(state_), ports = std::move(ports),
                      taken = std::move(taken)]() mutable {
    auto self = state.lock();
    if (!self) return;
    std::vector<std::uint16_t> ours = self->change(std::move(ports));
    self->executor.post([taken = std::move(taken), ours = std::move(ours)] { taken(ours); });
  });
}

}  // namespace hekla::agent
