// bench/proxy_memory: what a proxy made of net's parts needs to pass on a large body, there and
// back. Three processes: a server that sends back what it gets, the proxy, and a client with one
// connection that writes and reads at once and compares every byte. One line of JSON per way:
//   {"way":"sized","gb":2,"s":...,"mb_per_s":...,"proxy_cpu_s":...,"growth_mb":...}
// growth is that of the proxy's resident memory, its largest value less that before the first byte.
//   proxy_memory [GIGABYTES [WAY...]]   ways: sized chunked tunnel slow; slow reads nothing for two
//   seconds and then with pauses
// Exits with 1 when a byte is wrong or the proxy has grown by more than 16 MB.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "net/forward.h"
#include "net/local_clients.h"
#include "net/server.h"
#include "net/wire/http_parser.h"

namespace hekla {
namespace {

using namespace std::chrono_literals;
using WriterPtr = std::shared_ptr<net::ResponseWriter>;

constexpr std::size_t kMaxPending = 128 * 1024;
constexpr double kMaxGrowthMb = 16;

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "bench/proxy_memory: %s\n", text.c_str());
  std::_Exit(1);
}

double own_cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  long size = 0, resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

net::ServerOptions plain_server() {
  net::ServerOptions options;
  options.tls = false;
  options.threads = 1;
  options.router = [](const net::Request&) {
    return net::RouteRules{.stream_body = true,
                           .max_body_bytes = std::size_t{1} << 50,
                           .body_timeout = 0ms,
                           .stall_timeout = 60s};
  };
  return options;
}

// Sends back what it gets, at the pace of whoever reads.
void echo(const net::Request& request, const WriterPtr& writer) {
  net::InputCallbacks input;
  input.on_data = [writer](std::string_view data) {
    writer->write(std::string(data));
    if (writer->pending_bytes() < kMaxPending) return;
    writer->pause_input(true);
    if (writer->pending_bytes() == 0) writer->pause_input(false);
  };
  input.on_end = [writer](Result<void> outcome) { outcome ? writer->end() : writer->abort(); };
  writer->on_drained([writer] { writer->pause_input(false); });
  if (request.headers.has("Upgrade")) return writer->tunnel({}, std::move(input));
  if (request.body_bytes)
    writer->begin_sized(200, {}, *request.body_bytes);
  else
    writer->begin(200, {});
  writer->read_body(std::move(input));
}

// Serves in a process of its own until that is killed; returns its port.
std::pair<pid_t, std::uint16_t> start_echo() {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) give_up("pipe failed");
  const pid_t child = ::fork();
  if (child < 0) give_up("fork failed");
  if (child == 0) {
    auto server = net::Server::start(plain_server(), echo).value();
    const std::uint16_t port = server->port();
    if (::write(pipe[1], &port, sizeof port) != sizeof port) give_up("write failed");
    while (true) ::pause();
  }
  std::uint16_t port = 0;
  if (::read(pipe[0], &port, sizeof port) != sizeof port) give_up("the echo server did not start");
  return {child, port};
}

// Bytes whose order shows: a prime number of them, over and over.
class Pattern {
 public:
  Pattern() {
    std::uint32_t state = 1;
    for (char& byte : bytes_) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<char>(state >> 24);
    }
  }
  std::string_view from(std::uint64_t at, std::size_t most) const {
    return std::string_view(bytes_).substr(at % kPeriod, most);
  }

 private:
  static constexpr std::size_t kPeriod = 1048583;
  std::string bytes_ = std::string(kPeriod, '\0');
};

// One connection to the proxy that sends and receives `bytes` at once.
class Load {
 public:
  Load(std::uint16_t port, std::string way, std::uint64_t bytes)
      : way_(std::move(way)), bytes_(bytes), fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      give_up("cannot connect to the proxy");
    std::string head = "PUT /echo HTTP/1.1\r\nHost: h\r\n";
    if (way_ == "tunnel")
      head = "GET /echo HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n";
    else if (way_ == "chunked")
      head += "Transfer-Encoding: chunked\r\n";
    else
      head += "Content-Length: " + std::to_string(bytes) + "\r\n";
    output_ = head + "\r\n";
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }

  void run() {
    const MonoTime begun = real_clock().mono();
    while (!done_) {
      const bool slow = way_ == "slow";
      const bool reads = !slow || real_clock().mono() - begun > 2s;
      const bool writes = !output_.empty() || !all_written_;
      pollfd wait{fd_, static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0};
      if (::poll(&wait, 1, reads ? 60'000 : 100) < 0) give_up("poll failed");
      if ((wait.revents & POLLOUT) != 0) send();
      if ((wait.revents & (POLLIN | POLLHUP)) != 0) receive();
      if (slow && reads) std::this_thread::sleep_for(1ms);
    }
  }

 private:
  void send() {
    if (output_.empty()) refill();
    const ssize_t sent = ::send(fd_, output_.data(), output_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) give_up(std::string("send: ") + std::strerror(errno));
    if (sent > 0) output_.erase(0, static_cast<std::size_t>(sent));
    if (output_.empty() && written_ == bytes_ && !all_written_) {
      all_written_ = true;
      if (way_ == "tunnel") ::shutdown(fd_, SHUT_WR);
    }
  }
  void refill() {
    const std::string_view piece =
        pattern_.from(written_, std::min<std::uint64_t>(bytes_ - written_, 256 * 1024));
    written_ += piece.size();
    if (way_ != "chunked") {
      output_ = piece;
      return;
    }
    std::array<char, 24> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
    output_ = size.data() + std::string(piece) + "\r\n";
    if (written_ == bytes_) output_ += "0\r\n\r\n";
  }
  void receive() {
    static std::array<char, 256 * 1024> buffer;
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      if (got == 0 && way_ == "tunnel" && read_ == bytes_) return finish();
      give_up("the proxy has closed the connection after " + std::to_string(read_) + " bytes");
    }
    std::string_view data(buffer.data(), static_cast<std::size_t>(got));
    if (!body_) read_head(data);
    if (!body_) return;
    net::Parsed<std::string_view> piece = body_->gather(data, scratch_);
    if (!piece) give_up(piece.error().message);
    compare(*piece);
    if (body_->complete()) finish();
  }
  void read_head(std::string_view& data) {
    net::Parsed<bool> complete = head_.feed(data);
    if (!complete) give_up(complete.error().message);
    if (!*complete) return;
    net::Parsed<net::ResponseHead> head = net::parse_response_head(head_.text());
    if (!head || (head->status != 200 && head->status != 101)) give_up("a wrong answer");
    body_ = head->status == 101
                ? net::BodyReader::until_close()
                : net::BodyReader::for_response(*head, false, std::size_t{1} << 50).value();
  }
  void compare(std::string_view data) {
    while (!data.empty()) {
      const std::string_view expected = pattern_.from(read_, data.size());
      if (data.substr(0, expected.size()) != expected)
        give_up("a byte is wrong near " + std::to_string(read_));
      read_ += expected.size();
      data.remove_prefix(expected.size());
    }
  }
  void finish() {
    if (read_ != bytes_) give_up("the answer has " + std::to_string(read_) + " bytes");
    done_ = true;
  }

  const std::string way_;
  const std::uint64_t bytes_;
  const int fd_;
  const Pattern pattern_;
  std::string output_;
  std::uint64_t written_ = 0, read_ = 0;
  bool all_written_ = false, done_ = false;
  net::HeadReader head_{64 * 1024};
  std::optional<net::BodyReader> body_;
  std::string scratch_;
};

// The proxy; here, because its memory is what is asked for.
class Proxy {
 public:
  explicit Proxy(std::uint16_t upstream)
      : upstream_(upstream),
        clients_(net::LocalClients::make({}).value()),
        server_(net::Server::start(plain_server(), [this](const net::Request& request,
                                                          WriterPtr writer) {
                  net::Forwarding how;
                  how.upstream.method = {};
                  how.upstream.url =
                      "http://127.0.0.1:" + std::to_string(upstream_) + request.target;
                  how.upstream.headers = net::end_to_end_headers(request.headers);
                  how.upstream.timeout = {};
                  net::forward(request, std::move(writer), clients_->here(), std::move(how));
                }).value()) {}
  ~Proxy() { server_->stop(0ms); }
  std::uint16_t port() const { return server_->port(); }

 private:
  const std::uint16_t upstream_;
  const std::unique_ptr<net::LocalClients> clients_;
  const std::unique_ptr<net::Server> server_;
};

bool measure(Proxy& proxy, const std::string& way, double gigabytes) {
  const double before = resident_mb(), cpu = own_cpu_s();
  const MonoTime begun = real_clock().mono();
  const pid_t load = ::fork();
  if (load == 0) {
    Load(proxy.port(), way, static_cast<std::uint64_t>(gigabytes * 1e9)).run();
    std::_Exit(0);
  }
  double most = before;
  int status = 0;
  while (::waitpid(load, &status, WNOHANG) == 0) {
    most = std::max(most, resident_mb());
    std::this_thread::sleep_for(5ms);
  }
  const double seconds = std::chrono::duration<double>(real_clock().mono() - begun).count();
  std::printf(
      "{\"way\":\"%s\",\"gb\":%g,\"s\":%.2f,\"mb_per_s\":%.0f,\"proxy_cpu_s\":%.2f,\"growth_mb\":%."
      "1f}\n",
      way.c_str(), gigabytes, seconds, 1000 * gigabytes / seconds, own_cpu_s() - cpu,
      most - before);
  std::fflush(stdout);
  return status == 0 && most - before <= kMaxGrowthMb;
}

}  // namespace
}  // namespace hekla

int main(int count, char** arguments) {
  using namespace hekla;
  const double gigabytes = count > 1 ? std::atof(arguments[1]) : 2;
  std::vector<std::string> ways(arguments + std::min(count, 2), arguments + count);
  if (ways.empty()) ways = {"sized", "chunked", "tunnel", "slow"};
  const auto [echo_process, echo_port] = start_echo();
  bool good = true;
  {
    Proxy proxy(echo_port);
    for (const std::string& way : ways) good = measure(proxy, way, gigabytes) && good;
  }
  ::kill(echo_process, SIGKILL);
  ::waitpid(echo_process, nullptr, 0);
  return good ? 0 : 1;
}
