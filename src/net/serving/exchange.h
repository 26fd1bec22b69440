// One request's exchange between the handler's threads and the connection: the answer goes out
// through a queue under a lock, the input that the handler asks for comes in by callbacks. Handlers
// see it as a ResponseWriter; the connection's side is for its thread only. Many writes between two
// turns of the connection become one chunk and one system call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/http.h"
#include "net/wire/http_format.h"
#include "net/wire/output_queue.h"

namespace hekla::net {

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // `wake` asks the connection to come and take; it is called at most once between two take()s,
  // never after close().
  Exchange(AnswerForm form, bool body_streamed, std::function<void()> wake);

  // The handler's end of the exchange.
  std::shared_ptr<ResponseWriter> make_writer();

  // The connection's side, on its thread.
  // Appends framed bytes to `out` until there are about `limit_bytes` in it, and says what is left:
  // after `nothing_yet` the connection is woken, after `nothing` the answer is complete.
  enum class Left { more, nothing_yet, nothing };
  Left take(std::string& out, std::size_t limit_bytes);
  void sent(std::size_t bytes);
  // Memory of what has not been taken yet; what is made while it is sent takes none.
  std::size_t held_bytes() const;
  // The wake that a WriteBatch has held back.
  void wake_now();
  void notify_drained();
  // The server itself may end a stream; an answer not yet begun is left to its handler.
  void end() { end_with({}); }
  // The server's own answer in place of the handler's, if that has not begun: false otherwise.
  bool refuse(Response response);
  // No effect of the handler's calls from here on; ends the input with an error, runs on_closed.
  void close();
  // The handler wants the connection broken off.
  bool aborted() const { return aborted_; }
  bool begun() const { return stage_ != Stage::waiting; }
  bool streaming() const { return stage_ == Stage::streaming || stage_ == Stage::upgraded; }
  // HTTP is over, and each side ends by itself.
  bool is_tunnel() const { return tunnel_; }
  bool is_upgraded() const { return stage_ == Stage::upgraded || tunnel_; }
  // Whether the connection may live on after the answer.
  bool keep_alive() const;

  // Input, of a streamed body or after an upgrade, is wanted now.
  bool takes_input() const { return input_open_ && !input_paused_; }
  // Input has been asked for and has not ended.
  bool input_open() const { return input_open_; }
  // Input waits: its reader wants none now, or the connection owes its client too much. A client
  // that sends and never reads (pings, say) would otherwise fill the memory with answers.
  bool input_held() const;
  // With takes_input() only.
  void deliver(std::string_view data);
  void end_input(Result<void> outcome, const Headers& trailers = {});
  // So much of the streamed body is to come, if its end is far or unknown, that the connection ends
  // with an answer that comes first.
  void set_body_far_from_end(bool far) { body_far_from_end_ = far; }

 private:
  friend class ExchangeWriter;
  enum class Stage { waiting, streaming, upgraded, ended };
  using Callback = std::shared_ptr<const std::function<void()>>;

  void respond(Response response);
  void inform(int status, const Headers& headers);
  void begin(int status, const Headers& headers, std::optional<std::uint64_t> body_bytes);
  void write(SharedBytes bytes);
  void end_with(const Headers& trailers);
  void abort();
  void upgrade(const Headers& headers, InputCallbacks input, bool tunnel);
  void read_body(InputCallbacks input);
  void pause_input(bool paused);
  void abandon();
  void set_callback(Callback Exchange::* which, std::function<void()> callback);
  // With the lock held.
  void push(SharedBytes bytes, OutputQueue::Form form);
  void push(std::string bytes) {
    push(std::make_shared<const std::string>(std::move(bytes)), OutputQueue::Form::raw);
  }
  void push_response(Response response);
  bool takes_from_body(std::size_t bytes);
  void break_off(const char* why);
  void wake_connection();
  void decide_keep_alive(const Headers& headers);

  // Fields that every event of a watch touches are together: they come from another processor's
  // cache.
  // Atomic is what the connection looks at without the lock; it changes with the lock held.
  mutable std::mutex mutex_;
  std::atomic<Stage> stage_ = Stage::waiting;
  std::atomic<bool> aborted_ = false;
  std::atomic<bool> was_large_ =
      false;  // since the last time that it was empty: somebody may wait for the next
  std::atomic<bool> closed_ = false;
  std::atomic<bool> input_open_ = false, input_paused_ = false;
  std::atomic<bool> body_far_from_end_ = false;
  std::atomic<bool> tunnel_ = false;
  bool body_allowed_ = true;
  bool chunked_ = false;
  bool awake_ = true;  // the connection looks by itself after calling the handler
  std::atomic<std::size_t> pending_bytes_ = 0;
  OutputQueue queue_;
  std::optional<std::uint64_t> body_left_;  // of an answer that has announced its size
  AnswerForm form_;
  const bool body_streamed_;
  bool body_asked_ = false;
  std::function<void()> wake_;
  Callback drained_, gone_;
  std::shared_ptr<const InputCallbacks> input_;
};

}  // namespace hekla::net
