// One descriptor on an FdLoop: what is written to it waits in a queue, what comes out of it goes to
// a callback as fast as the receiver takes it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "agent/os/fd_loop.h"

namespace hekla::agent {

struct FdPipeCallbacks {
  std::function<void(std::string bytes)> on_data;  // absent: nothing is read
  std::function<void()> on_end;                    // end of file or failure, once
  std::function<bool()> is_full;                   // reading waits while it says so
  std::function<void(bool hold)> hold;             // the queue has become long, or short again
};

// On the loop's thread.
class FdPipe : public std::enable_shared_from_this<FdPipe> {
 public:
  enum class Kind { pipe, terminal, socket, packets };
  FdPipe(FdLoop& loop, FileDescriptor fd, Kind kind, FdPipeCallbacks callbacks);
  ~FdPipe();

  void start();
  void write(std::string bytes);
  // After what is queued: shuts a socket's sending half, closes a pipe. A terminal gets ^D.
  void finish_writing();
  void close();
  bool is_open() const { return static_cast<bool>(fd_); }
  bool is_flushed() const { return queue_.empty(); }
  int fd() const { return fd_.get(); }

 private:
  void arm();
  void on_ready(std::uint32_t events);
  void read_some();
  void write_some();
  void end_writing();
  void end_reading();
  void check_hold();

  FdLoop& loop_;
  FileDescriptor fd_;
  const Kind kind_;
  FdPipeCallbacks callbacks_;
  std::deque<std::string> queue_;
  std::size_t sent_ = 0;    // of the front
  std::size_t queued_ = 0;  // bytes
  bool holding_ = false, finishing_ = false, write_over_ = false, read_over_ = false;
  bool waiting_ = false;  // for a receiver that is full
};

}  // namespace hekla::agent
