// From the handler's answer to the client's socket.
#include <boost/asio/post.hpp>

#include "base/check.h"
#include "net/serving/connection.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

// With its framing one write of the channel. With a quarter of it a list of 25 MB took 25 ms of
// CPU, not 20.
constexpr std::size_t kMaxPerWrite = 240 * 1024;
constexpr int kMaxWritesPerTurn = 4;  // then others on this thread have their turn
constexpr Nanos kDropTimeout = 10s;   // for the rest of a body that nobody wants

}  // namespace

// A client that waits with its body is told when somebody wants it, not before.
void Connection::send_continue() {
  if (!continue_wanted_ || !exchange_->input_open() || exchange_->begun()) return;
  continue_wanted_ = false;
  exchange_->set_body_far_from_end(body_is_far_from_end());
  output_ += format_interim_head(100, {});
  pump();
}

void Connection::account_unread(std::size_t bytes) {
  host_.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
  host_.unread_bytes.fetch_sub(unread_bytes_.exchange(bytes), std::memory_order_relaxed);
  stuck_since_ = bytes > 0 ? now_count() : kNever;
}

void Connection::pump() {
  if (pumping_ || stage_ == Stage::closed || stage_ == Stage::handshake) return;
  if (exchange_ && (exchange_->aborted() || is_deserted())) return close();
  if (write_armed_) {
    // A stream may wait for its reader; what is left of one that has ended may not.
    if (exchange_ && !exchange_->streaming() && std::exchange(waits_as_stream_, false)) {
      blocked_since_ = now_count();
      update_deadline();
    }
    return;
  }
  pumping_ = true;
  bool more = true;
  for (int turn = 0; more && turn < kMaxWritesPerTurn; ++turn) more = write_some();
  pumping_ = false;
  if (read_held_) arm_read();  // perhaps until this output had left
  if (more)
    asio::post(ready_.io(), [self = shared_from_this()] { self->pump(); });
  else if (!write_armed_ && stage_ != Stage::closed)
    on_drained();
}

// A stream whose client has said goodbye; one that still sends its body, or a tunnel, has not
// ended.
bool Connection::is_deserted() const {
  return peer_done_ && exchange_->streaming() && !reading_body_ && !exchange_->is_tunnel();
}

// True when there may be more to write and the socket takes it.
bool Connection::write_some() {
  // One buffer for all connections of a thread, which stays in the processor's cache.
  thread_local std::string buffer;
  Exchange::Left left = exchange_ ? Exchange::Left::more : Exchange::Left::nothing;
  if (output_.empty() && exchange_) {
    buffer.clear();
    left = exchange_->take(buffer, kMaxPerWrite);
    answer_taken_ = left == Exchange::Left::nothing;
  } else {
    buffer.assign(std::exchange(output_, {}));
  }
  if (buffer.empty()) return false;
  std::size_t taken = 0;
  Io done = channel_.write(buffer, taken);
  if (exchange_) exchange_->sent(taken);
  wrote_ = true;
  if (taken < buffer.size()) output_.assign(buffer, taken);
  if (buffer.capacity() > 4 * kMaxPerWrite) buffer = {};
  return after_write(done) && left == Exchange::Left::more;
}

bool Connection::after_write(Io done) {
  if (done == Io::done) {
    if (exchange_ && std::exchange(was_blocked_, false)) update_deadline();
    return true;
  }
  if (done != Io::want_write) {
    close();
    return false;
  }
  write_armed_ = was_blocked_ = true;
  channel_.wait_writable([self = shared_from_this()] {
    self->write_armed_ = false;
    std::size_t none = 0;
    if (self->after_write(self->channel_.write({}, none))) self->pump();
  });
  await_reader();
  return false;
}

// A stream may wait for its reader as long as its route allows: whoever feeds it looks at
// pending_bytes().
void Connection::await_reader() {
  blocked_since_ = now_count();
  waits_as_stream_ = exchange_ && exchange_->streaming();
  if (!waits_as_stream_) account_unread(output_.size() + (exchange_ ? exchange_->held_bytes() : 0));
  if (exchange_)
    update_deadline();
  else
    set_deadline(host_.options.idle_timeout);
}

void Connection::on_drained() {
  if (exchange_ && answer_taken_) {
    exchange_->is_tunnel() ? finish_sending() : finish_exchange();
  } else if (exchange_ && std::exchange(wrote_, false)) {
    exchange_->notify_drained();
  } else if (!exchange_ && close_after_) {
    linger();
  }
}

void Connection::finish_exchange() {
  CHECK(answer_taken_ && output_.empty(), "all of the answer has left");
  std::shared_ptr<Exchange> finished = std::move(exchange_);
  exchange_ = nullptr;
  wrote_ = was_blocked_ = false;
  if (unread_bytes_ > 0) account_unread(0);
  if (!finished->keep_alive() || (reading_body_ && body_is_far_from_end())) close_after_ = true;
  finished->close();
  if (close_after_) return linger();
  set_deadline(reading_body_ ? kDropTimeout : Nanos(host_.options.idle_timeout));
  idle_since_ = now_count();
  process_input();
  arm_read();
}

// One half of a tunnel has ended; the client's may go on.
void Connection::finish_sending() {
  CHECK(exchange_->is_tunnel() && output_.empty(), "all of this half has left");
  if (!std::exchange(sending_done_, true)) {
    channel_.finish_sending();
    blocked_since_ = now_count();
  }
  if (stopping_ || (peer_done_ && input_.empty())) return close();
  update_deadline();
}

}  // namespace hekla::net
