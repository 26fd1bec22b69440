// One request's answer on its way from the handler's threads to the connection: a queue under a
// lock. Handlers fill it through a ResponseWriter, the connection empties it on its thread. Many
// writes between two turns of the connection become one chunk and one system call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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
  void end();
  // No effect of the handler's calls from here on; runs on_closed.
  void close();
  // The handler wants the connection broken off.
  bool aborted() const { return aborted_; }
  bool streaming() const { return stage_ == Stage::streaming || stage_ == Stage::upgraded; }
  // An upgraded connection whose reader wants more.
  bool takes_input() const { return stage_ == Stage::upgraded && !input_paused_; }
  // Input waits: the reader wants none now, or an upgraded connection owes its client too much. A
  // client that sends and never reads (pings, say) would otherwise fill the memory with answers.
  bool input_held() const;
  void deliver(std::string_view data);
  // Whether the connection may live on after the answer.
  bool keep_alive() const;

 private:
  friend class ExchangeWriter;
  enum class Stage { waiting, streaming, upgraded, ended };
  struct Piece {
    SharedBytes bytes;
    bool chunk = false;
    BodyTail tail = {};  // in place of bytes
    std::size_t taken = 0;
    std::size_t left() const { return bytes->size() - taken; }
  };
  void respond(Response response);
  void begin(int status, Headers headers);
  void write(SharedBytes bytes);
  void abort();
  void upgrade(Headers headers, std::function<void(std::string_view)> on_data);
  void pause_input(bool paused);
  void abandon();
  void set_callback(std::shared_ptr<const std::function<void()>> Exchange::* which,
                    std::function<void()> callback);
  // With the lock held.
  void push(SharedBytes bytes, bool chunk);
  void push(std::string bytes) {
    push(std::make_shared<const std::string>(std::move(bytes)), false);
  }
  void wake_connection();
  void note_connection_header(const Headers& headers);
  void append_chunk(std::string& out, std::size_t limit_bytes);
  void append_tail(std::string& out, std::size_t limit_bytes);
  std::size_t append_front(std::string& out, std::size_t limit_bytes);

  // What every event of a watch touches is together: it comes from another processor's cache.
  // Atomic is what the connection looks at without the lock; it changes with the lock held.
  mutable std::mutex mutex_;
  std::atomic<Stage> stage_ = Stage::waiting;
  std::atomic<bool> aborted_ = false;
  std::atomic<bool> was_large_ =
      false;  // since the last time that it was empty: somebody may wait for the next
  std::atomic<bool> closed_ = false;
  std::atomic<bool> input_paused_ = false;
  bool body_allowed_ = true;
  bool awake_ = true;  // the connection looks by itself after calling the handler
  std::atomic<std::size_t> pending_bytes_ = 0;
  std::vector<Piece> queue_;
  std::size_t front_ = 0;  // what comes before it in the queue has been taken
  AnswerForm form_;
  std::function<void()> wake_;
  std::shared_ptr<const std::function<void()>> drained_, gone_;
  std::shared_ptr<const std::function<void(std::string_view)>> input_;
};

}  // namespace hekla::net
