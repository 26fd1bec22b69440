// One request of a client from start to end, wherever it is: waiting for a connection, on one, or
// done. Holds what is written to a streamed body or a tunnel until a connection takes it. The lock
// makes the end final: after finish() or cancel() has returned no callback runs. Callbacks run with
// the lock held, so they take no lock that a holder of may end the call.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "net/client_request.h"
#include "net/gzip.h"
#include "net/url.h"
#include "net/wire/output_queue.h"

namespace hekla::net {

namespace asio = boost::asio;

class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(asio::io_context& io, ClientRequest request, Url url, bool is_stream,
       StreamCallbacks callbacks);

  const ClientRequest& request() const { return request_; }
  const Url& url() const { return url_; }
  bool is_stream() const { return is_stream_; }
  bool has_streamed_body() const { return request_.streamed_body.has_value(); }
  // The head, with a body that is not streamed; `bearer_token` is added unless the request has an
  // Authorization header.
  std::string format_request(const std::string& bearer_token) const;
  // Whether it may be sent a second time when nobody knows what became of the first.
  bool may_repeat() const;

  // Starts the clock of the request's time-outs.
  void arm_timeout();
  // Orders of a call to whatever works for it, from any thread. `give_up` breaks off; it is called
  // at most once, when the call ends early, and only posts. `wake`: there is something to take().
  struct Controls {
    std::function<void()> give_up;
    std::function<void(bool)> hold;
    std::function<void()> wake;
  };
  // False when the call is over already.
  bool attach(Controls controls);
  // The connection is done with the call, which goes on elsewhere.
  void detach();

  // For the connection, on its thread. After the head: appends what was written, framed, until
  // there are about `limit_bytes` in `out`. nothing_yet: wake comes; nothing: that was all.
  enum class Left { more, nothing_yet, nothing };
  Left take(std::string& out, std::size_t limit_bytes);
  // So many bytes of those taken have left.
  void on_sent(std::size_t bytes);
  // The request is with the server: now its answer may take request().head_timeout.
  void on_request_sent();
  // The answer, as it arrives.
  void on_interim(int status, const Headers& headers);
  void on_head(int status, const Headers& headers);
  void on_data(std::string_view data);
  void on_trailers(const Headers& trailers);
  // After a 101, which opens the tunnel. False when the server's end is the end of both.
  void begin_tunnel();
  bool on_server_end();
  void finish(Result<void> outcome);

  // Without a last callback. From any thread, also from within a callback.
  void cancel();
  // As the stream's handle asks, from any thread.
  void hold(bool held);
  void write(std::string bytes);
  void end_output(const Headers& trailers);
  std::size_t unsent() const { return unsent_; }
  // Takes no lock: the pool asks while it holds its own.
  bool finished() const { return finished_; }

  bool retried = false;  // owned by whoever runs the call

 private:
  void end(std::optional<Result<void>> outcome, bool give_up);
  void fail_body(const char* why);
  // Runs `callback` with the lock held and drops the callbacks afterwards if it was the last.
  template <class Callback>
  void call_back(Callback callback);
  // With the lock held.
  void arm_timer();
  std::optional<MonoTime> next_deadline() const;
  void note_activity();
  Error timed_out(MonoTime now) const;

  const ClientRequest request_;
  const Url url_;
  const bool is_stream_;
  // Recursive: a callback may destroy the handle that cancels the call.
  mutable std::recursive_mutex mutex_;
  StreamCallbacks callbacks_;
  Controls controls_;
  std::optional<asio::steady_timer> timer_;  // gone at the end: a handle may outlive the client
  MonoTime begun_{}, active_{};
  std::optional<MonoTime> sent_;  // the whole request
  bool headed_ = false, held_ = false, tunnel_ = false;

  OutputQueue output_;
  bool output_ended_ = false;
  std::optional<std::uint64_t> body_left_;  // of a streamed body with a known size
  std::atomic<std::size_t> unsent_ = 0;

  std::optional<GzipReader> gzip_;
  std::string unpacked_;
  bool decode_gzip_ = false;
  std::atomic<bool> finished_ = false;
  int callbacks_running_ = 0;
};

}  // namespace hekla::net
