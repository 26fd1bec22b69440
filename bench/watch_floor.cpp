// bench/watch_floor: what one update to many watchers costs at least. A server that knows just
// enough HTTP for `api_load --mode watch`: it keeps no object, reads no request beyond its first
// word and, for each update, writes one prepared event to every watching TLS connection, from one
// thread. What Hekla needs per delivered event is to be compared with this: the rest is the
// system's `send` and OpenSSL's record.
//   watch_floor DIR   writes DIR/bench.kubeconfig, prints "ready" and serves until it is killed.
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "net/wire/channel.h"
#include "net/wire/tls.h"

namespace hekla {
namespace {

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "bench/watch_floor: %s\n", text.c_str());
  std::exit(1);
}

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}

std::string chunk(const std::string& text) {
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return size.data() + text + "\r\n";
}

// As long as the event of the ConfigMap that api_load updates.
std::string event() {
  return chunk(R"({"type":"MODIFIED","object":{"data":{"text":")" + std::string(2360, 'x') +
               "\"}}}\n");
}

struct Peer {
  int fd;
  net::Ssl ssl;
  bool watches = false;
};

class FloorServer {
 public:
  explicit FloorServer(net::SslContext tls)
      : tls_(std::move(tls)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, any, size) != 0 || ::listen(listener_, 512) != 0 ||
        ::getsockname(listener_, any, &size) != 0)
      give_up("cannot listen");
    port_ = ntohs(address.sin_port);
    wait_for(listener_, nullptr);
  }

  int port() const { return port_; }

  [[noreturn]] void serve() {
    std::array<epoll_event, 64> events;
    while (true) {
      const int ready = ::epoll_wait(epoll_, events.data(), events.size(), -1);
      for (int i = 0; i < ready; ++i) {
        auto* peer = static_cast<Peer*>(events[static_cast<std::size_t>(i)].data.ptr);
        peer ? answer(*peer) : accept();
      }
    }
  }

 private:
  void wait_for(int fd, Peer* peer) {
    epoll_event interest{.events = EPOLLIN, .data = {.ptr = peer}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &interest) != 0) give_up("epoll_ctl failed");
  }

  void accept() {
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) give_up("cannot accept");
    net::tune_socket(fd);
    auto peer = std::make_unique<Peer>(fd, value_or_give_up(net::make_server_session(*tls_)));
    SSL_set_fd(peer->ssl.get(), fd);
    if (SSL_accept(peer->ssl.get()) != 1) give_up(net::tls_failure(*peer->ssl));
    wait_for(fd, peer.get());
    Peer& added = *peers_.emplace_back(std::move(peer));
    if (SSL_has_pending(added.ssl.get()) == 1)
      answer(added);  // the request came with the handshake's end
  }

  void answer(Peer& peer) {
    std::array<char, 16 * 1024> request;
    std::size_t got = 0;
    if (SSL_read_ex(peer.ssl.get(), request.data(), request.size(), &got) != 1) {  // it has gone
      std::erase_if(peers_, [&](const auto& one) {
        if (one.get() == &peer) ::close(peer.fd);
        return one.get() == &peer;
      });
      return;
    }
    if (std::string_view(request.data(), got).starts_with("GET")) {
      peer.watches = true;
      return send(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + event_);
    }
    const bool update = std::string_view(request.data(), got).starts_with("PATCH");
    send(peer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    if (!update) return;
    for (const auto& other : peers_)
      if (other->watches) send(*other, event_);
  }

  void send(Peer& peer, const std::string& data) {
    std::size_t taken = 0;
    if (SSL_write_ex(peer.ssl.get(), data.data(), data.size(), &taken) != 1 || taken != data.size())
      give_up("cannot send");
  }

  net::SslContext tls_;
  int listener_, epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  int port_ = 0;
  std::vector<std::unique_ptr<Peer>> peers_;
  const std::string event_ = event();
};

void serve(const std::string& directory) {
  const KeyPair ca = value_or_give_up(make_ca("watch-floor", real_clock()));
  const KeyPair pair = value_or_give_up(make_certificate(
      ca, {.common_name = "server", .ip_addresses = {"127.0.0.1"}, .for_server = true},
      real_clock()));
  FloorServer server(value_or_give_up(net::make_server_context(pair, "")));
  std::ofstream(directory + "/bench.kubeconfig")
      << R"({"apiVersion":"v1","kind":"Config","current-context":"b","contexts":[{"name":"b","context":)"
      << R"({"cluster":"b","user":"b"}}],"users":[{"name":"b","user":{"token":"none"}}],"clusters":[{"name":"b",)"
      << R"("cluster":{"server":"https://127.0.0.1:)" << server.port()
      << R"(","certificate-authority-data":")" << base64_encode(ca.certificate_pem) << "\"}}]}\n";
  std::printf("ready\n");
  std::fflush(stdout);
  server.serve();
}

}  // namespace
}  // namespace hekla

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: watch_floor DIR\n");
    return 2;
  }
  hekla::serve(argv[1]);
}
