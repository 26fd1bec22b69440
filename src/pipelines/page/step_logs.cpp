#include "pipelines/page/step_logs.h"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>

#include "base/loop.h"
#include "pipelines/object_sending.h"

namespace hekla::pipelines::page {
namespace {

constexpr const char* kBucket = "mlpipeline";
constexpr std::int64_t kKeptMax = 64 << 20;  // of a log: beyond it the beginning is kept

std::string key_of(const std::string& run, const std::string& pod) {
  return "launch/" + run + "/" + pod + "/log";
}

net::Headers text_headers() {
  net::Headers headers;
  headers.add("Content-Type", "text/plain; charset=utf-8");
  headers.add("X-Content-Type-Options", "nosniff");
  headers.add("Content-Security-Policy", "default-src 'none'; sandbox");
  headers.add("Cache-Control", "no-store");
  return headers;
}

void refuse(net::ResponseWriter& writer, const Error& error) {
  net::Response response;
  response.status = http_status_of(error.code);
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = error.message + "\n";
  writer.respond(std::move(response));
}

// A whole log in memory, then handed over.
class Gathering final : public kube::ByteSink {
 public:
  explicit Gathering(std::function<void(std::string)> done) : done_(std::move(done)) {}
  void write(std::string bytes) override {
    std::lock_guard lock(mutex_);
    text_ += bytes;
  }
  void end() override {
    std::lock_guard lock(mutex_);
    if (auto done = std::exchange(done_, nullptr)) done(std::move(text_));
  }
  bool is_closed() const override { return false; }
  std::size_t pending_bytes() const override { return 0; }

 private:
  std::mutex mutex_;
  std::string text_;
  std::function<void(std::string)> done_;
};

// A log on its way to a client; its head is sent with the first bytes.
class Passing final : public kube::ByteSink {
 public:
  explicit Passing(std::shared_ptr<net::ResponseWriter> writer) : writer_(std::move(writer)) {}
  void begin() {
    std::lock_guard lock(mutex_);
    if (!std::exchange(begun_, true)) writer_->begin(200, text_headers());
  }
  void write(std::string bytes) override {
    begin();
    writer_->write(std::move(bytes));
  }
  void end() override {
    begin();
    writer_->end();
  }
  bool is_closed() const override { return writer_->is_closed(); }
  std::size_t pending_bytes() const override { return writer_->pending_bytes(); }

 private:
  std::mutex mutex_;
  bool begun_ = false;
  std::shared_ptr<net::ResponseWriter> writer_;
};

Result<void> put_text(ObjectBytes& objects, const std::string& key, const std::string& text) {
  const std::string file = TRY(objects.scratch_file());
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fail(Code::unavailable, "a file for a log cannot be made");
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + at, text.size() - at);
    if (wrote <= 0) break;
    at += static_cast<std::size_t>(wrote);
  }
  ::close(fd);
  Result<void> stored = at < text.size() ? fail(Code::unavailable, "a log cannot be written")
                                         : objects.put(kBucket, key, file);
  if (!stored) ::unlink(file.c_str());
  return stored;
}

}  // namespace

struct StepLogs::State : std::enable_shared_from_this<StepLogs::State> {
  State(ObjectBytes& kept, kube::PodStreams& given) : objects(kept), streams(given) {}

  bool is_kept(const std::string& key) {
    Result<OpenObject> found = objects.open(kBucket, key);
    if (found) ::close(found->descriptor);
    return found.has_value();
  }

  void read_pod(const std::string& key, const kube::PodRef& pod, std::shared_ptr<Done<void>> done) {
    auto keep = [self = shared_from_this(), key, done](std::string text) {
      Task task = [self, key, done, text = std::move(text)] {
        (*done)(put_text(self->objects, key, text));
      };
      if (!self->workers.try_post(task)) (*done)(fail(Code::unavailable, "too many logs wait"));
    };
    kube::LogOptions options;
    options.container = "main";
    options.limit_bytes = kKeptMax;
    streams.logs(pod, options, std::make_shared<Gathering>(std::move(keep)),
                 [done](Result<void> started) {
                   if (!started) (*done)(std::unexpected(started.error()));
                 });
  }

  ObjectBytes& objects;
  kube::PodStreams& streams;
  WorkerPool workers{"step-logs", 2};
};

StepLogs::StepLogs(ObjectBytes& objects, kube::PodStreams& streams)
    : state_(std::make_shared<State>(objects, streams)) {}
StepLogs::~StepLogs() { state_->workers.stop(); }

void StepLogs::keep(const std::string& run, const kube::PodRef& pod, Done<void> done) {
  auto shared = std::make_shared<Done<void>>(std::move(done));
  Task task = [state = state_, key = key_of(run, pod.name), pod, shared] {
    if (state->is_kept(key)) return (*shared)({});
    state->read_pod(key, pod, shared);
  };
  if (!state_->workers.try_post(task)) (*shared)(fail(Code::unavailable, "too many logs wait"));
}

void StepLogs::send(const std::string& run, const kube::PodRef& pod, bool follow,
                    std::shared_ptr<net::ResponseWriter> writer) {
  Task task = [state = state_, key = key_of(run, pod.name), pod, follow, writer] {
    if (Result<OpenObject> kept = state->objects.open(kBucket, key))
      return send_object(*kept, text_headers(), writer);
    if (pod.uid.empty())
      return refuse(*writer, {Code::not_found, "there is no log of pod " + pod.name});
    kube::LogOptions options;
    options.container = "main";
    options.follow = follow;
    auto sink = std::make_shared<Passing>(writer);
    state->streams.logs(pod, options, sink, [sink, writer](Result<void> started) {
      started ? sink->begin() : refuse(*writer, started.error());
    });
  };
  if (!state_->workers.try_post(task))
    refuse(*writer, {Code::too_many_requests, "too many requests are waiting"});
}

}  // namespace hekla::pipelines::page
