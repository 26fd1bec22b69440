#include "net/serving/connection.h"

#include <boost/asio/post.hpp>

#include "base/check.h"
#include "base/fetch_ahead.h"
#include "base/log.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kHandshakeTimeout = 10s;
constexpr Nanos kLingerTimeout = 2s;
constexpr std::size_t kSessionHead = 1024;  // of OpenSSL's state, what a write begins with

}  // namespace

Connection::Connection(ConnectionHost& host, ReadyConnections& ready, int fd, Ssl ssl,
                       std::string remote_address)
    : host_(host),
      ready_(ready),
      channel_(ready.io(), fd, std::move(ssl)),
      deadline_(kNever),
      idle_since_(now_count()),
      stuck_since_(kNever),
      remote_address_(std::move(remote_address)),
      parser_(host.options.max_header_bytes),
      total_until_(kNever),
      body_until_(kNever) {
  CHECK(host_.handler && host_.on_closed, "a server serves");
}

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
    if (now_count() >= self->deadline_.load(std::memory_order_relaxed)) self->expire();
  });
}

void Connection::wake() {
  if (!woken_.exchange(true)) ready_.add(shared_from_this(), sizeof *this);
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

// Closing a socket with unread input resets the connection, and the reset may overtake the answer.
void Connection::linger() {
  if (stage_ != Stage::requests) return;
  CHECK(!exchange_, "the last answer has left");
  stage_ = Stage::lingering;
  input_ = {};
  parser_ = RequestParser(host_.options.max_header_bytes);
  reading_body_ = false;
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
  reading_body_ = false;
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

void Connection::begin_deadlines() {
  total_until_ = body_until_ = kNever;
  input_wanted_ = was_blocked_ = false;
  clear_deadline();
  const bool body_limited = reading_body_ && rules_.body_timeout > Nanos{};
  if (rules_.total_timeout == Nanos{} && !body_limited) return;
  const MonoTime::rep now = now_count();
  if (rules_.total_timeout > Nanos{}) total_until_ = now + Nanos(rules_.total_timeout).count();
  if (body_limited) body_until_ = now + Nanos(rules_.body_timeout).count();
  update_deadline();
}

// Bytes of a streamed body have come, or begin to be wanted.
void Connection::note_input() {
  if (rules_.stall_timeout == Nanos{}) return;
  input_since_ = now_count();
  update_deadline();
}

// The other half of a tunnel goes on.
void Connection::note_tunnel_input() {
  blocked_since_ = now_count();
  update_deadline();
}

// While there is an exchange: the first of its route's limits that could be hit. A stream may wait
// for its reader as long as its route allows; what is left of one that has ended may not.
void Connection::update_deadline() {
  CHECK(exchange_ != nullptr, "deadlines of a route are those of an exchange");
  const auto after = [](MonoTime::rep since, Nanos limit) {
    return limit > Nanos{} ? since + limit.count() : kNever;
  };
  MonoTime::rep until = total_until_;
  if (reading_body_) {
    until = std::min(until, body_until_);
    if (exchange_->takes_input())
      until = std::min(until, after(input_since_, rules_.stall_timeout));
  }
  if (write_armed_ && exchange_->streaming() && !exchange_->is_upgraded())
    until = std::min(until, after(blocked_since_, rules_.stall_timeout));
  if ((write_armed_ && !exchange_->streaming()) || sending_done_)
    until = std::min(until, after(blocked_since_, host_.options.idle_timeout));
  deadline_ = until;
}

void Connection::expire() {
  if (stage_ == Stage::closed) return;
  if (exchange_) {
    update_deadline();  // its input may have been paused since
    if (now_count() < deadline_) return;
  }
  if (stage_ != Stage::requests || !exchange_ || exchange_->begun()) return close();
  const bool late_body = reading_body_ && now_count() < total_until_;
  const HttpError late = late_body ? HttpError{408, "the body of the request did not come in time"}
                                   : HttpError{504, "the request was not answered in time"};
  reading_body_ = false;
  close_after_ = true;
  total_until_ = body_until_ = kNever;
  exchange_->end_input(fail(Code::timeout, late.message));
  if (!exchange_->refuse(status_response(late))) return close();
  update_deadline();
  pump();
}

}  // namespace hekla::net
