// The accept loop, the set of open connections, and the orderly end of both.
#include "net/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <limits>
#include <list>
#include <mutex>
#include <unordered_set>

#include "base/check.h"
#include "base/log.h"
#include "net/listener.h"
#include "net/own_thread.h"
#include "net/serving/connection.h"
#include "net/wire/io_thread.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

constexpr auto kSweepPeriod = 250ms;  // deadlines of connections are kept to this precision
constexpr auto kStuckAtLeast = 1s;
constexpr auto kExhaustedPause = 50ms;
constexpr int kAcceptsPerTurn = 64;
constexpr std::size_t kOtherDescriptors = 1024;  // what the rest of the program may need

// As many as the machine lets us have; with fewer, accepting pauses while there are none.
void allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    log_warn("net", "the limit of open files could not be raised");
}

thread_local std::shared_ptr<OwnThread> own_thread;

// Outlives its thread in the hands of others.
class ThreadTasks final : public OwnThread {
 public:
  explicit ThreadTasks(asio::io_context& io) : io_(&io) {}
  bool post(Task& task) override {
    std::lock_guard lock(mutex_);
    if (io_) asio::post(*io_, std::move(task));
    return io_ != nullptr;
  }
  void end() {
    std::lock_guard lock(mutex_);
    io_ = nullptr;
  }

 private:
  std::mutex mutex_;
  asio::io_context* io_;
};

class NetThread {
 public:
  explicit NetThread(const std::string& name) : thread_(std::make_shared<IoThread>(name)) {
    asio::post(thread_->io(), [tasks = tasks_] { own_thread = tasks; });
  }
  ReadyConnections& ready() { return ready_; }
  // When its last connection has ended.
  void finish() {
    tasks_->end();
    thread_->finish();
  }

 private:
  std::shared_ptr<IoThread> thread_;
  ReadyConnections ready_{thread_->io()};
  std::shared_ptr<ThreadTasks> tasks_ = std::make_shared<ThreadTasks>(thread_->io());
};

class HttpServer final : public Server {
 public:
  HttpServer(ServerOptions options, Handler handler, SslContext tls, Socket listener)
      : port_(local_port(listener)),
        threads_(start_threads(options)),
        io_(threads_.front()->ready().io()),
        timer_(io_) {
    listeners_.emplace_back(io_, listener.release());
    host_.options = std::move(options);
    host_.handler = std::move(handler);
    host_.tls = std::move(tls);
    host_.on_closed = [this](const std::shared_ptr<Connection>& connection) { forget(connection); };
  }
  ~HttpServer() override { stop(1000ms); }

  void run() {
    asio::post(io_, [this] {
      accept_ready(listeners_.front());
      sweep();
    });
  }

  void serve_on(Socket socket) override {
    asio::post(io_, [this, fd = socket.release()] {
      Listener& listener = listeners_.emplace_back(io_, fd);
      boost::system::error_code ignored;
      if (stop_sweeping_) listener.close(ignored);
      accept_ready(listener);
    });
  }

  Result<void> set_certificate(const KeyPair& certificate) override {
    SslContext made = TRY(make_server_context(certificate, host_.options.client_ca_pem));
    // Sessions hold on to the context they were made from.
    asio::post(io_, [this, raw = made.release()] { host_.tls = SslContext(raw); });
    return {};
  }

  std::uint16_t port() const override { return port_; }

  void stop(std::chrono::milliseconds grace) override {
    std::lock_guard once(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
    asio::post(io_, [this] {
      boost::system::error_code ignored;
      for (Listener& listener : listeners_) listener.close(ignored);
      stop_sweeping_ = true;
      timer_.cancel();
      for (const auto& connection : open_connections(true)) connection->begin_shutdown();
    });
    std::unique_lock lock(mutex_);
    bool orderly =
        changed_.wait_for(lock, grace, [this] { return stopping_ && connections_.empty(); });
    lock.unlock();
    if (!orderly)
      for (const auto& connection : open_connections(true)) connection->close_now();
    for (const auto& each : threads_) each->finish();
  }

 private:
  static std::vector<std::unique_ptr<NetThread>> start_threads(const ServerOptions& options) {
    std::vector<std::unique_ptr<NetThread>> threads;
    for (int i = 0; i < options.threads; ++i)
      threads.push_back(std::make_unique<NetThread>(options.name));
    return threads;
  }
  using Listener = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;

  void accept_ready(Listener& listener) {
    if (!listener.is_open()) return;
    Nanos pause{};
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      Result<Accepted> accepted = accept_from(listener.native_handle());
      if (accepted) {
        open(std::move(*accepted));
        continue;
      }
      if (accepted.error().code != Code::too_many_requests) break;
      log_error("net", "cannot accept connections", {{"error", accepted.error().message}});
      pause = kExhaustedPause;
      break;
    }
    if (pause > Nanos{}) return pause_accepting(listener, pause);
    listener.async_wait(asio::posix::descriptor_base::wait_read,
                        [this, &listener](boost::system::error_code error) {
                          if (!error) accept_ready(listener);
                        });
  }

  void pause_accepting(Listener& listener, Nanos pause) {
    auto timer = std::make_shared<asio::steady_timer>(io_, pause);
    timer->async_wait(
        [this, &listener, timer](boost::system::error_code) { accept_ready(listener); });
  }

  void open(Accepted accepted) {
    Ssl ssl;
    if (host_.tls) {
      Result<Ssl> session = make_server_session(*host_.tls);
      if (!session) return log_error("net", session.error().message);
      ssl = std::move(*session);
    }
    std::lock_guard lock(mutex_);
    if (stopping_ || (connections_.size() >= host_.options.max_connections && !make_room())) return;
    next_thread_ = (next_thread_ + 1) % threads_.size();
    auto connection = std::make_shared<Connection>(host_, threads_[next_thread_]->ready(),
                                                   accepted.socket.release(), std::move(ssl),
                                                   std::move(accepted.remote_address));
    connections_.insert(connection);
    connection->start();
  }

  // Asks those that have been idle longest to go; false when none is. Many at a time, since looking
  // costs. Until they have gone there are a few more connections than allowed.
  bool make_room() {
    std::vector<std::pair<MonoTime::rep, std::shared_ptr<Connection>>> idle;
    for (const auto& connection : connections_)
      if (MonoTime::rep since = connection->idle_since();
          since != std::numeric_limits<MonoTime::rep>::max())
        idle.emplace_back(since, connection);
    const std::size_t leaving = std::min(idle.size(), connections_.size() / 32 + 1);
    std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(leaving),
                      idle.end());
    for (std::size_t i = 0; i < leaving; ++i) idle[i].second->give_way();
    return leaving > 0;
  }

  void forget(const std::shared_ptr<Connection>& connection) {
    std::lock_guard lock(mutex_);
    CHECK(connections_.erase(connection) == 1, "a connection closes once");
    if (stopping_ && connections_.empty()) changed_.notify_all();
  }

  std::vector<std::shared_ptr<Connection>> open_connections(bool stopping) {
    std::lock_guard lock(mutex_);
    stopping_ = stopping_ || stopping;
    if (stopping_ && connections_.empty()) changed_.notify_all();
    return {connections_.begin(), connections_.end()};
  }

  void sweep() {
    if (stop_sweeping_) return;
    MonoTime now = real_clock().mono();
    const std::vector<std::shared_ptr<Connection>> all = open_connections(false);
    for (const auto& connection : all) connection->check_deadline(now);
    if (host_.unread_bytes > host_.options.max_unread_bytes) break_off_stuck(all, now);
    timer_.expires_after(kSweepPeriod);
    timer_.async_wait([this](boost::system::error_code) { sweep(); });
  }

  // See ServerOptions::max_unread_bytes.
  void break_off_stuck(const std::vector<std::shared_ptr<Connection>>& all, MonoTime now) {
    std::vector<std::pair<MonoTime::rep, Connection*>> stuck;
    const MonoTime::rep latest = (now - kStuckAtLeast).time_since_epoch().count();
    for (const auto& connection : all)
      if (const MonoTime::rep since = connection->stuck_since(); since <= latest)
        stuck.emplace_back(since, connection.get());
    std::ranges::sort(stuck);
    std::size_t left = host_.unread_bytes;
    for (const auto& [since, connection] : stuck) {
      if (left <= host_.options.max_unread_bytes) return;
      left -= std::min(left, connection->unread_bytes());
      connection->break_off(since);
    }
  }

  const std::uint16_t port_;
  const std::vector<std::unique_ptr<NetThread>> threads_;
  ConnectionHost host_;
  asio::io_context& io_;           // of the listeners and the sweep
  std::list<Listener> listeners_;  // stay where they are: their handlers point at them
  asio::steady_timer timer_;
  bool stop_sweeping_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::size_t next_thread_ = 0;
  bool stopping_ = false;

  std::mutex stop_mutex_;
  bool stopped_ = false;
};

}  // namespace

std::shared_ptr<OwnThread> OwnThread::current() { return own_thread; }

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  Socket listener = TRY(listen_on(options.address, options.port));
  return start(std::move(options), std::move(handler), std::move(listener));
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler,
                                              Socket listener) {
  if (options.threads < 1) return fail(Code::bad_request, "a server needs at least one thread");
  allow_descriptors(options.max_connections + kOtherDescriptors);
  SslContext tls;
  if (options.tls) tls = TRY(make_server_context(options.certificate, options.client_ca_pem));
  auto server = std::make_unique<HttpServer>(std::move(options), std::move(handler), std::move(tls),
                                             std::move(listener));
  server->run();
  return server;
}

}  // namespace hekla::net
