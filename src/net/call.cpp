#include "net/call.h"

#include <array>

#include "net/text.h"

namespace hekla::net {

Call::Call(asio::io_context& io, ClientRequest request, Url url, bool is_stream,
           StreamCallbacks callbacks)
    : request_(std::move(request)),
      url_(std::move(url)),
      is_stream_(is_stream),
      callbacks_(std::move(callbacks)),
      timer_(std::in_place, io) {
  // Streams are read as they come; compressed ones would arrive in blocks.
  decode_gzip_ = !is_stream_ && !request_.headers.has("Accept-Encoding");
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
  if (!request_.body.empty() || may_have_body)
    add("Content-Length", std::to_string(request_.body.size()));
  out += "\r\n";
  return out + request_.body;
}

bool Call::is_idempotent() const {
  static constexpr std::array kMethods{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};
  return std::ranges::find(kMethods, request_.method) != kMethods.end();
}

void Call::arm_timeout() {
  if (request_.timeout.count() <= 0) return;
  std::lock_guard lock(mutex_);
  if (finished_) return;
  timer_->expires_after(request_.timeout);
  timer_->async_wait([self = shared_from_this()](boost::system::error_code error) {
    if (error) return;
    std::string seconds =
        std::to_string(static_cast<double>(self->request_.timeout.count()) / 1000);
    seconds.erase(seconds.find('.') + 2);
    self->end(fail(Code::timeout, self->request_.method + " " + self->request_.url +
                                      ": no answer within " + seconds + " s"),
              true);
  });
}

bool Call::attach(Controls controls) {
  std::lock_guard lock(mutex_);
  if (finished_) return false;
  controls_ = std::move(controls);
  return true;
}

void Call::detach() {
  Controls dropped;
  std::lock_guard lock(mutex_);
  std::swap(dropped, controls_);
}

void Call::hold(bool held) {
  std::lock_guard lock(mutex_);
  if (controls_.hold) controls_.hold(held);
}

void Call::write(std::string bytes) {
  std::lock_guard lock(mutex_);
  if (!controls_.write) return;
  unsent_ += bytes.size();
  controls_.write(std::move(bytes));
}

void Call::on_sent(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (finished_ || bytes == 0 || (unsent_ -= bytes) > 0) return;
  if (callbacks_.on_drained) call_back([&] { callbacks_.on_drained(); });
}

template <class Callback>
void Call::call_back(Callback callback) {
  ++callbacks_running_;
  callback();
  if (--callbacks_running_ > 0 || !finished_) return;
  // What they captured may own the stream's handle: keep nothing alive in a circle.
  StreamCallbacks dropped = std::exchange(callbacks_, StreamCallbacks{});
}

void Call::on_head(int status, const Headers& headers) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  if (decode_gzip_ && equal_ignoring_case(headers.get("Content-Encoding"), "gzip")) gzip_.emplace();
  if (callbacks_.on_head) call_back([&] { callbacks_.on_head(status, headers); });
}

void Call::on_data(std::string_view data) {
  std::lock_guard lock(mutex_);
  if (finished_ || data.empty()) return;
  if (gzip_) {
    unpacked_.clear();
    if (Result<void> done = gzip_->feed(data, unpacked_, request_.max_body_bytes); !done)
      return end(std::unexpected(done.error()), true);
    data = unpacked_;
    if (data.empty()) return;
  }
  if (callbacks_.on_data) call_back([&] { callbacks_.on_data(data); });
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
  std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  timer_.reset();
  std::swap(last, controls_);
  // Under the lock, so that the connection is still there.
  if (give_up && last.give_up) last.give_up();
  call_back([&] {
    if (outcome && callbacks_.on_end) callbacks_.on_end(std::move(*outcome));
  });
}

}  // namespace hekla::net
