#include "agent/logs/log_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <mutex>

#include "agent/logs/log_tail.h"
#include "agent/runtime/log_files.h"
#include "base/log.h"
#include "kube/log_format.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;
constexpr std::size_t kMaxPendingBytes = 1024 * 1024;
constexpr std::chrono::milliseconds kPressurePause{20};
constexpr std::chrono::milliseconds kLivenessPeriod{250};
constexpr int kThreads = 2;

}  // namespace

// Declared here so that what is posted can outlive the LogStreams.
struct LogStreams::State {
  State(Executor& executor, const LogSource& source, std::unique_ptr<FileWatch> watch)
      : executor(executor), source(source), watch(std::move(watch)) {}
  Executor& executor;
  const LogSource& source;  // not to be asked once stopped
  std::unique_ptr<FileWatch> watch;
  WorkerPool pool{"hekla-logs", kThreads};
  std::atomic<bool> stopped = false;
};

// One stream. step() runs on the pool, never twice at the same time; everything else only wakes it.
class LogPump : public std::enable_shared_from_this<LogPump> {
 public:
  LogPump(std::shared_ptr<void> owner, Executor& executor, WorkerPool& pool, FileWatch& watch,
          kube::LogFormat format, bool follow, std::shared_ptr<kube::ByteSink> sink)
      : owner_(std::move(owner)),
        executor_(executor),
        pool_(pool),
        watch_(watch),
        formatter_(format),
        follow_(follow),
        sink_(std::move(sink)) {}
  ~LogPump() {
    if (watch_number_ != 0) watch_.remove(watch_number_);
  }

  // A log that is not there yet, or never will be, is an empty one.
  Result<void> open(const std::string& path, std::optional<std::int64_t> tail_lines) {
    path_ = path;
    for (const std::string& name : log_files(path)) {
      FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file && errno == ENOENT) continue;
      if (!file) return errno_error("open the log " + name);
      pieces_.push_back({std::move(file), 0});
    }
    if (tail_lines) TRY(cut_to_tail(*tail_lines));
    if (!next_piece()) return {};
    return follow_ ? watch() : Result<void>();
  }

  void wake() {
    if (wakes_.fetch_add(1) > 0) return;
    Task task = [self = shared_from_this()] { self->run(); };
    if (!pool_.try_post(task)) sink_->end();
  }
  // The container has ended: what is in the file now is all there will be.
  void finish_at_end() {
    ended_ = true;
    wake();
  }
  bool is_over() const { return over_; }

 private:
  struct Piece {
    FileDescriptor file;
    std::uint64_t offset = 0;
  };
  // Only the last lines of all files together.
  Result<void> cut_to_tail(std::int64_t lines) {
    std::vector<int> files;
    for (const Piece& piece : pieces_) files.push_back(piece.file.get());
    const std::vector<std::uint64_t> offsets = TRY(tail_offsets(files, lines));
    for (std::size_t i = 0; i < offsets.size(); ++i) pieces_[i].offset = offsets[i];
    return {};
  }
  bool next_piece() {
    if (pieces_.empty()) return false;
    file_ = std::move(pieces_.front().file);
    offset_ = pieces_.front().offset;
    pieces_.pop_front();
    return true;
  }
  void run() {
    for (int seen = wakes_.load(); seen > 0; seen = wakes_.fetch_sub(seen) - seen) {
      if (!over_) step();
    }
  }

  void step() {
    bool last_pass = ended_ || !follow_;
    while (file_ && !formatter_.is_full()) {
      if (sink_->is_closed()) return close();
      if (sink_->pending_bytes() > kMaxPendingBytes) return pause();
      buffer_.resize(kChunkBytes);
      ssize_t n = ::pread(file_.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(offset_));
      if (n == 0 && (next_piece() || reopen())) continue;
      if (n <= 0) break;
      offset_ += static_cast<std::uint64_t>(n);
      std::string text =
          formatter_.feed(std::string_view(buffer_.data(), static_cast<std::size_t>(n)));
      if (!text.empty()) sink_->write(std::move(text));
    }
    if (last_pass || formatter_.is_full() || sink_->is_closed()) close();
  }
  Result<void> watch() {
    if (watch_number_ != 0) watch_.remove(watch_number_);
    watch_number_ = TRY(watch_.add(path_, [self = weak_from_this()](const std::string&) {
      if (auto pump = self.lock()) pump->wake();
    }));
    return {};
  }
  // At the end of a file that has been begun anew because it had become too long: go on with that.
  bool reopen() {
    struct stat read{}, now{};
    if (::fstat(file_.get(), &read) != 0 || ::stat(path_.c_str(), &now) != 0 ||
        read.st_ino == now.st_ino)
      return false;
    // Bytes that came between our last look and the change of names.
    if (static_cast<std::uint64_t>(read.st_size) > offset_) return true;
    FileDescriptor next(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!next) return false;
    file_ = std::move(next);
    offset_ = 0;
    if (follow_ && !watch()) log_debug("agent", "a log is polled", {{"path", path_}});
    return true;
  }
  void pause() {
    executor_.post_after(kPressurePause, [self = shared_from_this()] { self->wake(); });
  }
  void close() {
    if (!over_.exchange(true)) sink_->end();
  }

  std::shared_ptr<void> owner_;  // of pool and watch; the first member goes last
  Executor& executor_;
  WorkerPool& pool_;
  FileWatch& watch_;
  kube::LogFormatter formatter_;
  const bool follow_;
  std::shared_ptr<kube::ByteSink> sink_;
  std::string path_;
  std::deque<Piece> pieces_;  // that follow
  FileDescriptor file_;
  std::uint64_t offset_ = 0;
  std::string buffer_;
  int watch_number_ = 0;
  std::atomic<int> wakes_ = 0;
  std::atomic<bool> ended_ = false, over_ = false;
};

Result<std::unique_ptr<LogStreams>> LogStreams::open(Executor& executor, const LogSource& source) {
  auto watch = TRY(FileWatch::open("hekla-logwatch"));
  return std::make_unique<LogStreams>(executor, source, std::move(watch));
}

LogStreams::LogStreams(Executor& executor, const LogSource& source,
                       std::unique_ptr<FileWatch> watch)
    : state_(std::make_shared<State>(executor, source, std::move(watch))) {}

LogStreams::~LogStreams() {
  state_->stopped = true;
  state_->pool.stop();
  state_->watch->stop();  // a callback that holds the last of its pump may not end its own thread
}

namespace {

// While a followed container lives, somebody has to notice its end.
void watch_liveness(Executor& executor, const std::function<bool()>& is_live,
                    const std::shared_ptr<LogPump>& pump) {
  if (pump->is_over()) return;
  if (!is_live()) return pump->finish_at_end();
  executor.post_after(kLivenessPeriod, [&executor, is_live, pump] {
    pump->wake();  // also sees a sink that was closed meanwhile
    watch_liveness(executor, is_live, pump);
  });
}

}  // namespace

void LogStreams::logs(const kube::PodRef& pod, const kube::LogOptions& options,
                      std::shared_ptr<kube::ByteSink> sink, Done<void> started) {
  state_->executor.post([state = state_, pod, options, sink = std::move(sink),
                         started = std::move(started)]() mutable {
    if (state->stopped) return started(fail(Code::unavailable, "the agent is stopping"));
    Result<LogTarget> target = state->source.find_log(pod, options);
    if (!target) return started(std::unexpected(target.error()));
    kube::LogFormat format{options.timestamps, options.since_time, options.limit_bytes,
                           options.stream};
    if (options.since_seconds)
      format.since = state->executor.clock().wall() - std::chrono::seconds(*options.since_seconds);
    auto pump = std::make_shared<LogPump>(state, state->executor, state->pool, *state->watch,
                                          format, options.follow, std::move(sink));
    if (Result<void> opened = pump->open(target->path, options.tail_lines); !opened)
      return started(std::unexpected(opened.error()));
    started({});
    pump->wake();
    if (!options.follow) return;
    watch_liveness(
        state->executor,
        [state, target = *target] { return !state->stopped && state->source.is_live(target); },
        pump);
  });
}

void LogStreams::kept_logs(const std::string& ns, Done<std::vector<kube::KeptLog>> done) {
  state_->executor.post([state = state_, ns, done = std::move(done)]() mutable {
    if (state->stopped) return done(fail(Code::unavailable, "the agent is stopping"));
    std::vector<kube::KeptLog> out;
    for (const KeptPod& pod : state->source.kept(ns)) {
      kube::KeptLog log{pod.record.ns,
                        pod.record.name,
                        pod.record.uid,
                        *pod.record.job,
                        pod.bytes,
                        from_ns(pod.ended_ns),
                        {}};
      for (const ContainerRecord& container : pod.record.containers)
        log.containers.push_back(container.name);
      out.push_back(std::move(log));
    }
    done(std::move(out));
  });
}

}  // namespace hekla::agent
