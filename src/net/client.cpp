// The pool of connections and the thread they run on.
#include "net/client.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "base/check.h"
#include "base/disk.h"
#include "base/log.h"
#include "net/calling/client_connection.h"
#include "net/listener.h"
#include "net/wire/io_thread.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kMaxIdle = 60s;  // servers keep idle connections for minutes
constexpr Nanos kMaxIdleForBody = 1s;
constexpr std::size_t kMaxIdlePerOrigin = 64;
constexpr Nanos kTokenAge = 60s;

class CallHandle final : public StreamHandle {
 public:
  explicit CallHandle(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~CallHandle() override { call_->cancel(); }
  void hold(bool held) override { call_->hold(held); }
  void write(std::string bytes) override { call_->write(std::move(bytes)); }
  void end() override { call_->end_output({}); }
  void end_with(Headers trailers) override { call_->end_output(trailers); }
  std::size_t pending_bytes() const override { return call_->unsent(); }

 private:
  std::shared_ptr<Call> call_;
};

class HttpClient final : public Client, public ConnectionPool {
 public:
  // On a thread of its own, or on one that belongs to somebody else.
  HttpClient(ClientOptions options, SslContext tls, std::shared_ptr<IoThread> thread)
      : options_(std::move(options)),
        tls_(std::move(tls)),
        owns_thread_(thread == nullptr),
        thread_(owns_thread_ ? std::make_shared<IoThread>("net-client") : std::move(thread)) {
    leave_ = thread_->on_finish([this] { end_all(); });
  }

  ~HttpClient() override {
    thread_->forget(leave_);
    end_all();
    // Until the last connection has closed.
    owns_thread_ ? thread_->finish() : thread_->settle();
  }

  void send(ClientRequest request, std::function<void(Result<Response>)> done) override {
    auto response = std::make_shared<Response>();
    StreamCallbacks callbacks;
    callbacks.on_head = [response](int status, const Headers& headers) {
      response->status = status;
      response->headers = headers;
    };
    callbacks.on_data = [response](std::string_view data) { response->body.append(data); };
    callbacks.on_end = [response, done = std::move(done)](Result<void> outcome) {
      if (outcome)
        done(std::move(*response));
      else
        done(std::unexpected(std::move(outcome).error()));
    };
    start(std::move(request), false, std::move(callbacks));
  }

  std::unique_ptr<StreamHandle> stream(ClientRequest request, StreamCallbacks callbacks) override {
    return std::make_unique<CallHandle>(start(std::move(request), true, std::move(callbacks)));
  }

  Result<Response> fetch(ClientRequest request) override {
    auto answer = std::make_shared<std::promise<Result<Response>>>();
    send(std::move(request),
         [answer](Result<Response> response) { answer->set_value(std::move(response)); });
    return answer->get_future().get();
  }

 private:
  void end_all() {
    std::vector<std::shared_ptr<Call>> waiting;
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      for (auto& [origin, pool] : pools_) {
        waiting.insert(waiting.end(), pool.waiting.begin(), pool.waiting.end());
        pool.waiting.clear();
        pool.idle.clear();
      }
      for (const auto& connection : connections_) connection->close_now("the client is closing");
    }
    for (const auto& call : waiting) refuse(call);
    std::lock_guard lock(gate_->mutex);
    gate_->closed = true;
  }

  struct Pool {
    std::vector<std::shared_ptr<ClientConnection>> idle;  // the last one used is the last in
    std::size_t active = 0;
    std::deque<std::shared_ptr<Call>> waiting;
    bool is_empty() const { return idle.empty() && active == 0 && waiting.empty(); }
  };

  std::shared_ptr<Call> start(ClientRequest request, bool is_stream, StreamCallbacks callbacks) {
    Result<Url> url = parse_url(request.url);
    if (options_.credentials)
      callbacks.on_head = [credentials = options_.credentials,
                           on_head = std::move(callbacks.on_head)](int status,
                                                                   const Headers& headers) {
        if (status == 401) credentials->refused();
        if (on_head) on_head(status, headers);
      };
    auto call = std::make_shared<Call>(thread_->io(), std::move(request), url ? *url : Url{},
                                       is_stream, std::move(callbacks));
    if (!url) {
      asio::post(thread_->io(),
                 [call, error = url.error()] { call->finish(std::unexpected(error)); });
      return call;
    }
    call->arm_timeout();
    place(call);
    return call;
  }

  // Gives the call to an idle connection, a new one, or the queue.
  void place(const std::shared_ptr<Call>& call) {
    std::unique_lock lock(mutex_);
    if (stopping_) {
      lock.unlock();
      return refuse(call);
    }
    Pool& pool = pools_[call->url().origin];
    if (!call->is_stream() && pool.active >= options_.max_connections_per_origin) {
      std::erase_if(pool.waiting, [](const auto& waiting) { return waiting->finished(); });
      pool.waiting.push_back(call);
      return;
    }
    assign(pool, call);
  }

  // With the lock held.
  void assign(Pool& pool, const std::shared_ptr<Call>& call) {
    std::shared_ptr<ClientConnection> connection;
    // A streamed body cannot be sent again if the server closes just then.
    MonoTime oldest =
        real_clock().mono() - (call->has_streamed_body() ? kMaxIdleForBody : kMaxIdle);
    while (!pool.idle.empty() && !connection) {
      std::shared_ptr<ClientConnection> candidate = std::move(pool.idle.back());
      pool.idle.pop_back();
      if (candidate->idle_since >= oldest && candidate->tls_generation == tls_generation_ &&
          !call->retried)
        connection = std::move(candidate);
      else
        candidate->close_now("idle for too long");
    }
    if (!connection) {
      connection = std::make_shared<ClientConnection>(*this, thread_->io(), call->url().origin);
      connection->tls_generation = tls_generation_;
      connections_.insert(connection);
    }
    connection->counted = !call->is_stream();
    if (connection->counted) ++pool.active;
    connection->run(call);
  }

  // With the lock held: the connection's slot is free for whoever waits.
  void release(ClientConnection& connection) {
    Pool& pool = pools_[connection.origin()];
    if (std::exchange(connection.counted, false)) {
      CHECK(pool.active > 0, "a connection that counts was counted");
      --pool.active;
    }
    while (!pool.waiting.empty() && pool.active < options_.max_connections_per_origin) {
      std::shared_ptr<Call> next = std::move(pool.waiting.front());
      pool.waiting.pop_front();
      if (!next->finished()) assign(pool, next);
    }
  }

  // The pool, as connections see it.
  SSL_CTX& tls() override {
    // The system's certificates are read when somebody needs them.
    std::call_once(system_trust_, [this] {
      if (!options_.ca_pem.empty() || options_.insecure_skip_verify) return;
      if (Result<void> done = trust_system(*tls_); !done) log_error("net", done.error().message);
    });
    return options_.credentials ? renewed_tls(options_.credentials->current().certificate) : *tls_;
  }

  // A certificate that was renewed is for new connections; those made with the old one are not used
  // again.
  SSL_CTX& renewed_tls(const std::optional<KeyPair>& certificate) {
    std::lock_guard lock(tls_mutex_);
    if (!certificate || certificate->certificate_pem == tls_certificate_) return *tls_;
    Result<SslContext> made =
        make_client_context({options_.ca_pem, certificate, options_.insecure_skip_verify});
    if (made && options_.ca_pem.empty() && !options_.insecure_skip_verify)
      if (Result<void> done = trust_system(**made); !done) log_error("net", done.error().message);
    if (!made) {
      log_error("net", "a client certificate cannot be used", {{"error", made.error().message}});
      return *tls_;
    }
    tls_certificate_ = certificate->certificate_pem;
    former_tls_ = std::exchange(tls_, std::move(*made));
    ++tls_generation_;
    return *tls_;
  }
  std::string server_name(const Origin& origin) const override {
    return options_.tls_server_name.empty() ? origin.host : options_.tls_server_name;
  }
  Nanos connect_timeout() const override { return options_.connect_timeout; }
  const OwnRanges& own_ranges() const override { return options_.own_ranges; }
  bool opens_sockets() const override { return static_cast<bool>(options_.open_socket); }
  void open_socket(std::function<void(Result<int>)> done) override {
    options_.open_socket([gate = gate_, done = std::move(done)](Result<int> socket) {
      std::lock_guard lock(gate->mutex);
      if (!gate->closed) return done(std::move(socket));
      if (socket) Socket unused(*socket);
    });
  }

  std::string bearer_token() override {
    if (options_.credentials) {
      Credential now = options_.credentials->current();
      renewed_tls(now.certificate);
      return now.token;
    }
    if (options_.bearer_token_file.empty()) return options_.bearer_token;
    std::lock_guard lock(token_mutex_);
    MonoTime now = real_clock().mono();
    if (token_read_ && now - *token_read_ < kTokenAge) return token_;
    if (Result<std::string> text = read_file(options_.bearer_token_file)) {
      token_ = std::move(*text);
      while (!token_.empty() && static_cast<unsigned char>(token_.back()) <= ' ') token_.pop_back();
      token_read_ = now;
    } else {
      log_error("net", "the token cannot be read", {{"error", text.error().message}});
    }
    return token_;
  }

  void on_idle(const std::shared_ptr<ClientConnection>& connection) override {
    std::lock_guard lock(mutex_);
    if (stopping_) return connection->close_now("the client is closing");
    connection->idle_since = real_clock().mono();
    Pool& pool = pools_[connection->origin()];
    if (pool.idle.size() < kMaxIdlePerOrigin)
      pool.idle.push_back(connection);
    else
      connection->close_now("enough others are idle");
    release(*connection);
  }

  void on_closed(const std::shared_ptr<ClientConnection>& connection,
                 const std::shared_ptr<Call>& undone) override {
    {
      std::lock_guard lock(mutex_);
      connections_.erase(connection);
      std::erase(pools_[connection->origin()].idle, connection);
      release(*connection);
      const auto pool = pools_.find(connection->origin());
      if (pool->second.is_empty()) pools_.erase(pool);  // pods come and go
    }
    if (undone) place(undone);
  }

  static void refuse(const std::shared_ptr<Call>& call) {
    call->finish(fail(Code::unavailable, call->request().method + " " + call->request().url +
                                             ": the client is closing"));
  }

  const ClientOptions options_;
  std::mutex tls_mutex_;
  SslContext tls_, former_tls_;  // the former one may be in the hands of a connection that begins
  std::string tls_certificate_;
  std::atomic<int> tls_generation_ = 0;
  std::once_flag system_trust_;
  const bool owns_thread_;
  const std::shared_ptr<IoThread> thread_;
  int leave_ = 0;

  std::mutex mutex_;
  std::map<Origin, Pool> pools_;
  std::set<std::shared_ptr<ClientConnection>> connections_;
  bool stopping_ = false;

  // Sockets that somebody else makes may come when the client has gone.
  struct Gate {
    std::mutex mutex;
    bool closed = false;
  };
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();

  std::mutex token_mutex_;
  std::string token_;
  std::optional<MonoTime> token_read_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::make(ClientOptions options) {
  return make_on(nullptr, std::move(options));
}

Result<std::unique_ptr<Client>> Client::make_on(std::shared_ptr<IoThread> thread,
                                                ClientOptions options) {
  TlsTrust trust{options.ca_pem, options.certificate, options.insecure_skip_verify};
  SslContext tls = TRY(make_client_context(trust));
  return std::make_unique<HttpClient>(std::move(options), std::move(tls), std::move(thread));
}

}  // namespace hekla::net
