// An answer of the API server, taken as a whole by somebody in the process instead of a socket.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "net/http.h"

namespace hekla::dashboard {

// `done` is called once, on the thread that completes the answer. An answer beyond the limit, or
// one that breaks off, is a 502.
class Capture final : public net::ResponseWriter {
 public:
  using Done = std::function<void(int status, std::string text)>;
  explicit Capture(Done done) : done_(std::move(done)) {}
  ~Capture() override { finish(500, "no answer"); }

  void respond(net::Response response) override {
    net::complete_body(response);
    finish(response.status, std::move(response.body));
  }
  void begin(int status, net::Headers) override {
    std::lock_guard lock(mutex_);
    status_ = status;
  }
  void begin_sized(int status, net::Headers headers, std::uint64_t) override {
    begin(status, std::move(headers));
  }
  void write(net::SharedBytes chunk) override {
    std::unique_lock lock(mutex_);
    text_ += *chunk;
    if (text_.size() <= kLimit) return;
    lock.unlock();
    finish(502, "the answer is too long");
  }
  void end() override {
    std::unique_lock lock(mutex_);
    std::string text = std::move(text_);
    const int status = status_;
    lock.unlock();
    finish(status, std::move(text));
  }
  void abort() override { finish(502, "the answer broke off"); }
  std::size_t pending_bytes() const override { return 0; }
  void on_drained(std::function<void()>) override {}
  void on_closed(std::function<void()>) override {}
  bool is_closed() const override { return false; }
  void upgrade(net::Headers, std::function<void(std::string_view)>) override {
    finish(502, "an upgrade was not asked for");
  }
  void pause_input(bool) override {}

 private:
  static constexpr std::size_t kLimit = std::size_t{64} << 20;

  void finish(int status, std::string text) {
    std::unique_lock lock(mutex_);
    Done done = std::exchange(done_, nullptr);
    lock.unlock();
    if (done) done(status, std::move(text));
  }

  std::mutex mutex_;
  Done done_;
  int status_ = 200;
  std::string text_;
};

}  // namespace hekla::dashboard
