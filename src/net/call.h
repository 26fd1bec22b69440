// One request of a client from start to end, wherever it is: waiting for a connection, on one, or
// done. The lock makes the end final: after finish() or cancel() has returned no callback runs.
// Callbacks run with the lock held, so they take no lock that a holder of may end the call.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "net/channel.h"
#include "net/client.h"
#include "net/gzip.h"
#include "net/url.h"

namespace hekla::net {

class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(asio::io_context& io, ClientRequest request, Url url, bool is_stream,
       StreamCallbacks callbacks);

  const ClientRequest& request() const { return request_; }
  const Url& url() const { return url_; }
  bool is_stream() const { return is_stream_; }
  // The bytes to send; `bearer_token` is added unless the request has an Authorization header.
  std::string format_request(const std::string& bearer_token) const;
  bool is_idempotent() const;

  // Starts the clock of request().timeout.
  void arm_timeout();
  // What a call asks of whatever works for it. Each only posts. `give_up` breaks off; it is called
  // at most once, when the call ends early.
  struct Controls {
    std::function<void()> give_up;
    std::function<void(bool)> hold;
    std::function<void(std::string)> write;
  };
  // False when the call is over already.
  bool attach(Controls controls);
  // The connection is done with the call, which goes on elsewhere.
  void detach();

  // The answer, as it arrives, on the connection's thread.
  void on_head(int status, const Headers& headers);
  void on_data(std::string_view data);
  void finish(Result<void> outcome);
  // So many bytes of those written have left.
  void on_sent(std::size_t bytes);
  // Without a last callback. From any thread, also from within a callback.
  void cancel();
  // As the stream's handle asks, from any thread.
  void hold(bool held);
  void write(std::string bytes);
  std::size_t unsent() const { return unsent_; }
  // Takes no lock: the pool asks while it holds its own.
  bool finished() const { return finished_; }

  bool retried = false;  // owned by whoever runs the call

 private:
  void end(std::optional<Result<void>> outcome, bool give_up);
  // Runs `callback` with the lock held and drops the callbacks afterwards if it was the last.
  template <class Callback>
  void call_back(Callback callback);

  const ClientRequest request_;
  const Url url_;
  const bool is_stream_;
  // Recursive: a callback may destroy the handle that cancels the call.
  mutable std::recursive_mutex mutex_;
  StreamCallbacks callbacks_;
  Controls controls_;
  std::optional<asio::steady_timer> timer_;  // gone at the end: a handle may outlive the client
  std::optional<GzipReader> gzip_;
  std::string unpacked_;
  bool decode_gzip_ = false;
  std::atomic<bool> finished_ = false;
  std::atomic<std::size_t> unsent_ = 0;
  int callbacks_running_ = 0;
};

}  // namespace hekla::net
