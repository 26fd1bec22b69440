#include "agent/os/fd_pipe.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kReadBytes = 32 * 1024;
constexpr std::size_t kMaxPacket = 8 * 1024;  // conmon's buffer
constexpr std::size_t kHoldAbove = 1024 * 1024, kReleaseBelow = 128 * 1024;
constexpr std::chrono::milliseconds kFullPause{10};
constexpr char kEndOfTransmission = 4;

}  // namespace

FdPipe::FdPipe(FdLoop& loop, FileDescriptor fd, Kind kind, FdPipeCallbacks callbacks)
    : loop_(loop), fd_(std::move(fd)), kind_(kind), callbacks_(std::move(callbacks)) {
  CHECK(fd_, "a pipe has a descriptor");
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
  read_over_ = !callbacks_.on_data;
}

FdPipe::~FdPipe() = default;

void FdPipe::start() { arm(); }

void FdPipe::arm() {
  if (!fd_) return;
  std::uint32_t events = 0;
  if (!read_over_ && !waiting_) events |= EPOLLIN;
  if (!queue_.empty() && !write_over_) events |= EPOLLOUT;
  auto self = shared_from_this();
  loop_.watch(fd_.get(), events,
              events == 0 ? FdLoop::Ready()
                          : FdLoop::Ready([self](std::uint32_t ready) { self->on_ready(ready); }));
}

void FdPipe::on_ready(std::uint32_t events) {
  auto self = shared_from_this();  // the watch holds the last reference, and may go
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !read_over_) read_some();
  if (!fd_) return;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0 && !queue_.empty()) write_some();
  // The other end no longer reads what we would write.
  if ((events & EPOLLERR) != 0 && read_over_) return close();
  arm();
}

void FdPipe::read_some() {
  if (callbacks_.is_full && callbacks_.is_full()) {
    waiting_ = true;
    loop_.after(kFullPause, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      self->waiting_ = false;
      self->arm();
    });
    return;
  }
  std::string buffer(kReadBytes, '\0');
  ssize_t n = ::read(fd_.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end_reading();  // a terminal whose other end has closed fails with EIO
  buffer.resize(static_cast<std::size_t>(n));
  callbacks_.on_data(std::move(buffer));
}

void FdPipe::end_reading() {
  read_over_ = true;
  if (callbacks_.on_end) std::exchange(callbacks_.on_end, {})();
}

void FdPipe::write(std::string bytes) {
  if (!fd_ || write_over_ || finishing_ || bytes.empty()) return;
  queued_ += bytes.size();
  queue_.push_back(std::move(bytes));
  write_some();
  arm();
}

void FdPipe::write_some() {
  while (!queue_.empty()) {
    std::string_view rest = std::string_view(queue_.front()).substr(sent_);
    if (kind_ == Kind::packets) rest = rest.substr(0, kMaxPacket);
    ssize_t n = kind_ == Kind::socket || kind_ == Kind::packets
                    ? ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL)
                    : ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) return end_writing();
    CHECK(queued_ >= static_cast<std::size_t>(n), "no more is sent than was queued");
    sent_ += static_cast<std::size_t>(n);
    queued_ -= static_cast<std::size_t>(n);
    if (sent_ < queue_.front().size()) continue;
    queue_.pop_front();
    sent_ = 0;
  }
  check_hold();
  if (finishing_ && queue_.empty()) end_writing();
}

void FdPipe::check_hold() {
  bool hold = holding_ ? queued_ > kReleaseBelow : queued_ > kHoldAbove;
  if (hold == holding_) return;
  holding_ = hold;
  if (callbacks_.hold) callbacks_.hold(hold);
}

void FdPipe::finish_writing() {
  if (!fd_ || finishing_) return;
  if (kind_ == Kind::terminal) write(std::string(1, kEndOfTransmission));
  finishing_ = true;
  if (queue_.empty()) end_writing();
}

void FdPipe::end_writing() {
  if (std::exchange(write_over_, true)) return;
  queue_.clear();
  queued_ = sent_ = 0;
  check_hold();
  if (kind_ == Kind::socket || kind_ == Kind::packets) ::shutdown(fd_.get(), SHUT_WR);
  if (kind_ == Kind::pipe && read_over_) return close();
  arm();
}

void FdPipe::close() {
  if (!fd_) return;
  loop_.watch(fd_.get(), 0, {});
  fd_.close();
  queue_.clear();
  queued_ = 0;
  check_hold();
  callbacks_ = {};
}

}  // namespace hekla::agent
