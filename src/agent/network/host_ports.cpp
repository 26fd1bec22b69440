#include "agent/network/host_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>

#include "agent/network/address_pool.h"
#include "agent/network/udp_port.h"
#include "agent/os/fd_pipe.h"
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

Result<FileDescriptor> listen_on_host(const PortKey& key) {
  FileDescriptor socket(
      ::socket(AF_INET, (key.udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error("open a socket");
  int on = 1;
  // Of two programs on one UDP port, neither would know what it gets.
  if (!key.udp) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name = socket_address(key.address, key.port);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      (!key.udp && ::listen(socket.get(), kBacklog) != 0))
    return errno_error("listen on " + ipv4_text(key.address) + ":" + std::to_string(key.port) +
                       (key.udp ? "/udp" : ""));
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

std::vector<HostPort> host_ports_of(const model::PodSpec& pod, const std::string& address) {
  std::vector<HostPort> out;
  for (const auto* containers : {&pod.initContainers, &pod.containers})
    for (const model::Container& container : *containers)
      for (const model::ContainerPort& port : container.ports) {
        const bool udp = port.protocol == "UDP";
        if (port.hostPort <= 0 || (!udp && !port.protocol.empty() && port.protocol != "TCP"))
          continue;
        HostPort one{{static_cast<std::uint16_t>(port.hostPort), udp},
                     {{address, port.containerPort}}};
        if (!port.hostIP.empty()) {
          std::optional<std::uint32_t> at = parse_ipv4(port.hostIP);
          if (!at) continue;  // IPv6
          one.key.address = *at;
        }
        out.push_back(std::move(one));
      }
  return out;
}

struct HostPorts::State : std::enable_shared_from_this<HostPorts::State> {
  State(Executor& executor, Dial dial, std::unique_ptr<FdLoop> loop)
      : executor(executor), dial(std::move(dial)), loop(std::move(loop)) {}

  struct Listener {
    FileDescriptor socket;
    std::vector<std::pair<std::string, std::int32_t>> targets;
    std::size_t next = 0;
    std::shared_ptr<UdpPort> udp;  // instead of the socket
  };

  Executor& executor;
  Dial dial;  // the executor's; empty once the owner has gone
  std::unique_ptr<FdLoop> loop;
  // The loop's own.
  std::map<PortKey, Listener> listeners;
  std::set<PortKey> failing;
  std::size_t connections = 0;

  std::vector<PortKey> change(std::vector<HostPort> ports);
  void open_listener(const PortKey& key);
  void open_udp(const PortKey& key, FileDescriptor socket);
  void accept_one(const PortKey& key);
  void connect(FileDescriptor client, FileDescriptor pod,
               const std::pair<std::string, std::int32_t>& target);
  void relay(FileDescriptor client, FileDescriptor pod);
};

std::vector<PortKey> HostPorts::State::change(std::vector<HostPort> ports) {
  std::map<PortKey, HostPort> wanted;
  for (HostPort& port : ports) wanted.emplace(port.key, std::move(port));
  for (auto listener = listeners.begin(); listener != listeners.end();) {
    if (wanted.contains(listener->first)) {
      ++listener;
      continue;
    }
    if (listener->second.udp)
      listener->second.udp->stop();
    else
      loop->watch(listener->second.socket.get(), 0, {});
    listener = listeners.erase(listener);
  }
  std::vector<PortKey> ours;
  for (const auto& [key, port] : wanted) {
    if (!listeners.contains(key)) open_listener(key);
    auto listener = listeners.find(key);
    if (listener == listeners.end()) continue;
    listener->second.targets = port.targets;
    if (listener->second.udp) listener->second.udp->set_targets(port.targets);
    ours.push_back(key);
  }
  return ours;
}

void HostPorts::State::open_listener(const PortKey& key) {
  Result<FileDescriptor> socket = listen_on_host(key);
  if (!socket) {
    if (failing.insert(key).second)
      log_warn("agent", "a port of the host does not work", {{"error", socket.error().message}});
    return;
  }
  failing.erase(key);
  if (key.udp) return open_udp(key, std::move(*socket));
  int fd = socket->get();
  listeners[key] = Listener{std::move(*socket), {}, 0, nullptr};
  loop->watch(fd, EPOLLIN, [self = weak_from_this(), key](std::uint32_t) {
    if (auto state = self.lock()) state->accept_one(key);
  });
}

void HostPorts::State::open_udp(const PortKey& key, FileDescriptor socket) {
  auto dial_one = [self = weak_from_this()](std::move_only_function<void(FileDescriptor)> done) {
    auto state = self.lock();
    if (!state) return;
    state->executor.post([self, done = std::move(done)]() mutable {
      auto there = self.lock();
      if (!there || !there->dial) return;
      there->dial(true, [self, done = std::move(done)](Result<FileDescriptor> pod) mutable {
        auto living = self.lock();
        if (!living) return;
        living->loop->post(
            [done = std::move(done), pod = pod ? std::move(*pod) : FileDescriptor()]() mutable {
              done(std::move(pod));
            });
      });
    });
  };
  auto port = std::make_shared<UdpPort>(*loop, std::move(socket), std::move(dial_one));
  port->start();
  listeners[key] = Listener{{}, {}, 0, std::move(port)};
}

void HostPorts::State::accept_one(const PortKey& key) {
  auto found = listeners.find(key);
  if (found == listeners.end()) return;
  Listener& listener = found->second;
  FileDescriptor client(
      ::accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!client || listener.targets.empty() || connections >= kMaxConnections) return;
  auto target = listener.targets[listener.next++ % listener.targets.size()];
  executor.post([self = weak_from_this(), client = std::move(client), target]() mutable {
    auto state = self.lock();
    if (!state || !state->dial) return;
    state->dial(false,
                [self, client = std::move(client), target](Result<FileDescriptor> pod) mutable {
                  auto living = self.lock();
                  if (!living || !pod) return;
                  living->loop->post(
                      [self, client = std::move(client), pod = std::move(*pod), target]() mutable {
                        if (auto there = self.lock())
                          there->connect(std::move(client), std::move(pod), target);
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
                    std::function<void(std::vector<PortKey> ours)> taken) {
  state_->loop->post([state = std::weak_ptr(state_), ports = std::move(ports),
                      taken = std::move(taken)]() mutable {
    auto self = state.lock();
    if (!self) return;
    std::vector<PortKey> ours = self->change(std::move(ports));
    self->executor.post([taken = std::move(taken), ours = std::move(ours)] { taken(ours); });
  });
}

}  // namespace hekla::agent
