#include "net/connection.h"

#include <array>
#include <boost/asio/post.hpp>
#include <exception>
#include <limits>

#include "base/log.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime::rep kNever = std::numeric_limits<MonoTime::rep>::max();
constexpr Nanos kHandshakeTimeout = 10s;
constexpr Nanos kLingerTimeout = 2s;
constexpr std::size_t kReadStep = 64 * 1024;
constexpr std::size_t kMaxReadAhead = 256 * 1024;  // input kept while a request is being answered
// With its framing one write of the channel. With a quarter of it a list of 25 MB took 25 ms of
// CPU, not 20.
constexpr std::size_t kMaxPerWrite = 240 * 1024;
constexpr std::size_t kAlwaysRead = 32 * 1024;  // of a request, whatever the others hold
constexpr std::size_t kSessionHead = 1024;      // of OpenSSL's state, what a write begins with
constexpr int kMaxWritesPerTurn = 4;            // then others on this thread have their turn

}  // namespace

Connection::Connection(ConnectionHost& host, ReadyConnections& ready, int fd, Ssl ssl,
                       std::string remote_address)
    : host_(host),
      ready_(ready),
      channel_(ready.io(), fd, std::move(ssl)),
      deadline_(kNever),
      idle_since_(real_clock().mono().time_since_epoch().count()),
      stuck_since_(kNever),
      remote_address_(std::move(remote_address)),
      parser_({host.options.max_header_bytes, host.options.max_body_bytes}) {}

Connection::~Connection() {
  if (exchange_) exchange_->close();
}

void Connection::start() {
  asio::post(ready_.io(), [self = shared_from_this()] {
    if (self->stage_ == Stage::closed) return;
    self->set_deadline(kHandshakeTimeout);
    self->step_handshake();
  });
}

void Connection::begin_shutdown() {
  asio::post(ready_.io(), [self = shared_from_this()] {
    if (self->stage_ == Stage::closed) return;
    self->close_after_ = self->stopping_ = true;
    if (self->exchange_) {
      self->exchange_->end();
      self->pump();
    } else if (self->output_.empty()) {
      self->close();
    }
  });
}

void Connection::close_now() {
  asio::post(ready_.io(), [self = shared_from_this()] { self->close(); });
}

void Connection::give_way() {
  idle_since_ = kNever;  // asked once
  asio::post(ready_.io(), [self = shared_from_this()] {
    if (!self->exchange_) self->close();
  });
}

void Connection::break_off(MonoTime::rep stuck_since) {
  asio::post(ready_.io(), [self = shared_from_this(), stuck_since] {
    if (self->unread_bytes_ > 0 && self->stuck_since_ == stuck_since) self->close();
  });
}

void Connection::check_deadline(MonoTime now) {
  if (now.time_since_epoch().count() < deadline_.load(std::memory_order_relaxed)) return;
  asio::post(ready_.io(), [self = shared_from_this()] {
    MonoTime::rep now_count = real_clock().mono().time_since_epoch().count();
    if (now_count >= self->deadline_.load(std::memory_order_relaxed)) self->close();
  });
}

void Connection::wake() {
  if (!woken_.exchange(true)) ready_.add(shared_from_this());
}

void Connection::take_turn() {
  woken_ = false;
  deliver_input();
  pump();
}

void Connection::fetch_parts() const {
  if (exchange_) fetch_ahead(exchange_.get(), sizeof *exchange_);
  if (channel_.is_tls()) fetch_ahead(channel_.ssl(), kSessionHead);
}

void Connection::step_handshake() {
  switch (channel_.handshake()) {
    case Io::done:
      if (channel_.is_tls()) peer_ = peer_certificate(*channel_.ssl());
      stage_ = Stage::requests;
      set_deadline(host_.options.idle_timeout);
      on_readable();  // a request may have come with the handshake's last bytes
      return;
    case Io::want_read:
      channel_.wait_readable([self = shared_from_this()] { self->step_handshake(); });
      return;
    case Io::want_write:
      channel_.wait_writable([self = shared_from_this()] { self->step_handshake(); });
      return;
    case Io::eof:
    case Io::failed:
      log_debug("net", "handshake failed",
                {{"peer", remote_address_}, {"reason", channel_.failure()}});
      close();
      return;
  }
}

void Connection::arm_read() {
  if (read_armed_ || peer_done_ || stage_ == Stage::closed) return;
  if (exchange_ && (input_.size() > kMaxReadAhead || exchange_->input_held() || holds_too_much()))
    return;
  read_armed_ = true;
  auto ready = [self = shared_from_this()] {
    self->read_armed_ = false;
    self->on_readable();
  };
  // What TLS has already taken from the socket would not make it readable again.
  if (more_to_read_)
    asio::post(ready_.io(), std::move(ready));
  else
    channel_.wait_readable(std::move(ready));
}

void Connection::on_readable() {
  if (stage_ == Stage::closed) return;
  read_available();
  if (stage_ == Stage::lingering && peer_done_) close();
  deliver_input();
  account_input();
  // Half-closing after a request is legal, and the answer still goes out; a stream to a client that
  // has said goodbye would go nowhere.
  if (peer_done_ && exchange_ && exchange_->streaming()) close();
  if (stage_ == Stage::requests) process_input();
  arm_read();
}

void Connection::read_available() {
  thread_local std::array<char, kReadStep> buffer;
  more_to_read_ = false;
  for (std::size_t total = 0; total < kMaxReadAhead;) {
    std::size_t got = 0;
    switch (channel_.read(buffer, got)) {
      case Io::done:
        total += got;
        if (stage_ != Stage::lingering) input_.append(buffer.data(), got);
        if (got < buffer.size() && !channel_.has_buffered()) return;
        break;
      case Io::want_read:
      case Io::want_write:
        return;
      case Io::eof:
        peer_done_ = true;
        return;
      case Io::failed:
        close();
        return;
    }
  }
  more_to_read_ = true;
}

// An upgraded connection's bytes go to whoever took it over.
void Connection::deliver_input() {
  if (!exchange_ || stage_ != Stage::requests || !exchange_->takes_input()) return;
  std::shared_ptr<Exchange> exchange = exchange_;  // its reader may end it
  if (!input_.empty()) {
    std::string data = std::exchange(input_, {});
    exchange->deliver(data);
  }
  arm_read();
}

void Connection::process_input() {
  if (processing_) return;
  processing_ = true;
  while (stage_ == Stage::requests && !exchange_ && !close_after_ && parse_next()) dispatch();
  processing_ = false;
  if (stage_ == Stage::requests && peer_done_ && !exchange_ && output_.empty()) close();
}

// True when a whole request is in the parser.
bool Connection::parse_next() {
  std::string_view data = input_;
  Parsed<bool> complete = parser_.feed(data);
  if (data.empty())
    input_ = {};
  else
    input_.erase(0, input_.size() - data.size());
  account_input();
  if (!complete) {
    reject(complete.error());
    return false;
  }
  if (*complete) return true;
  if (holds_too_much()) {
    reject({429, "too many requests are being sent at the same time, please try again later"});
    return false;
  }
  if (parser_.take_continue()) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    pump();
  }
  if (stage_ != Stage::requests) return false;
  // A request's deadline counts from its first byte: it is not moved by the bytes that follow.
  if (!parser_.started())
    set_deadline(host_.options.idle_timeout);
  else if (!request_started_)
    set_deadline(host_.options.request_timeout);
  request_started_ = parser_.started();
  return false;
}

void Connection::dispatch() {
  bool keep_alive = parser_.keep_alive();
  int minor_version = parser_.minor_version();
  Request request = parser_.take();
  account_input();
  request_started_ = false;
  request.peer = peer_;
  request.remote_address = remote_address_;
  AnswerForm form = answer_form(request, minor_version, keep_alive && !close_after_);
  exchange_ = std::make_shared<Exchange>(form, [this] { wake(); });  // closed before this goes
  answer_taken_ = false;
  idle_since_ = kNever;
  clear_deadline();
  call_handler(std::move(request), exchange_->make_writer());
  pump();
}

void Connection::call_handler(Request request, std::shared_ptr<ResponseWriter> writer) {
  std::string failure;
  try {
    host_.handler(std::move(request), writer);
    return;
  } catch (const std::exception& thrown) {
    failure = thrown.what();
  } catch (...) {
    failure = "unknown exception";
  }
  log_error("net", "a handler has thrown", {{"error", failure}});
  writer->respond(status_response({500, "Internal error occurred: the handler failed"}));
}

void Connection::reject(const HttpError& error) {
  close_after_ = true;
  Response response = status_response(error);
  if (error.status == 429) response.headers.set("Retry-After", "1");
  AnswerForm form{.keep_alive = false};
  output_ += format_response_head(response, form) + response.body;
  set_deadline(host_.options.idle_timeout);
  pump();
}

// What is read and not answered counts until its request has been handed over.
void Connection::account_input() {
  const std::size_t held = stage_ == Stage::closed ? 0 : parser_.held_bytes() + input_.capacity();
  if (held > accounted_)
    host_.unfinished_bytes.fetch_add(held - accounted_, std::memory_order_relaxed);
  else
    host_.unfinished_bytes.fetch_sub(accounted_ - held, std::memory_order_relaxed);
  accounted_ = held;
}

bool Connection::holds_too_much() const {
  return accounted_ > kAlwaysRead && host_.unfinished_bytes.load(std::memory_order_relaxed) >
                                         host_.options.max_unfinished_bytes;
}

void Connection::account_unread(std::size_t bytes) {
  host_.unread_bytes.fetch_add(bytes, std::memory_order_relaxed);
  host_.unread_bytes.fetch_sub(unread_bytes_.exchange(bytes), std::memory_order_relaxed);
  stuck_since_ = bytes > 0 ? real_clock().mono().time_since_epoch().count() : kNever;
}

void Connection::pump() {
  if (pumping_ || stage_ == Stage::closed || stage_ == Stage::handshake) return;
  if (exchange_ && (exchange_->aborted() || (peer_done_ && exchange_->streaming()))) return close();
  if (write_armed_) {
    // A stream may wait for its reader; what is left of one that has ended may not.
    if ((!exchange_ || !exchange_->streaming()) && deadline_ == kNever)
      set_deadline(host_.options.idle_timeout);
    return;
  }
  pumping_ = true;
  bool more = true;
  for (int turn = 0; more && turn < kMaxWritesPerTurn; ++turn) more = write_some();
  pumping_ = false;
  if (exchange_) arm_read();  // input may have been held until this output had left
  if (more)
    asio::post(ready_.io(), [self = shared_from_this()] { self->pump(); });
  else if (!write_armed_ && stage_ != Stage::closed)
    on_drained();
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
  if (done == Io::done) return true;
  if (done != Io::want_write) {
    close();
    return false;
  }
  // A stream may wait for its reader as long as it likes: whoever feeds it looks at
  // pending_bytes().
  if (!exchange_ || !exchange_->streaming()) {
    set_deadline(host_.options.idle_timeout);
    account_unread(output_.size() + (exchange_ ? exchange_->held_bytes() : 0));
  }
  write_armed_ = true;
  channel_.wait_writable([self = shared_from_this()] {
    self->write_armed_ = false;
    std::size_t none = 0;
    if (self->after_write(self->channel_.write({}, none))) self->pump();
  });
  return false;
}

void Connection::on_drained() {
  if (exchange_ && answer_taken_)
    finish_exchange();
  else if (exchange_ && std::exchange(wrote_, false))
    exchange_->notify_drained();
  else if (!exchange_ && close_after_)
    linger();
}

void Connection::finish_exchange() {
  std::shared_ptr<Exchange> finished = std::move(exchange_);
  exchange_ = nullptr;
  wrote_ = false;
  if (unread_bytes_ > 0) account_unread(0);
  if (!finished->keep_alive()) close_after_ = true;
  finished->close();
  if (close_after_) return linger();
  set_deadline(host_.options.idle_timeout);
  idle_since_ = real_clock().mono().time_since_epoch().count();
  process_input();
  arm_read();
}

// Closing a socket with unread input resets the connection, and the reset may overtake the answer.
void Connection::linger() {
  if (stage_ != Stage::requests) return;
  stage_ = Stage::lingering;
  input_ = {};
  parser_ = RequestParser({host_.options.max_header_bytes, host_.options.max_body_bytes});
  account_input();
  set_deadline(kLingerTimeout);
  channel_.finish_sending();
  if (peer_done_ || stopping_) return close();
  arm_read();
}

void Connection::close() {
  if (stage_ == Stage::closed) return;
  stage_ = Stage::closed;
  clear_deadline();
  std::shared_ptr<Exchange> unfinished = std::move(exchange_);
  exchange_ = nullptr;
  channel_.close();
  input_ = {};
  output_ = {};
  account_input();
  account_unread(0);
  if (unfinished) unfinished->close();
  host_.on_closed(shared_from_this());
}

void Connection::set_deadline(Nanos from_now) {
  deadline_ = (real_clock().mono() + from_now).time_since_epoch().count();
}

void Connection::clear_deadline() { deadline_ = kNever; }

}  // namespace hekla::net
