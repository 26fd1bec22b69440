// One request's answer on its way from the handler's threads to the connection: a queue under a
// lock. Handlers fill it through a ResponseWriter, the connection empties it on its strand. Many
// writes between two turns of the connection become one chunk and one system call.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "net/http.h"
#include "net/http_format.h"

namespace hekla::net {

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // `wake` asks the connection to come and take; it is called at most once between two take()s,
  // never after close().
  Exchange(AnswerForm form, std::function<void()> wake);

  // The handler's end of the exchange.
  std::shared_ptr<ResponseWriter> make_writer();

  // The connection's side, on its strand.
  // Appends up to about `limit_bytes` framed bytes to `out`, small pieces joined, large ones moved.
  // True when the answer is complete and all of it has been taken.
  bool take(std::deque<std::string>& out, std::size_t limit_bytes);
  void sent(std::size_t bytes);
  void notify_drained();
  // The server itself may end a stream; an answer not yet begun is left to its handler.
  void end();
  // No effect of the handler's calls from here on; runs on_closed.
  void close();
  // The handler wants the connection broken off.
  bool aborted() const;
  bool streaming() const;
  // An upgraded connection whose reader wants more.
  bool takes_input() const;
  bool input_paused() const { return input_paused_; }
  void deliver(std::string_view data);
  // Whether the connection may live on after the answer.
  bool keep_alive() const;

 private:
  friend class ExchangeWriter;
  enum class Stage { waiting, streaming, upgraded, ended };
  struct Piece {
    std::string bytes;
    bool chunk = false;
    BodyTail tail = {};  // in place of bytes
  };
  void respond(Response response);
  void begin(int status, Headers headers);
  void write(std::string bytes);
  void abort();
  void upgrade(Headers headers, std::function<void(std::string_view)> on_data);
  void pause_input(bool paused);
  void abandon();
  void set_callback(std::shared_ptr<const std::function<void()>> Exchange::*which,
                    std::function<void()> callback);
  // With the lock held.
  void push(std::string bytes, bool chunk);
  void wake_connection();
  void note_connection_header(const Headers& headers);
  void append_chunk(std::deque<std::string>& out, std::size_t limit_bytes);
  std::size_t append_tail(std::deque<std::string>& out, std::size_t limit_bytes);
  static void append(std::deque<std::string>& out, std::string bytes);

  mutable std::mutex mutex_;
  AnswerForm form_;
  std::function<void()> wake_;
  Stage stage_ = Stage::waiting;
  bool body_allowed_ = true;
  bool aborted_ = false;
  bool awake_ = true;  // the connection looks by itself after calling the handler
  std::deque<Piece> queue_;
  std::atomic<std::size_t> pending_bytes_ = 0;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> input_paused_ = false;
  std::shared_ptr<const std::function<void()>> drained_, gone_;
  std::shared_ptr<const std::function<void(std::string_view)>> input_;
};

}  // namespace hekla::net
