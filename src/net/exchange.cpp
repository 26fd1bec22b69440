#include "net/exchange.h"

#include <array>
#include <charconv>

#include "base/check.h"
#include "base/log.h"
#include "net/text.h"
#include "net/write_batch.h"

namespace hekla::net {
namespace {

thread_local WriteBatch* current_batch = nullptr;

constexpr std::size_t kLargeQueue = 64 * 1024;  // nobody waits because of less
// Of an upgraded connection, before its input waits. More than producers keep waiting (1 MiB), so
// that what a user types is read during a flood of output; pieces, since a small one takes ten
// times its bytes.
constexpr std::size_t kMaxUnsentBytes = 2 * 1024 * 1024, kMaxUnsentPieces = 16 * 1024;
constexpr std::string_view kLastChunk = "0\r\n\r\n";

void append_chunk_size(std::size_t size, std::string& out) {
  std::array<char, 16> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), size, 16).ptr);
  out += "\r\n";
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
  void begin(int status, Headers headers) override { exchange_->begin(status, std::move(headers)); }
  using ResponseWriter::write;
  void write(SharedBytes chunk) override { exchange_->write(std::move(chunk)); }
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
  push(format_response_head(response, form_));
  if (body_allowed(response.status, form_)) {
    push(std::move(response.body));
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
  push(format_stream_head(status, headers, form_));
  body_allowed_ = body_allowed(status, form_);
  stage_ = Stage::streaming;
  wake_connection();
}

void Exchange::write(SharedBytes bytes) {
  std::lock_guard lock(mutex_);
  bool open = stage_ == Stage::upgraded || (stage_ == Stage::streaming && body_allowed_);
  if (closed_ || !open || bytes->empty()) return;
  push(std::move(bytes), stage_ == Stage::streaming && !form_.http10);
  wake_connection();
}

void Exchange::end() {
  std::lock_guard lock(mutex_);
  if (closed_ || (stage_ != Stage::streaming && stage_ != Stage::upgraded)) return;
  if (stage_ == Stage::streaming && body_allowed_ && !form_.http10) push(std::string(kLastChunk));
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
  push(format_upgrade_head(headers));
  input_ = std::make_shared<const std::function<void(std::string_view)>>(std::move(on_data));
  stage_ = Stage::upgraded;
  wake_();  // even if nothing is to be sent: the client's first bytes may be waiting
}

void Exchange::pause_input(bool paused) {
  std::lock_guard lock(mutex_);
  if (input_paused_.exchange(paused) && !paused && !closed_) wake_();
}

bool Exchange::input_held() const {
  if (input_paused_) return true;
  if (stage_ != Stage::upgraded) return false;
  if (pending_bytes_ > kMaxUnsentBytes) return true;
  std::lock_guard lock(mutex_);
  return queue_.size() - front_ > kMaxUnsentPieces;
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
  if (stage == Stage::streaming || stage == Stage::upgraded)
    abort();  // how a producer that goes away breaks off
  if (stage != Stage::waiting) return;
  log_error("net", "a request was left without an answer");
  respond(
      status_response({500, "Internal error occurred: the request was left without an answer"}));
}

void Exchange::set_callback(std::shared_ptr<const std::function<void()>> Exchange::* which,
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

void Exchange::push(SharedBytes bytes, bool chunk) {
  if (bytes->empty()) return;
  pending_bytes_ += bytes->size();
  if (pending_bytes_ >= kLargeQueue) was_large_ = true;
  queue_.push_back({std::move(bytes), chunk});
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

void Exchange::note_connection_header(const Headers& headers) {
  for (std::string_view value : headers.get_all("Connection"))
    if (list_contains(value, "close")) form_.keep_alive = false;
}

Exchange::Left Exchange::take(std::string& out, std::size_t limit_bytes) {
  std::lock_guard lock(mutex_);
  while (front_ < queue_.size() && out.size() < limit_bytes) {
    if (queue_[front_].tail.bytes > 0)
      append_tail(out, limit_bytes);
    else if (queue_[front_].chunk)
      append_chunk(out, limit_bytes);
    else
      append_front(out, limit_bytes - out.size());
  }
  queue_.erase(queue_.begin(),
               queue_.begin() + static_cast<std::ptrdiff_t>(std::exchange(front_, 0)));
  if (!queue_.empty()) return Left::more;
  awake_ = false;
  return stage_ == Stage::ended ? Left::nothing : Left::nothing_yet;
}

// Everything written since the last turn goes out as one chunk: readers see a stream, not chunks.
void Exchange::append_chunk(std::string& out, std::size_t limit_bytes) {
  const std::size_t room = limit_bytes - out.size();
  std::size_t size = 0;
  for (std::size_t i = front_; i < queue_.size() && queue_[i].chunk && size < room; ++i)
    size += queue_[i].left();
  size = std::min(size, room);
  const std::size_t before = out.size();
  append_chunk_size(size, out);
  pending_bytes_ += out.size() - before + 2;
  while (size > 0) size -= append_front(out, size);
  out += "\r\n";
}

void Exchange::append_tail(std::string& out, std::size_t limit_bytes) {
  BodyTail& tail = queue_[front_].tail;
  const std::size_t before = out.size(), wanted = std::min(limit_bytes - before, tail.bytes);
  while (out.size() - before < wanted) tail.next(out);
  const std::size_t made = out.size() - before;
  CHECK(made <= tail.bytes, "a body is longer than its head has said");
  tail.bytes -= made;
  if (tail.bytes == 0) ++front_;
}

std::size_t Exchange::append_front(std::string& out, std::size_t limit_bytes) {
  Piece& piece = queue_[front_];
  const std::size_t size = std::min(piece.left(), limit_bytes);
  out.append(*piece.bytes, piece.taken, size);
  piece.taken += size;
  if (piece.left() == 0) {
    piece.bytes = nullptr;
    ++front_;
  }
  return size;
}

void Exchange::sent(std::size_t bytes) {
  std::size_t had = pending_bytes_;
  while (!pending_bytes_.compare_exchange_weak(had, had - std::min(had, bytes))) {
  }
}

std::size_t Exchange::held_bytes() const {
  std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const Piece& piece : queue_) bytes += piece.bytes ? piece.bytes->size() : 0;
  return bytes;
}

void Exchange::notify_drained() {
  if (!was_large_) return;
  std::shared_ptr<const std::function<void()>> drained;
  {
    std::lock_guard lock(mutex_);
    if (!queue_.empty()) return;  // written since the last turn: the next one ends here as well
    was_large_ = false;
    if (!closed_ && streaming()) drained = drained_;
  }
  if (drained && *drained) (*drained)();
}

void Exchange::close() {
  std::shared_ptr<const std::function<void()>> gone, drained;
  std::shared_ptr<const std::function<void(std::string_view)>> input;
  std::vector<Piece> queue;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    pending_bytes_ = 0;
    queue.swap(queue_);
    wake_ = nullptr;   // the connection may go
    gone.swap(gone_);  // these may hold the writer, and through it this exchange
    drained.swap(drained_);
    input.swap(input_);
  }
  if (gone && *gone) (*gone)();
}

bool Exchange::keep_alive() const {
  std::lock_guard lock(mutex_);
  return form_.keep_alive;
}

}  // namespace hekla::net
