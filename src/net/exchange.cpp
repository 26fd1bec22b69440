#include "net/exchange.h"

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/log.h"
#include "net/text.h"

namespace hekla::net {
namespace {

constexpr std::size_t kJoinBelow =
    64 * 1024;  // copying less than this is cheaper than a system call
constexpr std::string_view kLastChunk = "0\r\n\r\n";

std::string chunk_header(std::size_t size) {
  std::array<char, 24> text;
  char* end = std::to_chars(text.data(), text.data() + text.size(), size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return std::string(text.data(), end);
}

}  // namespace

// Counts the handler's references: the last one gone without an answer must not leave the client
// waiting.
class ExchangeWriter final : public ResponseWriter {
 public:
  explicit ExchangeWriter(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~ExchangeWriter() override { exchange_->abandon(); }
  void respond(Response response) override { exchange_->respond(std::move(response)); }
  void begin(int status, Headers headers) override { exchange_->begin(status, std::move(headers)); }
  void write(std::string chunk) override { exchange_->write(std::move(chunk)); }
  void end() override { exchange_->end(); }
  void abort() override { exchange_->abort(); }
  std::size_t pending_bytes() const override { return exchange_->pending_bytes_; }
  void on_drained(std::function<void()> drained) override {
    exchange_->set_callback(&Exchange::drained_, std::move(drained));
  }
  void on_closed(std::function<void()> closed) override {
    exchange_->set_callback(&Exchange::gone_, std::move(closed));
  }
  bool is_closed() const override { return exchange_->closed_; }
  void upgrade(Headers headers, std::function<void(std::string_view)> on_data) override {
    exchange_->upgrade(std::move(headers), std::move(on_data));
  }
  void pause_input(bool paused) override { exchange_->pause_input(paused); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

Exchange::Exchange(AnswerForm form, std::function<void()> wake)
    : form_(form), wake_(std::move(wake)) {}

std::shared_ptr<ResponseWriter> Exchange::make_writer() {
  return std::make_shared<ExchangeWriter>(shared_from_this());
}

void Exchange::respond(Response response) {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || stage_ != Stage::waiting) return;
  }
  compress_if_large(response, form_);  // without the lock: it takes a while
  std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::waiting) return;
  note_connection_header(response.headers);
  push(format_response_head(response, form_), false);
  if (body_allowed(response.status, form_)) {
    push(std::move(response.body), false);
    if (response.tail.bytes > 0) {
      pending_bytes_ += response.tail.bytes;
      queue_.push_back({.bytes = {}, .tail = std::move(response.tail)});
    }
  }
  stage_ = Stage::ended;
  wake_connection();
}

void Exchange::begin(int status, Headers headers) {
  std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::waiting) return;
  if (form_.http10) form_.keep_alive = false;
  note_connection_header(headers);
  push(format_stream_head(status, headers, form_), false);
  body_allowed_ = body_allowed(status, form_);
  stage_ = Stage::streaming;
  wake_connection();
}

void Exchange::write(std::string bytes) {
  std::lock_guard lock(mutex_);
  bool open = stage_ == Stage::upgraded || (stage_ == Stage::streaming && body_allowed_);
  if (closed_ || !open || bytes.empty()) return;
  push(std::move(bytes), stage_ == Stage::streaming && !form_.http10);
  wake_connection();
}

void Exchange::end() {
  std::lock_guard lock(mutex_);
  if (closed_ || (stage_ != Stage::streaming && stage_ != Stage::upgraded)) return;
  if (stage_ == Stage::streaming && body_allowed_ && !form_.http10) push(std::string(kLastChunk), false);
  stage_ = Stage::ended;
  wake_connection();
}

void Exchange::abort() {
  std::lock_guard lock(mutex_);
  if (closed_ || aborted_) return;
  aborted_ = true;
  wake_();  // even if the connection is waiting for the peer to read
}

void Exchange::upgrade(Headers headers, std::function<void(std::string_view)> on_data) {
  std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::waiting) return;
  form_.keep_alive = false;  // HTTP does not come back
  push(format_upgrade_head(headers), false);
  input_ = std::make_shared<const std::function<void(std::string_view)>>(std::move(on_data));
  stage_ = Stage::upgraded;
  wake_();  // even if nothing is to be sent: the client's first bytes may be waiting
}

void Exchange::pause_input(bool paused) {
  std::lock_guard lock(mutex_);
  if (input_paused_.exchange(paused) && !paused && !closed_) wake_();
}

bool Exchange::takes_input() const {
  std::lock_guard lock(mutex_);
  return stage_ == Stage::upgraded && !input_paused_;
}

void Exchange::deliver(std::string_view data) {
  std::shared_ptr<const std::function<void(std::string_view)>> input;
  {
    std::lock_guard lock(mutex_);
    input = input_;
  }
  if (input) (*input)(data);
}

void Exchange::abandon() {
  Stage stage;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || aborted_) return;
    stage = stage_;
  }
  if (stage == Stage::streaming || stage == Stage::upgraded) abort();  // how a producer that goes away breaks off
  if (stage != Stage::waiting) return;
  log_error("net", "a request was left without an answer");
  respond(
      status_response({500, "Internal error occurred: the request was left without an answer"}));
}

void Exchange::set_callback(std::shared_ptr<const std::function<void()>> Exchange::*which,
                            std::function<void()> callback) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(callback));
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      this->*which = std::move(shared);
      return;
    }
  }
  if (which == &Exchange::gone_) (*shared)();
}

void Exchange::push(std::string bytes, bool chunk) {
  pending_bytes_ += bytes.size();
  queue_.push_back({std::move(bytes), chunk});
}

void Exchange::wake_connection() {
  if (awake_) return;
  awake_ = true;
  wake_();
}

void Exchange::note_connection_header(const Headers& headers) {
  for (std::string_view value : headers.get_all("Connection"))
    if (list_contains(value, "close")) form_.keep_alive = false;
}

bool Exchange::take(std::deque<std::string>& out, std::size_t limit_bytes) {
  std::lock_guard lock(mutex_);
  std::size_t taken = 0;
  while (!queue_.empty() && taken < limit_bytes) {
    taken += queue_.front().bytes.size();
    if (queue_.front().tail.bytes > 0) {
      taken += append_tail(out, limit_bytes - taken);
    } else if (queue_.front().chunk) {
      append_chunk(out, limit_bytes);
    } else {
      append(out, std::move(queue_.front().bytes));
      queue_.pop_front();
    }
  }
  if (!queue_.empty()) return false;
  awake_ = false;
  return stage_ == Stage::ended;
}

// Everything written since the last turn goes out as one chunk: readers see a stream, not chunks.
void Exchange::append_chunk(std::deque<std::string>& out, std::size_t limit_bytes) {
  std::size_t size = 0, count = 0;
  while (count < queue_.size() && queue_[count].chunk && (count == 0 || size < limit_bytes))
    size += queue_[count++].bytes.size();
  std::string header = chunk_header(size);
  pending_bytes_ += header.size() + 2;
  append(out, std::move(header));
  for (; count > 0; --count) {
    append(out, std::move(queue_.front().bytes));
    queue_.pop_front();
  }
  append(out, "\r\n");
}

std::size_t Exchange::append_tail(std::deque<std::string>& out, std::size_t limit_bytes) {
  BodyTail& tail = queue_.front().tail;
  std::string made;
  made.reserve(std::min(limit_bytes, tail.bytes));
  while (made.size() < std::min(limit_bytes, tail.bytes)) tail.next(made);
  CHECK(made.size() <= tail.bytes, "a body is longer than its head has said");
  const std::size_t size = made.size();
  tail.bytes -= size;
  append(out, std::move(made));
  if (tail.bytes == 0) queue_.pop_front();
  return size;
}

void Exchange::append(std::deque<std::string>& out, std::string bytes) {
  if (bytes.empty()) return;
  if (!out.empty() && bytes.size() < kJoinBelow && out.back().size() < kJoinBelow)
    out.back() += bytes;
  else
    out.push_back(std::move(bytes));
}

void Exchange::sent(std::size_t bytes) {
  std::size_t had = pending_bytes_;
  while (!pending_bytes_.compare_exchange_weak(had, had - std::min(had, bytes))) {
  }
}

void Exchange::notify_drained() {
  std::shared_ptr<const std::function<void()>> drained;
  {
    std::lock_guard lock(mutex_);
    if (!closed_ && (stage_ == Stage::streaming || stage_ == Stage::upgraded)) drained = drained_;
  }
  if (drained && *drained) (*drained)();
}

void Exchange::close() {
  std::shared_ptr<const std::function<void()>> gone, drained;
  std::shared_ptr<const std::function<void(std::string_view)>> input;
  std::deque<Piece> queue;
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    pending_bytes_ = 0;
    queue.swap(queue_);
    wake.swap(wake_);  // it holds the connection
    gone.swap(gone_);  // these may hold the writer, and through it this exchange
    drained.swap(drained_);
    input.swap(input_);
  }
  if (gone && *gone) (*gone)();
}

bool Exchange::aborted() const {
  std::lock_guard lock(mutex_);
  return aborted_;
}

bool Exchange::streaming() const {
  std::lock_guard lock(mutex_);
  return stage_ == Stage::streaming || stage_ == Stage::upgraded;
}

bool Exchange::keep_alive() const {
  std::lock_guard lock(mutex_);
  return form_.keep_alive;
}

}  // namespace hekla::net
