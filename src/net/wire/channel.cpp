#include "net/wire/channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "base/check.h"

namespace hekla::net {
namespace {

constexpr std::size_t kMaxTlsWrite = 256 * 1024;  // plaintext per system call: sixteen records
constexpr std::size_t kRecord = 16 * 1024, kRecordOverhead = 64;

long control_bio(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

int create_bio(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

// The buffer that channels of this thread encrypt into. It stays in the processor's cache, which a
// buffer for each of hundreds of channels would not; a channel keeps it only while its socket does
// not take everything.
std::string& spare_buffer() {
  thread_local std::string buffer;
  return buffer;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Channel::Channel(asio::io_context& io, int fd, Ssl ssl)
    : ssl_(std::move(ssl)), descriptor_(io, fd) {
  CHECK(fd >= 0, "a channel has a socket");
  if (!ssl_) return;
  BIO* in = BIO_new_socket(fd, BIO_NOCLOSE);
  BIO* out = BIO_new(record_method());
  CHECK(in && out, "out of memory");
  BIO_set_data(out, this);
  SSL_set_bio(ssl_.get(), in, out);  // owns both
}

Channel::~Channel() = default;

// A BIO that hands its channel what TLS sends.
BIO_METHOD* Channel::record_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "channel");
    BIO_meth_set_write(made, on_record);
    BIO_meth_set_ctrl(made, control_bio);
    BIO_meth_set_create(made, create_bio);
    return made;
  }();
  return method;
}

// A write of one record goes out from where TLS has made it; those of a larger one leave in one
// send.
int Channel::on_record(BIO* bio, const char* data, int size) {
  auto& self = *static_cast<Channel*>(BIO_get_data(bio));
  std::string_view record(data, static_cast<std::size_t>(size));
  if (!self.gather_) {
    const ssize_t sent = ::send(self.fd(), record.data(), record.size(), MSG_NOSIGNAL);
    if (sent > 0)
      record.remove_prefix(
          static_cast<std::size_t>(sent));  // an error shows itself at the next flush
  }
  self.ciphertext_ += record;
  return size;
}

Channel::Io Channel::handshake() {
  if (!ssl_) return Io::done;
  ERR_clear_error();
  int done = SSL_do_handshake(ssl_.get());
  int why = SSL_get_error(ssl_.get(), done);
  bool failed = done != 1 && why != SSL_ERROR_WANT_READ;
  std::string reason = failed ? tls_failure(*ssl_) : std::string();
  Io flushed = flush_ciphertext();  // also the alert that tells the peer why
  if (failed) {
    failure_ = "TLS handshake: " + reason;
    return Io::failed;
  }
  if (flushed != Io::done) return flushed;
  return done == 1 ? Io::done : Io::want_read;
}

Channel::Io Channel::read(std::span<char> into, std::size_t& got) {
  CHECK(is_open() && !into.empty(), "nobody reads after close()");
  got = 0;
  return ssl_ ? read_tls(into, got) : read_plain(into, got);
}

Channel::Io Channel::read_plain(std::span<char> into, std::size_t& got) {
  ssize_t size = ::recv(fd(), into.data(), into.size(), 0);
  if (size < 0) return would_block(errno) ? Io::want_read : fail_with_errno("read");
  got = static_cast<std::size_t>(size);
  return size == 0 ? Io::eof : Io::done;
}

Channel::Io Channel::read_tls(std::span<char> into, std::size_t& got) {
  ERR_clear_error();
  errno = 0;
  int done = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got);
  if (!ciphertext_.empty()) flush_ciphertext();  // the answer to a key update
  if (done == 1) return Io::done;
  switch (SSL_get_error(ssl_.get(), done)) {
    case SSL_ERROR_WANT_READ:
      return Io::want_read;
    case SSL_ERROR_ZERO_RETURN:
      return Io::eof;
    case SSL_ERROR_SYSCALL:
      return errno == 0 ? Io::eof : fail_with_errno("read");
    default:
      return fail_with_tls();
  }
}

Channel::Io Channel::write(std::string_view data, std::size_t& taken) {
  CHECK(is_open(), "nobody writes after close()");
  taken = 0;
  if (!ssl_) return write_plain(data, taken);
  while (true) {
    if (Io flushed = flush_ciphertext(); flushed != Io::done) return flushed;
    if (taken == data.size()) return Io::done;
    std::string_view rest = data.substr(taken, kMaxTlsWrite);
    gather_ = rest.size() > kRecord;
    if (gather_) {
      ciphertext_.swap(spare_buffer());
      ciphertext_.reserve(rest.size() + (rest.size() / kRecord + 1) * kRecordOverhead);
    }
    while (!rest.empty()) {  // what older failures have left in OpenSSL's queue does no harm: it is
                             // not asked why
      std::size_t size = 0;
      if (SSL_write_ex(ssl_.get(), rest.data(), rest.size(), &size) != 1) return fail_with_tls();
      rest.remove_prefix(size);
      taken += size;
    }
    gather_ = true;
  }
}

Channel::Io Channel::write_plain(std::string_view data, std::size_t& taken) {
  while (taken < data.size()) {
    ssize_t size = ::send(fd(), data.data() + taken, data.size() - taken, MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EINTR) continue;
      return would_block(errno) ? Io::want_write : fail_with_errno("write");
    }
    taken += static_cast<std::size_t>(size);
  }
  return Io::done;
}

Channel::Io Channel::flush_ciphertext() {
  if (ciphertext_.empty()) return Io::done;
  std::size_t sent = 0;
  Io done = write_plain(std::string_view(ciphertext_).substr(ciphertext_sent_), sent);
  ciphertext_sent_ += sent;
  if (done != Io::done) return done;
  ciphertext_sent_ = 0;
  ciphertext_.clear();
  if (ciphertext_.capacity() > spare_buffer().capacity()) ciphertext_.swap(spare_buffer());
  ciphertext_ = std::string();
  return Io::done;
}

void Channel::wait_readable(Ready ready) {
  wait(asio::posix::descriptor_base::wait_read, std::move(ready));
}

void Channel::wait_writable(Ready ready) {
  wait(asio::posix::descriptor_base::wait_write, std::move(ready));
}

void Channel::wait(asio::posix::descriptor_base::wait_type what, Ready ready) {
  descriptor_.async_wait(what,
                         [this, ready = std::move(ready)](boost::system::error_code error) mutable {
                           if (error == asio::error::operation_aborted || !is_open()) return;
                           ready();  // a broken socket shows itself in the call that follows
                         });
}

void Channel::finish_sending() {
  if (!is_open()) return;
  if (ssl_ && SSL_is_init_finished(ssl_.get())) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    flush_ciphertext();  // as much as goes without waiting: the peer can do without
  }
  ::shutdown(fd(), SHUT_WR);
}

void Channel::close() {
  boost::system::error_code ignored;
  if (is_open()) descriptor_.close(ignored);
}

Channel::Io Channel::fail_with_errno(const char* what) {
  failure_ = std::string(what) + ": " + std::generic_category().message(errno);
  return Io::failed;
}

Channel::Io Channel::fail_with_tls() {
  failure_ = "TLS: " + tls_failure(*ssl_);
  return Io::failed;
}

void tune_socket(int fd) {
  auto set = [fd](int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

}  // namespace hekla::net
