// From a client's bytes to the handler: requests, streamed bodies, and what follows an upgrade.
#include <array>
#include <boost/asio/post.hpp>
#include <exception>

#include "base/check.h"
#include "base/log.h"
#include "net/serving/connection.h"

namespace hekla::net {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kReadStep = 64 * 1024;
constexpr std::size_t kMaxReadAhead = 256 * 1024;   // input kept while a request is being answered
constexpr std::size_t kMaxUnaskedBody = 64 * 1024;  // likewise, of a body that nobody has asked for
constexpr std::size_t kMaxDroppedBody = 64 * 1024;  // more than that is not worth the connection
constexpr std::size_t kAlwaysRead = 32 * 1024;      // of a request, whatever the others hold

}  // namespace

void Connection::arm_read() {
  if (read_armed_ || peer_done_ || stage_ == Stage::closed) return;
  read_held_ = false;
  if (exchange_) {
    const bool unasked = reading_body_ && !exchange_->input_open();
    read_held_ = input_.size() > (unasked ? kMaxUnaskedBody : kMaxReadAhead) ||
                 exchange_->input_held() || holds_too_much();
    if (read_held_) return;
  }
  read_armed_ = true;
  auto ready = [self = shared_from_this()] {
    self->read_armed_ = false;
    self->on_readable();
  };
  // Bytes that TLS has already taken from the socket would not make it readable again.
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
        take_input({buffer.data(), got});
        if (stage_ == Stage::closed) return;
        if (got < buffer.size() && !channel_.has_buffered()) return;
        if (exchange_ && exchange_->input_held()) total = kMaxReadAhead;
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

// A reader that is waiting gets the bytes from where they were read.
void Connection::take_input(std::string_view data) {
  if (stage_ == Stage::lingering) return;
  if (input_.empty()) deliver(data);
  if (stage_ == Stage::requests) input_.append(data);
}

void Connection::deliver_input() {
  if (stage_ != Stage::requests || !exchange_) return;
  if (reading_body_ && !std::exchange(input_wanted_, exchange_->takes_input())) note_input();
  send_continue();
  if (!input_.empty() && exchange_->takes_input()) {
    std::string held = std::exchange(input_, {});
    std::string_view data = held;
    deliver(data);
    if (stage_ != Stage::requests) return;
    held.erase(0, held.size() - data.size());
    input_ = std::move(held);
    account_input();
  }
  if (peer_done_) on_peer_done();
  if (stage_ == Stage::requests) arm_read();
}

// Hands over as much of `data` as its reader wants.
void Connection::deliver(std::string_view& data) {
  const std::shared_ptr<Exchange> exchange = exchange_;
  while (stage_ == Stage::requests && exchange && !data.empty() && exchange->takes_input()) {
    if (!reading_body_) {
      std::string_view piece = data.substr(0, kMaxReadAhead);
      data.remove_prefix(piece.size());
      if (sending_done_) note_tunnel_input();
      exchange->deliver(piece);
      continue;
    }
    thread_local std::string scratch;
    Parsed<std::string_view> piece = parser_.gather_body(data, scratch);
    if (!piece) return fail_body(piece.error());
    note_input();
    if (!piece->empty()) exchange->deliver(*piece);
    if (parser_.body_complete()) return end_body();
  }
}

void Connection::end_body() {
  CHECK(exchange_ && reading_body_, "a body that is being read ends once");
  const Headers trailers = parser_.end_body();
  reading_body_ = false;
  exchange_->set_body_far_from_end(false);
  update_deadline();
  exchange_->end_input({}, trailers);
}

// Bytes after a broken body mean nothing any more.
void Connection::fail_body(const HttpError& error) {
  reading_body_ = false;
  close_after_ = true;
  const Code code = error.status == 413 ? Code::too_large : Code::bad_request;
  exchange_->end_input(fail(code, error.message));
  if (!exchange_->refuse(status_response(error))) return close();
  update_deadline();
  pump();
}

// The rest of a body whose answer has left; true when it has come to its end.
bool Connection::drop_body() {
  CHECK(!exchange_, "the answer has left");
  std::string_view data = input_;
  std::string scratch;
  if (!parser_.gather_body(data, scratch)) {
    close_after_ = true;
    linger();
    return false;
  }
  input_.erase(0, input_.size() - data.size());
  account_input();
  if (!parser_.body_complete()) return false;
  parser_.end_body();
  reading_body_ = false;
  set_deadline(host_.options.idle_timeout);
  return true;
}

bool Connection::body_is_far_from_end() const {
  return continue_wanted_ || parser_.body_left().value_or(kMaxDroppedBody + 1) > kMaxDroppedBody;
}

// Half-closing after a request is legal, and a whole answer still goes out; a stream to a client
// that has said goodbye would go nowhere. Tunnels have two halves.
void Connection::on_peer_done() {
  if (!input_.empty() && (reading_body_ || exchange_->is_tunnel())) return;  // first what has come
  if (reading_body_) {
    exchange_->end_input(fail(Code::unavailable, "the client has left before the end of the body"));
    return close();
  }
  if (exchange_->is_tunnel()) {
    if (exchange_->input_open()) exchange_->end_input({});
    if (sending_done_) close();
    return;
  }
  if (exchange_->streaming()) close();
}

void Connection::process_input() {
  if (processing_) return;
  processing_ = true;
  while (stage_ == Stage::requests && !exchange_ && !close_after_) {
    if (reading_body_) {
      if (!drop_body()) break;
    } else {
      if (!parse_next()) break;
      dispatch();
    }
  }
  processing_ = false;
  if (stage_ == Stage::requests && peer_done_ && !exchange_ && output_.empty()) close();
}

// True when a request is in the parser that can be taken.
bool Connection::parse_next() {
  std::string_view data = input_;
  Parsed<bool> complete = read_request(data);
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
    output_ += format_interim_head(100, {});
    pump();
  }
  if (stage_ == Stage::requests) await_rest();
  return false;
}

Parsed<bool> Connection::read_request(std::string_view& data) {
  while (true) {
    switch (TRY(parser_.feed(data))) {
      case RequestParser::Step::more:
        return false;
      case RequestParser::Step::request:
        return true;
      case RequestParser::Step::head:
        Request& head = parser_.head();
        head.peer = peer_;
        head.remote_address = remote_address_;
        rules_ = TRY(rules_of(head));
        head_came_ = true;
        TRY(parser_.begin_body(rules_.max_body_bytes, rules_.stream_body));
        if (parser_.streams_body()) return true;
    }
  }
}

Parsed<RouteRules> Connection::rules_of(const Request& head) const {
  const ServerOptions& options = host_.options;
  if (!options.router)
    return RouteRules{.max_body_bytes = options.max_body_bytes,
                      .body_timeout = options.request_timeout};
  try {
    return options.router(head);
  } catch (const std::exception& thrown) {
    log_error("net", "a router has thrown", {{"error", thrown.what()}});
    return std::unexpected(HttpError{500, "Internal error occurred: the router failed"});
  }
}

// The deadline of a request counts from its first byte or its head: it is not moved by the bytes
// that follow.
void Connection::await_rest() {
  const ServerOptions& options = host_.options;
  if (!parser_.started()) {
    set_deadline(options.idle_timeout);
  } else if (std::exchange(head_came_, false)) {
    if (options.router && rules_.body_timeout == Nanos{})
      clear_deadline();
    else if (options.router || !request_started_)
      set_deadline(rules_.body_timeout);
    else
      deadline_ = (request_began_ + rules_.body_timeout).time_since_epoch().count();
  } else if (!request_started_) {
    request_began_ = real_clock().mono();
    set_deadline(std::min(options.header_timeout, options.request_timeout));
  }
  request_started_ = parser_.started();
}

void Connection::dispatch() {
  CHECK(!exchange_, "one request is answered at a time");
  bool keep_alive = parser_.keep_alive();
  int minor_version = parser_.minor_version();
  reading_body_ = parser_.streams_body();
  continue_wanted_ = reading_body_ && parser_.take_continue();
  Request request = parser_.take();
  account_input();
  request_started_ = head_came_ = false;
  AnswerForm form = answer_form(request, minor_version, keep_alive && !close_after_);
  // Closed before this connection goes.
  exchange_ = std::make_shared<Exchange>(form, reading_body_, [this] { wake(); });
  answer_taken_ = sending_done_ = false;
  idle_since_ = kNever;
  begin_deadlines();
  if (reading_body_) exchange_->set_body_far_from_end(body_is_far_from_end());
  call_handler(std::move(request), exchange_->make_writer());
  pump();
  if (exchange_ && exchange_->input_open()) deliver_input();
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

// Bytes that were read count until their request has been handed over.
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

}  // namespace hekla::net
