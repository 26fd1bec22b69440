#include "controllers/volcano/flow/pod_probe.h"

#include <atomic>
#include <charconv>

namespace hekla::controllers {
namespace {

constexpr std::size_t kStatusLineMax = 4096;

// "HTTP/1.1 200 OK"
bool is_success(std::string_view line) {
  std::size_t space = line.find(' ');
  if (!line.starts_with("HTTP/") || space == std::string_view::npos) return false;
  int status = 0;
  std::string_view digits = line.substr(space + 1, 3);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  return error == std::errc() && status >= 200 && status < 400;
}

// Everything but is_closed() happens on the executor.
class Probing final : public kube::ForwardClient, public std::enable_shared_from_this<Probing> {
 public:
  Probing(Executor& executor, std::string request, std::function<void(bool)> done)
      : executor_(executor), request_(std::move(request)), done_(std::move(done)) {}

  void write(std::string bytes) override {
    executor_.post(
        [self = shared_from_this(), bytes = std::move(bytes)] { self->received(bytes); });
  }
  void end() override {
    executor_.post([self = shared_from_this()] { self->finish(false); });
  }
  bool is_closed() const override { return closed_; }
  std::size_t pending_bytes() const override { return 0; }
  void hold_input(bool) override {}

  void connected(Result<std::shared_ptr<kube::ForwardedConnection>> connection) {
    if (!connection) return finish(false);
    if (!done_) return (*connection)->leave();
    connection_ = std::move(*connection);
    if (request_.empty()) return finish(true);
    connection_->write(request_);
  }
  void finish(bool passed) {
    if (!done_) return;
    closed_ = true;
    if (connection_)
      std::exchange(connection_, nullptr)->leave();  // it may hold this probe for as long
    std::exchange(done_, nullptr)(passed);
  }

 private:
  void received(const std::string& bytes) {
    head_ += bytes;
    std::size_t end = head_.find("\r\n");
    if (end != std::string::npos) return finish(is_success(std::string_view(head_).substr(0, end)));
    if (head_.size() > kStatusLineMax) finish(false);
  }

  Executor& executor_;
  std::string request_, head_;
  std::function<void(bool)> done_;
  std::shared_ptr<kube::ForwardedConnection> connection_;
  std::atomic<bool> closed_ = false;
};

}  // namespace

void probe_pod(kube::PodStreams& streams, Executor& executor, PodProbe probe,
               std::function<void(bool)> done) {
  auto probing = std::make_shared<Probing>(executor, std::move(probe.request), std::move(done));
  streams.forward(probe.pod, probe.port, probing,
                  [&executor, probing](Result<std::shared_ptr<kube::ForwardedConnection>> made) {
                    executor.post([probing, made = std::move(made)]() mutable {
                      probing->connected(std::move(made));
                    });
                  });
  executor.post_after(probe.timeout, [probing] { probing->finish(false); });
}

}  // namespace hekla::controllers
