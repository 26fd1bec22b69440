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
constexpr std::size_t kMostUnanswered = 32;  // questions of one connection
constexpr int kBurst = 64;

}  // namespace

// One TCP client: a two-byte length before each message, both ways.
class DnsServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(DnsServer& server, FileDescriptor socket)
      : server_(server), socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }
  short wanted() const {
    if (!out_.empty()) return POLLOUT;
    return unanswered_ < kMostUnanswered ? POLLIN : 0;
  }

  // False when the connection is done.
  bool progress() {
    if (!out_.empty()) return flush();
    char buffer[4096];
    ssize_t n = ::recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    in_.append(buffer, static_cast<std::size_t>(n));
    while (in_.size() >= 2) {
      std::size_t size = (static_cast<std::size_t>(static_cast<unsigned char>(in_[0])) << 8) |
                         static_cast<unsigned char>(in_[1]);
      if (in_.size() < 2 + size) break;
      const std::string query = in_.substr(2, size);
      in_.erase(0, 2 + size);
      ++unanswered_;
      server_.respond(query, true, [weak = weak_from_this()](const std::string& answer) {
        if (auto self = weak.lock()) self->say(answer);
      });
    }
    return out_.empty() || flush();
  }

 private:
  void say(const std::string& answer) {
    --unanswered_;
    out_ += static_cast<char>(answer.size() >> 8);
    out_ += static_cast<char>(answer.size() & 0xff);
    out_ += answer;
  }
  bool flush() {
    ssize_t n = ::send(fd(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    out_.erase(0, static_cast<std::size_t>(n));
    return true;
  }
  DnsServer& server_;
  FileDescriptor socket_;
  std::string in_, out_;
  std::size_t unanswered_ = 0;
};

// Names that are not the cluster's are asked of others, and so is the name that an alias of the
// cluster leads to: the resolvers of programs do not follow it themselves.
void DnsServer::respond(std::string_view query, bool stream, DnsReply reply) {
  const std::size_t limit = stream ? kTcpLimit : kUdpLimit;
  std::optional<DnsAnswer> answer = answer_query(*zone(), query, limit);
  if (!answer) return;
  if (answer->elsewhere.empty() || !forwarder_.is_open()) return reply(std::move(answer->wire));
  std::optional<std::string> question = query_for(query, answer->elsewhere);
  auto shared = std::make_shared<DnsReply>(std::move(reply));
  auto join = [shared, own = answer->wire, asked = std::string(query),
               limit](const std::string& theirs) {
    (*shared)(join_answers(asked, own, theirs, limit).value_or(own));
  };
  if (!question || !forwarder_.ask(*question, stream, std::move(join), real_clock().mono()))
    (*shared)(std::move(answer->wire));
}

void DnsServer::serve_udp() {
  char buffer[4096];
  for (int i = 0; i < kBurst; ++i) {
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    ssize_t n = ::recvfrom(udp_.get(), buffer, sizeof buffer, MSG_DONTWAIT,
                           reinterpret_cast<sockaddr*>(&peer), &length);
    if (n < 0) return;
    respond({buffer, static_cast<std::size_t>(n)}, false, [this, peer](const std::string& answer) {
      ::sendto(udp_.get(), answer.data(), answer.size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&peer), sizeof peer);
    });
  }
}

Result<std::unique_ptr<DnsServer>> DnsServer::start(FileDescriptor udp, FileDescriptor tcp,
                                                    std::uint32_t address, std::uint16_t port) {
  auto server = std::make_unique<DnsServer>(Private{});
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(address);
  int one = 1;
  ::setsockopt(tcp.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  // Room for what comes while the machine is busy elsewhere; without the privilege the default
  // stays.
  int room = 4 << 20;
  ::setsockopt(udp.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  for (const FileDescriptor* socket : {&udp, &tcp})
    if (::bind(socket->get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
      return errno_error("serve DNS on " + ipv4_text(address));
  if (::listen(tcp.get(), 64) != 0) return errno_error("listen for DNS");
  server->udp_ = std::move(udp);
  server->tcp_ = std::move(tcp);
  server->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->wake_) return errno_error("open an eventfd");
  server->thread_ = std::make_unique<WorkerPool>("hekla-dns", 1);
  Task loop = [raw = server.get()] { raw->run(); };
  if (!server->thread_->try_post(loop)) return fail(Code::internal, "start the DNS responder");
  return server;
}

DnsServer::~DnsServer() {
  if (!thread_) return;
  stopping_ = true;
  eventfd_write(wake_.get(), 1);
  thread_->stop();
}

void DnsServer::publish(Zone zone) {
  auto next = std::make_shared<const Zone>(std::move(zone));
  std::lock_guard lock(mutex_);
  zone_ = std::move(next);
}

void DnsServer::use_name_servers(std::vector<std::string> addresses, std::uint16_t port) {
  {
    std::lock_guard lock(mutex_);
    new_servers_.emplace(std::move(addresses), port);
  }
  eventfd_write(wake_.get(), 1);
}

std::shared_ptr<const Zone> DnsServer::zone() {
  std::lock_guard lock(mutex_);
  return zone_;
}

void DnsServer::take_name_servers() {
  eventfd_t woken = 0;
  eventfd_read(wake_.get(), &woken);
  std::lock_guard lock(mutex_);
  if (auto servers = std::exchange(new_servers_, std::nullopt))
    forwarder_.use(servers->first, servers->second);
}

void DnsServer::run() {
  std::list<std::shared_ptr<Connection>> connections;
  while (!stopping_) {
    std::vector<pollfd> waiting = {
        {wake_.get(), POLLIN, 0}, {udp_.get(), POLLIN, 0}, {tcp_.get(), POLLIN, 0}};
    for (const auto& connection : connections)
      waiting.push_back({connection->fd(), connection->wanted(), 0});
    forwarder_.add_waits(waiting);
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) take_name_servers();
    forwarder_.progress();
    std::size_t i = 3;
    for (auto at = connections.begin(); at != connections.end(); ++i)
      at = waiting[i].revents == 0 || (*at)->progress() ? std::next(at) : connections.erase(at);
    if (waiting[1].revents != 0) serve_udp();
    if (waiting[2].revents == 0) continue;
    FileDescriptor accepted(::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    // Past the limit the oldest goes: a client that keeps its connection open cannot lock others
    // out.
    if (connections.size() >= kMaxConnections) connections.pop_front();
    if (accepted) connections.push_back(std::make_shared<Connection>(*this, std::move(accepted)));
  }
}

}  // namespace hekla::agent
