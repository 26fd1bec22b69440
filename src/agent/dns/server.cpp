#include "agent/dns/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <list>
#include <vector>

#include "agent/dns/answer.h"
#include "agent/network/address_pool.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kUdpLimit = 512;
constexpr std::size_t kTcpLimit = 65535;
constexpr std::size_t kMaxConnections = 256;
constexpr int kBurst = 64;

// One TCP client: a two-byte length before each message, both ways.
class Connection {
 public:
  explicit Connection(FileDescriptor socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }
  short wanted() const { return out_.empty() ? POLLIN : POLLOUT; }

  // False when the connection is done.
  bool progress(const Zone& zone) {
    if (!out_.empty()) return flush();
    char buffer[4096];
    ssize_t n = ::recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    in_.append(buffer, static_cast<std::size_t>(n));
    while (in_.size() >= 2) {
      std::size_t size = (static_cast<std::size_t>(static_cast<unsigned char>(in_[0])) << 8) |
                         static_cast<unsigned char>(in_[1]);
      if (in_.size() < 2 + size) break;
      auto answer = answer_query(zone, std::string_view(in_).substr(2, size), kTcpLimit);
      in_.erase(0, 2 + size);
      if (!answer) return false;
      out_ += static_cast<char>(answer->size() >> 8);
      out_ += static_cast<char>(answer->size() & 0xff);
      out_ += *answer;
    }
    return out_.empty() || flush();
  }

 private:
  bool flush() {
    ssize_t n = ::send(fd(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    out_.erase(0, static_cast<std::size_t>(n));
    return true;
  }
  FileDescriptor socket_;
  std::string in_, out_;
};

constexpr unsigned kRefused = 5;

bool is_refusal(const std::string& answer) {
  return answer.size() > 3 && (static_cast<unsigned char>(answer[3]) & 0x0f) == kRefused;
}

void serve_udp(int socket, const Zone& zone, DnsForwarder& forwarder) {
  char buffer[4096];
  for (int i = 0; i < kBurst; ++i) {
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    ssize_t n = ::recvfrom(socket, buffer, sizeof buffer, MSG_DONTWAIT,
                           reinterpret_cast<sockaddr*>(&peer), &length);
    if (n < 0) return;
    const std::string_view query(buffer, static_cast<std::size_t>(n));
    auto answer = answer_query(zone, query, kUdpLimit);
    if (answer && is_refusal(*answer) && forwarder.ask(query, peer, real_clock().mono())) continue;
    if (answer)
      ::sendto(socket, answer->data(), answer->size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&peer), length);
  }
}

}  // namespace

Result<std::unique_ptr<DnsServer>> DnsServer::start(FileDescriptor udp, FileDescriptor tcp,
                                                    std::uint32_t address,
                                                    const std::vector<std::uint32_t>& upstreams,
                                                    std::uint16_t port) {
  auto server = std::make_unique<DnsServer>(Private{});
  TRY(server->forwarder_.open(upstreams));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(address);
  int one = 1;
  ::setsockopt(tcp.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  for (const FileDescriptor* socket : {&udp, &tcp})
    if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
      return errno_error("serve DNS on " + ipv4_text(address));
  if (::listen(tcp.get(), 64) != 0) return errno_error("listen for DNS");
  server->udp_ = std::move(udp);
  server->tcp_ = std::move(tcp);
  server->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (!server->wake_) return errno_error("open an eventfd");
  server->thread_ = std::make_unique<WorkerPool>("hekla-dns", 1);
  Task loop = [raw = server.get()] { raw->run(); };
  if (!server->thread_->try_post(loop)) return fail(Code::internal, "start the DNS responder");
  return server;
}

DnsServer::~DnsServer() {
  if (!thread_) return;
  eventfd_write(wake_.get(), 1);
  thread_->stop();
}

void DnsServer::publish(Zone zone) {
  auto next = std::make_shared<const Zone>(std::move(zone));
  std::lock_guard lock(mutex_);
  zone_ = std::move(next);
}

std::shared_ptr<const Zone> DnsServer::zone() {
  std::lock_guard lock(mutex_);
  return zone_;
}

void DnsServer::run() {
  std::list<Connection> connections;
  while (true) {
    std::vector<pollfd> waiting = {
        {wake_.get(), POLLIN, 0}, {udp_.get(), POLLIN, 0}, {tcp_.get(), POLLIN, 0}};
    const std::vector<int> upstreams = forwarder_.sockets();
    for (int fd : upstreams) waiting.push_back({fd, POLLIN, 0});
    for (const Connection& connection : connections)
      waiting.push_back({connection.fd(), connection.wanted(), 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) return;
    std::shared_ptr<const Zone> now = zone();
    forwarder_.answer(udp_.get());
    std::size_t i = 3 + upstreams.size();
    for (auto at = connections.begin(); at != connections.end(); ++i)
      at = waiting[i].revents == 0 || at->progress(*now) ? std::next(at) : connections.erase(at);
    if (waiting[1].revents != 0) serve_udp(udp_.get(), *now, forwarder_);
    if (waiting[2].revents == 0) continue;
    FileDescriptor accepted(::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    // Past the limit the oldest goes: a client that keeps its connection open cannot lock others
    // out.
    if (connections.size() >= kMaxConnections) connections.pop_front();
    if (accepted) connections.emplace_back(std::move(accepted));
  }
}

}  // namespace hekla::agent
