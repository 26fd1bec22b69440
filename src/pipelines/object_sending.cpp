#include "pipelines/object_sending.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace hekla::pipelines {
namespace {

constexpr std::size_t kPiece = 256 * 1024;

class Sending : public std::enable_shared_from_this<Sending> {
 public:
  Sending(OpenObject object, std::shared_ptr<net::ResponseWriter> writer)
      : object_(object), left_(object.bytes), writer_(std::move(writer)) {}
  ~Sending() { ::close(object_.descriptor); }

  void begin(net::Headers headers) {
    // The writer holds this until the answer is complete.
    writer_->on_drained([self = shared_from_this()] { self->more(); });
    writer_->begin_sized(200, std::move(headers), left_);
    more();
  }

 private:
  void more() {
    std::lock_guard lock(mutex_);
    while (left_ > 0 && !writer_->is_closed() && writer_->pending_bytes() < 4 * kPiece) {
      std::string piece(std::min<std::uint64_t>(kPiece, left_), '\0');
      const ssize_t got = ::read(object_.descriptor, piece.data(), piece.size());
      if (got <= 0) return writer_->abort();
      piece.resize(static_cast<std::size_t>(got));
      left_ -= piece.size();
      writer_->write(std::move(piece));
    }
    if (left_ == 0 && !std::exchange(ended_, true)) writer_->end();
  }

  OpenObject object_;
  std::uint64_t left_;
  std::shared_ptr<net::ResponseWriter> writer_;
  std::mutex mutex_;
  bool ended_ = false;
};

}  // namespace

void send_object(OpenObject object, net::Headers headers,
                 std::shared_ptr<net::ResponseWriter> writer) {
  std::make_shared<Sending>(object, std::move(writer))->begin(std::move(headers));
}

}  // namespace hekla::pipelines
