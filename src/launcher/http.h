// Plain HTTP/1.1 to one address, repeated until somebody answers: a step that ends while Hekla is
// down must not be lost.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace hekla::launcher {

struct Answer {
  int status = 0;
  std::string body;
};

class Http {
 public:
  // "10.244.0.1:9010"; `log` is told when nobody answers, and when somebody does again.
  Http(std::string address, std::string token, std::function<void(const std::string&)> log)
      : address_(std::move(address)), token_(std::move(token)), log_(std::move(log)) {}

  // Tries again, at most every two seconds, while nobody answers or the answer is 429 or 5xx.
  Answer send(const std::string& method, const std::string& path, std::string_view body = {});
  // The answer's body goes into a file; of an error status, into the answer.
  Answer fetch_file(const std::string& path, const std::string& file);
  Answer send_file(const std::string& path, const std::string& file);

 private:
  struct Exchange;
  Answer insist(const std::function<bool(Answer&)>& once);
  bool once(const std::string& head, int body_file, std::uint64_t body_bytes, std::string_view body,
            int into, Answer& answer);
  std::string head(const std::string& method, const std::string& path, std::uint64_t bytes) const;

  std::string address_, token_;
  std::function<void(const std::string&)> log_;
};

// Bytes other than unreserved characters and slashes is %XX.
std::string path_encoded(std::string_view text);

}  // namespace hekla::launcher
