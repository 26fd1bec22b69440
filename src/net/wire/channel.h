// One connected socket, plain or TLS, as a non-blocking byte pipe: the single stream type that
// servers and clients are written against. Asio only tells when the socket is ready; bytes move by
// direct system calls, so that a queue of many small messages leaves in one of them.
//
// Not thread-safe: everything happens on the one thread that runs the channel's io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "net/wire/tls.h"

namespace hekla::net {

namespace asio = boost::asio;

class Channel {
 public:
  // Takes over `fd`, which must be a non-blocking stream socket. With `ssl` the handshake comes
  // first.
  Channel(asio::io_context& io, int fd, Ssl ssl);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The outcome of an attempt. want_*: nothing more is possible until the socket is ready for that.
  enum class Io { done, want_read, want_write, eof, failed };

  Io handshake();
  // done: `got` bytes, more may be there.
  Io read(std::span<char> into, std::size_t& got);
  // TLS holds bytes that have left the socket: read again without waiting for it.
  bool has_buffered() const { return ssl_ && SSL_has_pending(ssl_.get()) == 1; }
  // `taken` bytes of `data` need not be offered again. done: all of them have also left for the
  // kernel.
  Io write(std::string_view data, std::size_t& taken);

  // Calls `ready` once, from the io_context; never after close(). One wait of each kind at a time.
  using Ready = std::move_only_function<void()>;
  void wait_readable(Ready ready);
  void wait_writable(Ready ready);

  // Tells the peer that nothing more will come; reading goes on.
  void finish_sending();
  void close();
  bool is_open() const { return descriptor_.is_open(); }
  bool is_tls() const { return ssl_ != nullptr; }
  SSL* ssl() const { return ssl_.get(); }
  int fd() { return descriptor_.native_handle(); }
  // Why the last failed call failed.
  const std::string& failure() const { return failure_; }

 private:
  Io read_plain(std::span<char> into, std::size_t& got);
  Io read_tls(std::span<char> into, std::size_t& got);
  Io write_plain(std::string_view data, std::size_t& taken);
  Io flush_ciphertext();
  static int on_record(BIO* bio, const char* data, int size);
  static BIO_METHOD* record_method();
  Io fail_with_errno(const char* what);
  Io fail_with_tls();
  void wait(asio::posix::descriptor_base::wait_type what, Ready ready);

  Ssl ssl_;
  std::string
      ciphertext_;  // what TLS wants to send and the socket has not been offered or has not taken
  std::size_t ciphertext_sent_ = 0;
  bool gather_ = true;  // records, to be sent together
  asio::posix::basic_stream_descriptor<asio::io_context::executor_type> descriptor_;
  std::string failure_;
};

// Options every connection gets: no Nagle delay, keep-alive probes that notice a vanished peer
// within two minutes. Harmless on unix sockets.
void tune_socket(int fd);

}  // namespace hekla::net
