// bench/api_load: load for any Kubernetes API server over TLS. One thread, prepared requests,
// answers read no further than their framing demands, so that the client is not the limit. One mode
// per run, one line of JSON:
//   --mode create --kind configmap|pod|pod4k   creates over 64 connections:
//   {"per_s","p50_ms","p99_ms",...}
//   --mode list                          lists of all pods as JSON, one after another:
//   {"p50_ms",...}
//   --mode watch                         updates of one object to many watchers:
//   {"events_per_s",...}
// Connections and watches are open before the clock starts. Every line carries the program's own
// CPU time per request and, with --server-pids P,P, that of those processes meanwhile.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>

#include "base/clock.h"
#include "kube/rest_client.h"
#include "net/url.h"
#include "net/wire/channel.h"
#include "net/wire/http_parser.h"
#include "net/wire/tls.h"

namespace hekla {
namespace {

struct LoadOptions {
  std::string kubeconfig, mode = "create", kind = "configmap", space = "default";
  int count = 10000, connections = 64, watchers = 200;
  std::vector<int> server_pids;
};

[[noreturn]] void give_up(const std::string& text) {
  std::fprintf(stderr, "bench/api_load: %s\n", text.c_str());
  std::exit(1);
}

double own_cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto us = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// CPU time of the servers until now, to the kernel's tick.
double server_cpu_us(const LoadOptions& options) {
  double ticks = 0;
  for (int pid : options.server_pids) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return 1e6 * ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// What was used since it was made, of CPU and of time.
class Meter {
 public:
  explicit Meter(const LoadOptions& options) : options_(options) {}
  double seconds() const {
    return std::chrono::duration<double>(real_clock().mono() - start_).count();
  }
  double client_us() const { return own_cpu_us() - client_; }
  double server_us() const { return server_cpu_us(options_) - server_; }

 private:
  const LoadOptions& options_;
  double client_ = own_cpu_us();
  double server_ = server_cpu_us(options_);
  MonoTime start_ = real_clock().mono();
};

double ms_since(MonoTime start) {
  return std::chrono::duration<double, std::milli>(real_clock().mono() - start).count();
}

double percentile(std::vector<double>& values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(p / 100 * last)];
}

// Where to, and as whom.
struct Target {
  net::Url url;
  net::SslContext tls;
  std::string common_headers;
};

Target target_of(const kube::ClusterAccess& access) {
  Result<net::Url> url = net::parse_url(access.server + "/");
  if (!url) give_up(url.error().message);
  if (url->origin.scheme != net::Origin::Scheme::https)
    give_up("the server's URL must be an https:// one");
  const net::ClientOptions& http = access.http;
  Result<net::SslContext> tls =
      net::make_client_context({http.ca_pem, http.certificate, http.insecure_skip_verify});
  if (!tls) give_up(tls.error().message);
  SSL_CTX_clear_mode(tls->get(),
                     SSL_MODE_RELEASE_BUFFERS);  // every connection is busy all the time
  std::string headers =
      "Host: " + url->authority + "\r\nAccept: application/json\r\nUser-Agent: api_load\r\n";
  if (!http.bearer_token.empty()) headers += "Authorization: Bearer " + http.bearer_token + "\r\n";
  return {std::move(*url), std::move(*tls), std::move(headers)};
}

// What a request is made of, but for its number.
struct Form {
  std::string method = "GET", path, content_type = {};
};

void append_request(const Target& target, const Form& form, std::string_view body,
                    std::string& out) {
  out.append(form.method)
      .append(" ")
      .append(form.path)
      .append(" HTTP/1.1\r\n")
      .append(target.common_headers);
  if (!form.content_type.empty())
    out.append("Content-Type: ")
        .append(form.content_type)
        .append("\r\nContent-Length: ")
        .append(std::to_string(body.size()))
        .append("\r\n");
  out.append("\r\n").append(body);
}

// One connection. Its socket is non-blocking once the handshake is done.
class Link {
 public:
  explicit Link(const Target& target) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target.url.origin.port);
    if (::inet_pton(AF_INET, target.url.origin.host.c_str(), &address.sin_addr) != 1)
      give_up(target.url.origin.host + " is not an IPv4 address");
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      give_up("cannot connect");
    net::tune_socket(fd_);
    Result<net::Ssl> ssl = net::make_client_session(*target.tls, target.url.origin.host);
    if (!ssl) give_up(ssl.error().message);
    ssl_ = std::move(*ssl);
    SSL_set_fd(ssl_.get(), fd_);
    if (SSL_connect(ssl_.get()) != 1) give_up(net::tls_failure(*ssl_));
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { ::close(fd_); }

  int fd() const { return fd_; }

  void send(std::string_view request) {
    sent_at_ = real_clock().mono();
    while (!request.empty()) {
      std::size_t taken = 0;
      const int done = SSL_write_ex(ssl_.get(), request.data(), request.size(), &taken);
      if (done == 1) {
        request.remove_prefix(taken);
        continue;
      }
      if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_WRITE) give_up("cannot send");
      pollfd writable{fd_, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    }
  }
  MonoTime sent_at() const { return sent_at_; }

  // Reads what has come; `on_body` gets the answer's body piece by piece. True when an answer has
  // come to its end.
  template <class OnBody>
  bool read(OnBody&& on_body) {
    thread_local std::array<char, 64 * 1024> buffer;
    bool complete = false;
    while (true) {
      std::size_t got = 0;
      const int done = SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &got);
      if (done != 1) {
        if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ)
          give_up("the server has closed a connection");
        return complete;
      }
      for (std::string_view data(buffer.data(), got); !data.empty();)
        complete = take(data, on_body) || complete;
      if (got < buffer.size() && SSL_has_pending(ssl_.get()) == 0) return complete;
    }
  }
  int status() const { return status_; }

 private:
  template <class OnBody>
  bool take(std::string_view& data, OnBody&& on_body) {
    if (!in_body_ && !read_head(data)) return false;
    piece_.clear();
    if (!body_.feed(data, piece_)) give_up("cannot read an answer's body");
    if (!piece_.empty()) on_body(std::string_view(piece_));
    in_body_ = !body_.complete();
    return !in_body_;
  }

  bool read_head(std::string_view& data) {
    net::Parsed<bool> whole = head_.feed(data);
    if (!whole) give_up("cannot read an answer: " + whole.error().message);
    if (!*whole) return false;
    net::Parsed<net::ResponseHead> head = net::parse_response_head(head_.text());
    if (!head) give_up("cannot read an answer: " + head.error().message);
    net::Parsed<net::BodyReader> body =
        net::BodyReader::for_response(*head, false, std::numeric_limits<std::size_t>::max());
    if (!body) give_up("cannot read an answer: " + body.error().message);
    head_.reset();
    status_ = head->status;
    body_ = std::move(*body);
    in_body_ = true;
    return true;
  }

  int fd_;
  net::Ssl ssl_;
  MonoTime sent_at_{};
  net::HeadReader head_{64 * 1024};
  net::BodyReader body_;
  std::string piece_;
  int status_ = 0;
  bool in_body_ = false;
};

// Connections whose sockets are waited for together.
class Links {
 public:
  explicit Links(const Target& target) : target_(target) {}
  ~Links() { ::close(epoll_); }

  Link& add() {
    Link& link = *links_.emplace_back(std::make_unique<Link>(target_));
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &link}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, link.fd(), &event) != 0) give_up("epoll_ctl failed");
    return link;
  }

  // Calls `on_ready(Link&)` for those that have something to read until `done()`.
  template <class OnReady, class Done>
  void run(OnReady&& on_ready, Done&& done) {
    std::array<epoll_event, 256> events;
    while (!done()) {
      const int ready = ::epoll_wait(epoll_, events.data(), events.size(), 60'000);
      if (ready == 0) give_up("nothing has come for a minute");
      for (int i = 0; i < ready; ++i)
        on_ready(*static_cast<Link*>(events[static_cast<std::size_t>(i)].data.ptr));
    }
  }

 private:
  const Target& target_;
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Link>> links_;
};

// A 2 KB ConfigMap, or a pod as a tutorial would write it.
std::string body_of(const std::string& kind, int number) {
  std::string name = kind + "-" + std::to_string(number);
  if (kind == "configmap")
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
           R"("},"data":{"text":")" + std::string(1900, 'x') + R"("}})";
  // Stored with what the server adds, a pod4k is about 4 KB.
  std::string note = kind == "pod4k" ? std::string(2000, 'x') : "none";
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","labels":{"app":"load"},"annotations":{"note":")" + note +
         R"("}},)"
         R"("spec":{"schedulerName":"nobody","containers":[{"name":"main",)"
         R"("image":"busybox","command":["sleep","600"],"env":[{"name":"A","value":"1"}],)"
         R"("resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1"}}}]}})";
}

// `count` requests with `connections` of them under way at any time, and what they cost.
void pump(const Target& target, const LoadOptions& options, int connections, const Form& form,
          const std::function<std::string(int)>& make_body) {
  Links links(target);
  std::vector<Link*> idle;
  for (int i = 0; i < connections; ++i) idle.push_back(&links.add());
  std::vector<double> latencies;
  latencies.reserve(static_cast<std::size_t>(options.count));
  int sent = 0;
  std::string request;
  auto send_next = [&](Link& link) {
    if (sent == options.count) return;
    request.clear();
    append_request(target, form, make_body(sent++), request);
    link.send(request);
  };
  Meter meter(options);
  for (Link* link : idle) send_next(*link);
  auto on_ready = [&](Link& link) {
    std::string refusal;
    const bool answered = link.read([&](std::string_view body) {
      if (link.status() >= 300) refusal += body;
    });
    if (!answered) return;
    if (link.status() >= 300) give_up(refusal.substr(0, 400));
    latencies.push_back(ms_since(link.sent_at()));
    send_next(link);
  };
  links.run(on_ready, [&] { return static_cast<int>(latencies.size()) == options.count; });
  double seconds = meter.seconds(), client = meter.client_us(), server = meter.server_us();
  auto n = static_cast<double>(latencies.size());
  std::printf(
      "{\"mode\":\"%s\",\"requests\":%.0f,\"per_s\":%.0f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
      "\"client_cpu_us\":%.1f,\"server_cpu_us\":%.1f}\n",
      options.mode.c_str(), n, n / seconds, percentile(latencies, 50), percentile(latencies, 99),
      client / n, server / n);
}

void create(const Target& target, const LoadOptions& options) {
  const std::string resource = options.kind == "configmap" ? "configmaps" : "pods";
  const Form form{"POST", "/api/v1/namespaces/" + options.space + "/" + resource,
                  "application/json"};
  pump(target, options, options.connections, form,
       [&](int number) { return body_of(options.kind, number); });
}

void list(const Target& target, const LoadOptions& options) {
  pump(target, options, 1, {.path = "/api/v1/pods"}, [](int) { return std::string(); });
}

// One object, many watchers: each update is sent when every watcher has seen the one before.
class Watch {
 public:
  Watch(const Target& target, const LoadOptions& options)
      : target_(target),
        options_(options),
        base_("/api/v1/namespaces/" + options.space + "/configmaps"),
        links_(target),
        writer_(links_.add()) {}

  void run() {
    const int status = write({"POST", base_, "application/json"}, body_of("configmap", 0), 0);
    if (status >= 300 && status != 409) give_up("cannot create the object to watch");
    std::string request;
    append_request(target_,
                   {.path = base_ + "?watch=true&fieldSelector=metadata.name%3Dconfigmap-0"}, "",
                   request);
    for (int i = 0; i < options_.watchers; ++i) links_.add().send(request);
    links_.run([this](Link& link) { on_ready(link); },
               [this] { return seen_ >= options_.watchers; });
    latencies_.clear();  // that was the object as it is, once to each
    Meter meter(options_);
    const Form patch{"PATCH", base_ + "/configmap-0", "application/merge-patch+json"};
    for (int update = 1; update <= options_.count; ++update) {
      const std::string body =
          R"({"metadata":{"annotations":{"n":")" + std::to_string(update) + R"("}}})";
      if (write(patch, body, options_.watchers * (update + 1)) != 200) give_up("patch failed");
    }
    double seconds = meter.seconds(), cpu = meter.client_us(), server_cpu = meter.server_us();
    auto events = static_cast<double>(latencies_.size());
    std::printf(
        "{\"mode\":\"watch\",\"events\":%.0f,\"events_per_s\":%.0f,\"p50_ms\":%.3f,"
        "\"p99_ms\":%.3f,\"client_cpu_us\":%.1f,\"server_cpu_us\":%.1f}\n",
        events, events / seconds, percentile(latencies_, 50), percentile(latencies_, 99),
        cpu / events, server_cpu / events);
  }

 private:
  // Sends a write and waits for its answer and until the watchers together have seen so many
  // events.
  int write(const Form& form, std::string_view body, int events) {
    std::string request;
    append_request(target_, form, body, request);
    answered_ = false;
    writer_.send(request);
    links_.run([this](Link& link) { on_ready(link); },
               [&] { return answered_ && seen_ >= events; });
    return writer_.status();
  }

  void on_ready(Link& link) {
    if (&link == &writer_) {
      answered_ = link.read([](std::string_view) {}) || answered_;
      return;
    }
    link.read([this](std::string_view data) {
      const auto lines = std::count(data.begin(), data.end(), '\n');
      seen_ += static_cast<int>(lines);
      latencies_.insert(latencies_.end(), static_cast<std::size_t>(lines),
                        ms_since(writer_.sent_at()));
    });
    if (link.status() >= 300) give_up("a watch was refused");
  }

  const Target& target_;
  const LoadOptions& options_;
  const std::string base_;
  Links links_;
  Link& writer_;
  bool answered_ = false;
  int seen_ = 0;
  std::vector<double> latencies_;
};

LoadOptions parse_arguments(int argc, char** argv) {
  LoadOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view flag = argv[i];
    std::string value = argv[i + 1];
    if (flag == "--kubeconfig")
      options.kubeconfig = value;
    else if (flag == "--mode")
      options.mode = value;
    else if (flag == "--kind")
      options.kind = value;
    else if (flag == "--namespace")
      options.space = value;
    else if (flag == "--count")
      options.count = std::atoi(value.c_str());
    else if (flag == "--connections")
      options.connections = std::atoi(value.c_str());
    else if (flag == "--watchers")
      options.watchers = std::atoi(value.c_str());
    else if (flag == "--server-pids") {
      std::istringstream pids(value);
      for (std::string pid; std::getline(pids, pid, ',');)
        options.server_pids.push_back(std::atoi(pid.c_str()));
    } else
      give_up("unknown flag " + std::string(flag));
  }
  if (options.kubeconfig.empty()) give_up("--kubeconfig FILE is needed");
  return options;
}

}  // namespace
}  // namespace hekla

int main(int argc, char** argv) {
  using namespace hekla;
  LoadOptions options = parse_arguments(argc, argv);
  auto access = kube::load_kubeconfig(options.kubeconfig);
  if (!access) give_up(access.error().message);
  const Target target = target_of(*access);
  if (options.mode == "create")
    create(target, options);
  else if (options.mode == "list")
    list(target, options);
  else if (options.mode == "watch")
    Watch(target, options).run();
  else
    give_up("--mode is create, list or watch");
  return 0;
}
