#include "net/serving/exchange.h"

#include "base/check.h"
#include "base/log.h"
#include "net/text.h"
#include "net/write_batch.h"

namespace hekla::net {
namespace {

thread_local WriteBatch* current_batch = nullptr;

constexpr std::size_t kLargeQueue = 64 * 1024;  // nobody waits because of less
// Of a connection whose handler reads its input, before that waits. More than producers keep
// waiting (1 MiB), so that what a user types is read during a flood of output; pieces, since a
// small one takes ten times its bytes.
constexpr std::size_t kMaxUnsentBytes = 2 * 1024 * 1024, kMaxUnsentPieces = 16 * 1024;

std::unexpected<Error> cut_off() {
  return fail(Code::unavailable, "the exchange ended before its input");
}

}  // namespace

WriteBatch::WriteBatch() : outer_(std::exchange(current_batch, this)) {}

WriteBatch::~WriteBatch() {
  current_batch = outer_;
  for (const std::shared_ptr<Exchange>& exchange : waiting_) exchange->wake_now();
}

bool WriteBatch::take(Exchange& exchange) {
  if (current_batch) current_batch->waiting_.push_back(exchange.shared_from_this());
  return current_batch != nullptr;
}

// Counts the handler's references: the last one gone without an answer must not leave the client
// waiting.
class ExchangeWriter final : public ResponseWriter {
 public:
  explicit ExchangeWriter(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~ExchangeWriter() override { exchange_->abandon(); }
  void respond(Response response) override { exchange_->respond(std::move(response)); }
  void begin(int status, Headers headers) override { exchange_->begin(status, headers, {}); }
  void begin_sized(int status, Headers headers, std::uint64_t body_bytes) override {
    exchange_->begin(status, headers, body_bytes);
  }
  void inform(int status, Headers headers) override { exchange_->inform(status, headers); }
  using ResponseWriter::write;
  void write(SharedBytes chunk) override { exchange_->write(std::move(chunk)); }
  void end() override { exchange_->end(); }
  void end_with(Headers trailers) override { exchange_->end_with(trailers); }
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
    exchange_->upgrade(headers, {.on_data = std::move(on_data)}, false);
  }
  void tunnel(Headers headers, InputCallbacks input) override {
    exchange_->upgrade(headers, std::move(input), true);
  }
  void read_body(InputCallbacks input) override { exchange_->read_body(std::move(input)); }
  void pause_input(bool paused) override { exchange_->pause_input(paused); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

Exchange::Exchange(AnswerForm form, bool body_streamed, std::function<void()> wake)
    : form_(form), body_streamed_(body_streamed), wake_(std::move(wake)) {
  CHECK(wake_ != nullptr, "somebody takes what is written");
}

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
  push_response(std::move(response));
}

bool Exchange::refuse(Response response) {
  std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::waiting) return false;
  form_.keep_alive = false;
  push_response(std::move(response));
  return true;
}

void Exchange::push_response(Response response) {
  decide_keep_alive(response.headers);
  push(format_response_head(response, form_));
  if (body_allowed(response.status, form_)) {
    push(std::move(response.body));
    pending_bytes_ += response.tail.bytes;
    queue_.push(std::move(response.tail));
  }
  stage_ = Stage::ended;
  wake_connection();
}

void Exchange::inform(int status, const Headers& headers) {
  CHECK(status >= 100 && status < 200 && status != 101, "an interim status");
  std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::waiting || form_.http10) return;
  push(format_interim_head(status, headers));
  wake_connection();
}

void Exchange::begin(int status, const Headers& headers, std::optional<std::uint64_t> body_bytes) {
  std::lock_guard lock(mutex_);
  if (closed_ || stage_ != Stage::waiting) return;
  if (form_.http10 && !body_bytes) form_.keep_alive = false;
  decide_keep_alive(headers);
  push(format_stream_head(status, headers, body_bytes, form_));
  body_allowed_ = body_allowed(status, form_);
  body_left_ = body_bytes;
  chunked_ = !form_.http10 && !body_bytes;
  stage_ = Stage::streaming;
  wake_connection();
}

void Exchange::write(SharedBytes bytes) {
  CHECK(bytes != nullptr, "bytes are shared, not absent");
  std::lock_guard lock(mutex_);
  bool open = stage_ == Stage::upgraded || (stage_ == Stage::streaming && body_allowed_);
  if (closed_ || !open || bytes->empty() || !takes_from_body(bytes->size())) return;
  push(std::move(bytes),
       stage_ == Stage::streaming && chunked_ ? OutputQueue::Form::chunk : OutputQueue::Form::raw);
  wake_connection();
}

// A sized body that turns out otherwise (a file that has grown) must not be taken for whole.
bool Exchange::takes_from_body(std::size_t bytes) {
  if (stage_ != Stage::streaming || !body_left_) return true;
  if (bytes > *body_left_) {
    break_off("an answer is longer than its head has said");
    return false;
  }
  *body_left_ -= bytes;
  return true;
}

void Exchange::end_with(const Headers& trailers) {
  std::lock_guard lock(mutex_);
  if (closed_ || (stage_ != Stage::streaming && stage_ != Stage::upgraded)) return;
  if (stage_ == Stage::streaming && body_allowed_) {
    if (body_left_.value_or(0) > 0) return break_off("an answer is shorter than its head has said");
    if (chunked_) push(format_last_chunk(trailers));
  }
  stage_ = Stage::ended;
  if (!tunnel_ && !body_streamed_) input_open_ = false;
  wake_connection();
}

void Exchange::break_off(const char* why) {
  if (aborted_) return;
  log_error("net", why);
  aborted_ = true;
  wake_();
}

void Exchange::abort() {
  std::lock_guard lock(mutex_);
  if (closed_ || aborted_) return;
  aborted_ = true;
  wake_();  // even if the connection is waiting for the peer to read
}

void Exchange::upgrade(const Headers& headers, InputCallbacks input, bool tunnel) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_ && body_streamed_) break_off("a request with a body does not leave HTTP behind");
    if (!closed_ && !aborted_ && stage_ == Stage::waiting) {
      form_.keep_alive = false;  // HTTP does not come back
      push(format_upgrade_head(headers));
      input_ = std::make_shared<const InputCallbacks>(std::move(input));
      tunnel_ = tunnel;
      stage_ = Stage::upgraded;
      input_open_ = true;
      wake_();  // even if nothing is to be sent: the client's first bytes may be waiting
      return;
    }
  }
  if (input.on_end) input.on_end(cut_off());
}

void Exchange::read_body(InputCallbacks input) {
  bool over = !body_streamed_;
  if (!over) {
    std::lock_guard lock(mutex_);
    CHECK(!std::exchange(body_asked_, true), "a body is read once");
    if (!closed_) {
      input_ = std::make_shared<const InputCallbacks>(std::move(input));
      input_open_ = true;
      wake_();
      return;
    }
  }
  if (input.on_end) input.on_end(over ? Result<void>() : cut_off());
}

void Exchange::pause_input(bool paused) {
  std::lock_guard lock(mutex_);
  if (input_paused_.exchange(paused) && !paused && !closed_) wake_();
}

bool Exchange::input_held() const {
  if (input_paused_) return true;
  if (!input_open_) return false;
  if (pending_bytes_ > kMaxUnsentBytes) return true;
  std::lock_guard lock(mutex_);
  return queue_.pieces() > kMaxUnsentPieces;
}

void Exchange::deliver(std::string_view data) {
  std::shared_ptr<const InputCallbacks> input;
  {
    std::lock_guard lock(mutex_);
    input = input_;
  }
  if (input && input->on_data) input->on_data(data);
}

void Exchange::end_input(Result<void> outcome, const Headers& trailers) {
  std::shared_ptr<const InputCallbacks> input;
  {
    std::lock_guard lock(mutex_);
    input_open_ = false;
    input.swap(input_);  // it may hold the writer, and through it this exchange
  }
  if (!input) return;
  if (outcome && !trailers.all().empty() && input->on_trailers) input->on_trailers(trailers);
  if (input->on_end) input->on_end(std::move(outcome));
}

void Exchange::abandon() {
  Stage stage;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || aborted_) return;
    stage = stage_;
  }
  if (stage == Stage::streaming || stage == Stage::upgraded)
    abort();  // how a producer that goes away breaks off
  if (stage != Stage::waiting) return;
  log_error("net", "a request was left without an answer");
  respond(
      status_response({500, "Internal error occurred: the request was left without an answer"}));
}

void Exchange::set_callback(Callback Exchange::* which, std::function<void()> callback) {
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

void Exchange::push(SharedBytes bytes, OutputQueue::Form form) {
  pending_bytes_ += bytes->size();
  if (pending_bytes_ >= kLargeQueue) was_large_ = true;
  queue_.push(std::move(bytes), form);
}

void Exchange::wake_connection() {
  if (awake_) return;
  awake_ = true;
  if (!WriteBatch::take(*this)) wake_();
}

void Exchange::wake_now() {
  std::lock_guard lock(mutex_);
  if (!closed_) wake_();
}

void Exchange::decide_keep_alive(const Headers& headers) {
  if (body_far_from_end_) form_.keep_alive = false;
  for (std::string_view value : headers.get_all("Connection"))
    if (list_contains(value, "close")) form_.keep_alive = false;
}

Exchange::Left Exchange::take(std::string& out, std::size_t limit_bytes) {
  std::lock_guard lock(mutex_);
  pending_bytes_ += queue_.take(out, limit_bytes);
  if (!queue_.empty()) return Left::more;
  awake_ = false;
  return stage_ == Stage::ended ? Left::nothing : Left::nothing_yet;
}

void Exchange::sent(std::size_t bytes) {
  std::size_t had = pending_bytes_;
  while (!pending_bytes_.compare_exchange_weak(had, had - std::min(had, bytes))) {
  }
}

std::size_t Exchange::held_bytes() const {
  std::lock_guard lock(mutex_);
  return queue_.held_bytes();
}

void Exchange::notify_drained() {
  if (!was_large_) return;
  Callback drained;
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty()) return;  // written since the last turn: the next one ends here as well
    was_large_ = false;
    if (!closed_ && streaming()) drained = drained_;
  }
  if (drained && *drained) (*drained)();
}

void Exchange::close() {
  Callback gone, drained;
  OutputQueue queue;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    pending_bytes_ = 0;
    std::swap(queue, queue_);
    wake_ = nullptr;   // the connection may go
    gone.swap(gone_);  // these may hold the writer, and through it this exchange
    drained.swap(drained_);
  }
  end_input(cut_off());
  if (gone && *gone) (*gone)();
}

bool Exchange::keep_alive() const {
  std::lock_guard lock(mutex_);
  return form_.keep_alive;
}

}  // namespace hekla::net
