#include "net/calling/call.h"

#include <array>

#include "base/check.h"
#include "net/text.h"
#include "net/wire/http_format.h"

namespace hekla::net {
namespace {

std::string in_seconds(std::chrono::milliseconds time) {
  std::string seconds = std::to_string(static_cast<double>(time.count()) / 1000);
  seconds.erase(seconds.find('.') + 2);
  return seconds + " s";
}

}  // namespace

Call::Call(asio::io_context& io, ClientRequest request, Url url, bool is_stream,
           StreamCallbacks callbacks)
    : request_(std::move(request)),
      url_(std::move(url)),
      is_stream_(is_stream),
      callbacks_(std::move(callbacks)),
      timer_(std::in_place, io) {
  CHECK(is_stream_ || !has_streamed_body(), "only a stream's handle can bring a body");
  CHECK(!has_streamed_body() || request_.body.empty(), "a body is there or streamed");
  // Streams are read as they come; compressed ones would arrive in blocks.
  decode_gzip_ = !is_stream_ && !request_.headers.has("Accept-Encoding");
  output_ended_ = !has_streamed_body();
  if (has_streamed_body()) body_left_ = request_.streamed_body->bytes;
}

std::string Call::format_request(const std::string& bearer_token) const {
  std::string out = request_.method + " " + url_.target + " HTTP/1.1\r\n";
  auto add = [&](std::string_view name, std::string_view value) {
    if (!is_token(name)) return;
    out += name;
    out += ": ";
    for (char c : value) out += is_field_char(c) ? c : ' ';
    out += "\r\n";
  };
  if (!request_.headers.has("Host")) add("Host", url_.authority);
  for (const auto& [name, value] : request_.headers.all())
    if (!equal_ignoring_case(name, "Content-Length") &&
        !equal_ignoring_case(name, "Transfer-Encoding"))
      add(name, value);
  if (!request_.headers.has("User-Agent")) add("User-Agent", "hekla");
  if (!bearer_token.empty() && !request_.headers.has("Authorization"))
    add("Authorization", "Bearer " + bearer_token);
  if (decode_gzip_) add("Accept-Encoding", "gzip");
  bool may_have_body = request_.method != "GET" && request_.method != "HEAD";
  if (has_streamed_body() && !request_.streamed_body->bytes)
    add("Transfer-Encoding", "chunked");
  else if (has_streamed_body())
    add("Content-Length", std::to_string(*request_.streamed_body->bytes));
  else if (!request_.body.empty() || may_have_body)
    add("Content-Length", std::to_string(request_.body.size()));
  out += "\r\n";
  return out + request_.body;
}

bool Call::may_repeat() const {
  static constexpr std::array kMethods{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
  return !has_streamed_body() && std::ranges::find(kMethods, request_.method) != kMethods.end();
}

void Call::arm_timeout() {
  if (request_.timeout.count() <= 0 && request_.head_timeout.count() <= 0 &&
      request_.stall_timeout.count() <= 0)
    return;
  std::lock_guard lock(mutex_);
  if (finished_) return;
  begun_ = active_ = real_clock().mono();
  arm_timer();
}

// One timer for all: it is moved when it has run out, not by what happens until then. A limit that
// does not count now may count soon.
void Call::arm_timer() {
  const MonoTime now = real_clock().mono();
  std::optional<MonoTime> until = next_deadline();
  for (std::chrono::milliseconds time : {request_.stall_timeout, request_.head_timeout})
    if (time.count() > 0 && (!until || now + time < *until)) until = now + time;
  if (!until) return;
  timer_->expires_after(*until - now);
  timer_->async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error) return;
    std::lock_guard lock(self->mutex_);
    if (self->finished_) return;
    const MonoTime now = real_clock().mono();
    if (std::optional<MonoTime> until = self->next_deadline(); until && *until <= now)
      self->end(std::unexpected(self->timed_out(now)), true);
    else
      self->arm_timer();
  });
}

std::optional<MonoTime> Call::next_deadline() const {
  std::optional<MonoTime> until;
  const auto limit = [&](MonoTime since, std::chrono::milliseconds time) {
    if (time.count() > 0 && (!until || since + time < *until)) until = since + time;
  };
  limit(begun_, request_.timeout);
  if (tunnel_) return until;
  if (!headed_ && sent_) limit(*sent_, request_.head_timeout);
  if (unsent_ > 0 || (headed_ && !held_)) limit(active_, request_.stall_timeout);
  return until;
}

Error Call::timed_out(MonoTime now) const {
  std::string why = ": no answer within " + in_seconds(request_.timeout);
  if (request_.timeout.count() <= 0 || now < begun_ + request_.timeout) {
    why = headed_ || !sent_ ? ": nothing moved for " + in_seconds(request_.stall_timeout)
                            : ": no answer within " + in_seconds(request_.head_timeout);
  }
  return Error{Code::timeout, request_.method + " " + request_.url + why};
}

void Call::note_activity() {
  if (request_.stall_timeout.count() > 0) active_ = real_clock().mono();
}

bool Call::attach(Controls controls) {
  std::lock_guard lock(mutex_);
  if (finished_) return false;
  controls_ = std::move(controls);
  if (held_) controls_.hold(true);
  return true;
}

void Call::detach() {
  Controls dropped;
  std::lock_guard lock(mutex_);
  std::swap(dropped, controls_);
}

void Call::hold(bool held) {
  std::lock_guard lock(mutex_);
  if (held_ == held) return;
  held_ = held;
  note_activity();
  if (controls_.hold) controls_.hold(held);
}

void Call::write(std::string bytes) {
  std::lock_guard lock(mutex_);
  if (finished_ || output_ended_ || bytes.empty()) return;
  if (body_left_ && !tunnel_) {
    if (bytes.size() > *body_left_) return fail_body("is longer than announced");
    *body_left_ -= bytes.size();
  }
  const bool chunked = !tunnel_ && !request_.streamed_body->bytes;
  if (unsent_ == 0) note_activity();
  unsent_ += bytes.size();
  output_.push(std::make_shared<const std::string>(std::move(bytes)),
               chunked ? OutputQueue::Form::chunk : OutputQueue::Form::raw);
  if (controls_.wake) controls_.wake();
}

void Call::end_output(const Headers& trailers) {
  std::lock_guard lock(mutex_);
  if (finished_ || output_ended_) return;
  if (!tunnel_) {
    if (body_left_.value_or(0) > 0) return fail_body("is shorter than announced");
    if (!request_.streamed_body->bytes) {
      std::string last = format_last_chunk(trailers);
      unsent_ += last.size();
      output_.push(std::move(last));
    }
  }
  output_ended_ = true;
  if (controls_.wake) controls_.wake();
}

void Call::fail_body(const char* why) {
  end(fail(Code::bad_request, request_.method + " " + request_.url + ": the body " + why), true);
}

Call::Left Call::take(std::string& out, std::size_t limit_bytes) {
  std::lock_guard lock(mutex_);
  unsent_ += output_.take(out, limit_bytes);
  if (!output_.empty()) return Left::more;
  return output_ended_ ? Left::nothing : Left::nothing_yet;
}

void Call::on_sent(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (finished_ || bytes == 0) return;
  CHECK(bytes <= unsent_, "no more leaves than was written");
  note_activity();
  if ((unsent_ -= bytes) > 0) return;
  if (callbacks_.on_drained) call_back([&] { callbacks_.on_drained(); });
}

void Call::on_request_sent() {
  if (request_.head_timeout.count() <= 0) return;
  std::lock_guard lock(mutex_);
  if (!sent_) sent_ = real_clock().mono();
}

template <class Callback>
void Call::call_back(Callback callback) {
  ++callbacks_running_;
  callback();
  if (--callbacks_running_ > 0 || !finished_) return;
  // Callbacks may own the stream's handle: keep nothing alive in a circle.
  StreamCallbacks dropped = std::exchange(callbacks_, StreamCallbacks{});
}

void Call::on_interim(int status, const Headers& headers) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  note_activity();
  if (callbacks_.on_interim) call_back([&] { callbacks_.on_interim(status, headers); });
}

void Call::on_head(int status, const Headers& headers) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  headed_ = true;
  note_activity();
  if (decode_gzip_ && equal_ignoring_case(headers.get("Content-Encoding"), "gzip")) gzip_.emplace();
  if (callbacks_.on_head) call_back([&] { callbacks_.on_head(status, headers); });
}

void Call::on_data(std::string_view data) {
  std::lock_guard lock(mutex_);
  if (finished_ || data.empty()) return;
  note_activity();
  if (gzip_) {
    unpacked_.clear();
    if (Result<void> done = gzip_->feed(data, unpacked_, request_.max_body_bytes); !done)
      return end(std::unexpected(done.error()), true);
    data = unpacked_;
    if (data.empty()) return;
  }
  if (callbacks_.on_data) call_back([&] { callbacks_.on_data(data); });
}

void Call::on_trailers(const Headers& trailers) {
  std::lock_guard lock(mutex_);
  if (finished_ || trailers.all().empty()) return;
  if (callbacks_.on_trailers) call_back([&] { callbacks_.on_trailers(trailers); });
}

void Call::begin_tunnel() {
  std::lock_guard lock(mutex_);
  CHECK(output_ended_ && output_.empty(), "the request has left before the tunnel begins");
  tunnel_ = true;
  output_ended_ = false;
}

bool Call::on_server_end() {
  std::lock_guard lock(mutex_);
  if (finished_ || !callbacks_.on_server_end) return false;
  call_back([&] { callbacks_.on_server_end(); });
  return true;
}

void Call::finish(Result<void> outcome) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  if (outcome && gzip_ && !gzip_->complete() && request_.method != "HEAD")
    outcome = fail(Code::unavailable, request_.url + ": the packed body is cut off");
  end(std::move(outcome), false);
}

void Call::cancel() { end(std::nullopt, true); }

void Call::end(std::optional<Result<void>> outcome, bool give_up) {
  Controls last;
  OutputQueue dropped;
  std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  timer_.reset();
  std::swap(last, controls_);
  std::swap(dropped, output_);
  // Under the lock, so that the connection is still there.
  if (give_up && last.give_up) last.give_up();
  call_back([&] {
    if (outcome && callbacks_.on_end) callbacks_.on_end(std::move(*outcome));
  });
}

}  // namespace hekla::net
