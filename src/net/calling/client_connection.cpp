#include "net/calling/client_connection.h"

#include <array>
#include <boost/asio/post.hpp>

#include "base/check.h"

namespace hekla::net {
namespace {

constexpr std::size_t kReadStep = 64 * 1024;
constexpr std::size_t kMaxHeadBytes = 256 * 1024;
constexpr int kReadsPerTurn = 16;
constexpr std::size_t kMaxPerWrite = 240 * 1024;
constexpr int kWritesPerTurn = 4;  // then others on this thread have their turn

}  // namespace

ClientConnection::ClientConnection(ConnectionPool& pool, asio::io_context& io, Origin origin)
    : pool_(pool), io_(io), origin_(std::move(origin)), head_reader_(kMaxHeadBytes) {}

void ClientConnection::run(std::shared_ptr<Call> call) {
  asio::post(io_, [self = shared_from_this(), call = std::move(call)]() mutable {
    self->take(std::move(call));
  });
}

void ClientConnection::close_now(std::string why) {
  asio::post(io_, [self = shared_from_this(), why = std::move(why)] {
    if (self->stage_ == Stage::closed) return;
    if (self->call_) return self->fail_call(self->failure(why));
    self->close();
  });
}

void ClientConnection::take(std::shared_ptr<Call> call) {
  // A connection may close while a call is on its way to it: nothing has been sent.
  if (stage_ == Stage::closed) return pool_.on_closed(shared_from_this(), call);
  // Runs `order`, unless the call has left by then: at once when this is the thread.
  auto on_thread = [self = shared_from_this(), which = std::weak_ptr(call)](auto order) {
    auto task = [self, which, order = std::move(order)] {
      if (self->call_ && self->call_ == which.lock()) order(*self);
    };
    if (self->io_.get_executor().running_in_this_thread()) return task();
    asio::post(self->io_, std::move(task));
  };
  Call::Controls controls;
  controls.give_up = [self = shared_from_this(), which = std::weak_ptr(call)] {
    asio::post(self->io_, [self, which] {
      if (self->call_ && self->call_ == which.lock()) self->close();
    });
  };
  controls.hold = [on_thread](bool held) {
    on_thread([held](ClientConnection& self) { self.hold(held); });
  };
  controls.wake = [on_thread] { on_thread([](ClientConnection& self) { self.flush_soon(); }); };
  CHECK(!call_ && !upgraded_, "one call at a time, and none after a tunnel");
  call_ = call;
  answered_ = false;
  if (!call->attach(std::move(controls))) {
    call_ = nullptr;
    if (stage_ == Stage::ready) return pool_.on_idle(shared_from_this());
    return close();
  }
  if (stage_ == Stage::ready)
    send_request();
  else
    connect();
}

void ClientConnection::send_request() {
  output_ = call_->format_request(pool_.bearer_token());
  output_sent_ = 0;
  output_counted_ = request_sent_ = false;
  arm_read();
  pump();
}

// Takes effect at once; reading begins again in a turn of its own, since whoever asks may be a
// callback of this connection.
void ClientConnection::hold(bool held) {
  if (std::exchange(held_, held) == held || held || read_armed_) return;
  read_armed_ = true;
  asio::post(io_, [self = shared_from_this()] {
    self->read_armed_ = false;
    self->on_readable();
  });
}

// Many writes of one turn leave together.
void ClientConnection::flush_soon() {
  if (write_armed_ || std::exchange(flush_posted_, true)) return;
  asio::post(io_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->pump();
  });
}

void ClientConnection::pump() {
  for (int turn = 0; turn < kWritesPerTurn; ++turn) {
    if (write_armed_ || stage_ != Stage::ready) return;
    if (output_sent_ == output_.size() && !refill()) return;
    std::size_t taken = 0;
    Io done = channel_->write(std::string_view(output_).substr(output_sent_), taken);
    output_sent_ += taken;
    if (output_counted_ && call_) {
      std::shared_ptr<Call> call = call_;  // a callback may end it
      call->on_sent(taken);
    }
    if (done == Io::want_write) {
      write_armed_ = true;
      channel_->wait_writable([self = shared_from_this()] {
        self->write_armed_ = false;
        self->pump();
      });
    } else if (done != Io::done) {
      // The answer may be there although the server has stopped reading: let the read side decide.
      broken_ = true;
      output_ = {};
      output_sent_ = 0;
      return;
    }
  }
  flush_soon();
}

// False when there is nothing to send.
bool ClientConnection::refill() {
  output_.clear();
  output_sent_ = 0;
  if (!call_ || broken_) return false;
  if (output_.capacity() > 4 * kMaxPerWrite) output_ = {};
  output_counted_ = true;
  if (call_->take(output_, kMaxPerWrite) == Call::Left::nothing && output_.empty()) on_output_end();
  return !output_.empty();
}

// All of a request has left, or all of a tunnel's half.
void ClientConnection::on_output_end() {
  if (!upgraded_) {
    if (!std::exchange(request_sent_, true)) call_->on_request_sent();
    return;
  }
  if (std::exchange(sending_done_, true)) return;
  channel_->finish_sending();
  if (server_done_) finish_call();
}

void ClientConnection::arm_read() {
  if (read_armed_ || held_ || server_done_ || stage_ != Stage::ready) return;
  read_armed_ = true;
  channel_->wait_readable([self = shared_from_this()] {
    self->read_armed_ = false;
    self->on_readable();
  });
}

void ClientConnection::on_readable() {
  thread_local std::array<char, kReadStep> buffer;
  for (int turn = 0; stage_ == Stage::ready && !held_ && !server_done_; ++turn) {
    if (turn == kReadsPerTurn) {
      asio::post(io_, [self = shared_from_this()] { self->on_readable(); });
      return;
    }
    std::size_t got = 0;
    Io done = channel_->read(buffer, got);
    if (done == Io::want_read) break;
    if (done == Io::eof) return on_eof();
    if (done != Io::done) return call_ ? fail_call(failure(channel_->failure())) : close();
    if (!call_) return close();  // nobody asked: the server is not to be trusted with a next call
    on_input({buffer.data(), got});
    if (got < buffer.size() && stage_ == Stage::ready && !channel_->has_buffered()) break;
  }
  arm_read();
}

void ClientConnection::on_input(std::string_view data) {
  answered_ = true;
  while (call_ && !head_) {
    if (!read_head(data)) return;
  }
  if (call_) read_body(data);
  // Bytes after the answer belong to nothing.
  if (!call_ && !data.empty()) close();
}

// False when more bytes are needed or the connection has failed.
bool ClientConnection::read_head(std::string_view& data) {
  Parsed<bool> complete = head_reader_.feed(data);
  if (complete && !*complete) return false;
  Parsed<ResponseHead> head =
      complete ? parse_response_head(head_reader_.text()) : std::unexpected(complete.error());
  head_reader_.reset();
  if (!head) {
    fail_call(failure("malformed answer: " + head.error().message));
    return false;
  }
  if (head->status < 200 && head->status != 101) {
    call_->on_interim(head->status, head->headers);
    return stage_ == Stage::ready;
  }
  std::size_t limit = call_->is_stream() ? std::numeric_limits<std::size_t>::max()
                                         : call_->request().max_body_bytes;
  Parsed<BodyReader> body =
      BodyReader::for_response(*head, call_->request().method == "HEAD", limit);
  if (!body) {
    fail_call(failure("unreadable answer: " + body.error().message));
    return false;
  }
  upgraded_ = head->status == 101 && call_->is_stream() && request_sent_;
  if (upgraded_) call_->begin_tunnel();
  head_ = std::move(*head);
  body_reader_ = upgraded_ ? BodyReader::until_close() : std::move(*body);
  call_->on_head(head_->status, head_->headers);
  return true;
}

void ClientConnection::read_body(std::string_view& data) {
  Parsed<std::string_view> piece = body_reader_.gather(data, body_);
  std::shared_ptr<Call> call = call_;
  if (piece) call->on_data(*piece);
  if (body_.capacity() > 4 * kReadStep) body_ = {};
  if (stage_ != Stage::ready || !call_) return;
  if (!piece) {
    Error error = failure("unreadable answer: " + piece.error().message);
    if (piece.error().status == 413) error.code = Code::too_large;
    return fail_call(std::move(error));
  }
  if (!body_reader_.complete()) return;
  call->on_trailers(body_reader_.take_trailers());
  finish_call();
}

void ClientConnection::on_eof() {
  if (!call_) return close();
  if (upgraded_) {
    server_done_ = true;
    std::shared_ptr<Call> call = call_;
    if (!sending_done_ && call->on_server_end()) return;
    if (call_) finish_call();
    return;
  }
  broken_ = true;
  if (head_ && body_reader_.at_eof()) return finish_call();
  fail_call(failure("the server closed the connection before the end of its answer"));
}

void ClientConnection::finish_call() {
  CHECK(call_ && head_, "an answer has come");
  bool reusable = !broken_ && wants_keep_alive(head_->headers, head_->minor_version) &&
                  head_->status != 101 && request_sent_ && !write_armed_;
  std::shared_ptr<Call> done = std::move(call_);
  call_ = nullptr;
  head_.reset();
  output_ = {};
  output_sent_ = 0;
  request_sent_ = held_ = false;
  reused_ = true;
  done->detach();
  // First the pool, then the caller: what the caller sends next finds this connection free.
  if (reusable)
    pool_.on_idle(shared_from_this());
  else
    close();
  done->finish({});
}

void ClientConnection::fail_call(Error error) {
  std::shared_ptr<Call> failed = std::move(call_);
  call_ = nullptr;
  bool stale = reused_ && !answered_ && failed && !failed->finished() && !failed->retried &&
               failed->may_repeat();
  if (failed) failed->detach();
  if (stale) failed->retried = true;
  if (stage_ != Stage::closed) {
    stage_ = Stage::closed;
    if (channel_) channel_->close();
    connect_timer_.reset();
    retry_timer_.reset();
    if (resolver_) resolver_->cancel();
    pool_.on_closed(shared_from_this(), stale ? failed : nullptr);
  }
  if (failed && !stale) failed->finish(std::unexpected(std::move(error)));
}

void ClientConnection::close() { fail_call(failure("the connection was closed")); }

Error ClientConnection::failure(const std::string& why) const {
  std::string what = call_ ? call_->request().method + " " + call_->request().url : origin_.host;
  return Error{Code::unavailable, what + ": " + why};
}

}  // namespace hekla::net
