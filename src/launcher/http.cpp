#include "launcher/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace hekla::launcher {
namespace {

constexpr int kWaitMinMs = 50, kWaitMaxMs = 2000;
constexpr int kStallSeconds = 300;
constexpr std::size_t kHeadMax = 64 * 1024, kBodyMax = std::size_t{256} << 20;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool write_file(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

int connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in name{};
  name.sin_family = AF_INET;
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &name.sin_addr) != 1)
    return -1;
  name.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval limit{kStallSeconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0) return fd;
  ::close(fd);
  return -1;
}

// The value of a header of the answer's head; names compare without case.
std::string header_of(std::string_view head, std::string_view name) {
  std::size_t at = 0;
  while ((at = head.find("\r\n", at)) != std::string_view::npos) {
    at += 2;
    if (head.size() - at < name.size() ||
        ::strncasecmp(head.data() + at, name.data(), name.size()) != 0)
      continue;
    const std::size_t begin = head.find_first_not_of(": ", at + name.size());
    return std::string(head.substr(begin, head.find("\r\n", begin) - begin));
  }
  return {};
}

}  // namespace

std::string path_encoded(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::strchr("-._~/", c) != nullptr;
    const auto byte = static_cast<unsigned char>(c);
    if (plain && c != '\0')
      out += c;
    else
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

std::string Http::head(const std::string& method, const std::string& path,
                       std::uint64_t bytes) const {
  return method + " " + path + " HTTP/1.1\r\nHost: " + address_ + "\r\nAuthorization: Bearer " +
         token_ + "\r\nConnection: close\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

bool Http::once(const std::string& head, int body_file, std::uint64_t body_bytes,
                std::string_view body, int into, Answer& answer) {
  const Fd socket(connect_to(address_));
  if (socket.get() < 0 || !write_all(socket.get(), head) || !write_all(socket.get(), body))
    return false;
  while (body_file >= 0 && body_bytes > 0) {
    const ssize_t sent = ::sendfile(socket.get(), body_file, nullptr, body_bytes);
    if (sent <= 0) return false;
    body_bytes -= static_cast<std::uint64_t>(sent);
  }
  std::string text(kHeadMax, '\0'), got;
  std::size_t end = std::string::npos;
  while (end == std::string::npos && got.size() < kHeadMax) {
    const ssize_t more = ::recv(socket.get(), text.data(), text.size(), 0);
    if (more <= 0) return false;
    got.append(text, 0, static_cast<std::size_t>(more));
    end = got.find("\r\n\r\n");
  }
  if (end == std::string::npos || got.size() < 12) return false;
  const std::string head_text = got.substr(0, end + 2);
  answer.status = std::atoi(got.c_str() + 9);
  std::string length = header_of(head_text, "content-length");
  std::uint64_t left = 0;
  if (std::from_chars(length.data(), length.data() + length.size(), left).ec != std::errc{})
    return false;
  answer.body.clear();
  const bool to_file = into >= 0 && answer.status == 200;
  std::string_view piece = std::string_view(got).substr(end + 4);
  while (true) {
    piece = piece.substr(0, std::min<std::uint64_t>(piece.size(), left));
    if (to_file && !write_file(into, piece)) return false;
    if (!to_file) answer.body += piece;
    left -= piece.size();
    if (left == 0) return true;
    if (!to_file && answer.body.size() > kBodyMax) return false;
    const ssize_t more = ::recv(socket.get(), text.data(), text.size(), 0);
    if (more <= 0) return false;
    piece = std::string_view(text).substr(0, static_cast<std::size_t>(more));
  }
}

Answer Http::insist(const std::function<bool(Answer&)>& once) {
  int wait = kWaitMinMs;
  bool told = false;
  while (true) {
    Answer answer;
    const bool answered = once(answer);
    if (answered && answer.status != 429 && answer.status < 500) {
      if (told) log_("hekla: the platform answers again");
      return answer;
    }
    if (!told && wait >= kWaitMaxMs) {
      log_("hekla: waiting for the platform to answer");
      told = true;
    }
    ::poll(nullptr, 0, wait);
    wait = std::min(wait * 2, kWaitMaxMs);
  }
}

Answer Http::send(const std::string& method, const std::string& path, std::string_view body) {
  return insist([&](Answer& answer) {
    return once(head(method, path, body.size()), -1, 0, body, -1, answer);
  });
}

Answer Http::fetch_file(const std::string& path, const std::string& file) {
  return insist([&](Answer& answer) {
    const Fd into(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (into.get() < 0) {
      answer = {400, "cannot write " + file + ": " + std::strerror(errno)};
      return true;
    }
    return once(head("GET", path, 0), -1, 0, {}, into.get(), answer);
  });
}

Answer Http::send_file(const std::string& path, const std::string& file) {
  return insist([&](Answer& answer) {
    const Fd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about{};
    if (from.get() < 0 || ::fstat(from.get(), &about) != 0) {
      answer = {400, "cannot read " + file + ": " + std::strerror(errno)};
      return true;
    }
    const auto size = static_cast<std::uint64_t>(about.st_size);
    return once(head("PUT", path, size), from.get(), size, {}, -1, answer);
  });
}

}  // namespace hekla::launcher
