// One exec: a process beside the container's own, its stdio or terminal, its client.
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "agent/os/fd_pipe.h"
#include "agent/streams/node_streams.h"
#include "base/check.h"

namespace hekla::agent {
namespace {

constexpr std::size_t kMaxPendingOutput = 1024 * 1024;
// A child in the background may hold the output open after the process itself has ended.
constexpr std::chrono::seconds kOutputGrace{2};

// All state belongs to the FdLoop's thread.
class ExecSession final : public kube::PodProcess,
                          public std::enable_shared_from_this<ExecSession> {
 public:
  ExecSession(std::shared_ptr<StreamCore> core, StreamTarget target, kube::ExecOptions options)
      : core_(std::move(core)), target_(std::move(target)), options_(std::move(options)) {}

  void begin(std::shared_ptr<kube::ProcessClient> client) override {
    core_->executor.post([self = shared_from_this(), client = std::move(client)]() mutable {
      self->start(std::move(client));
    });
  }
  void write_input(std::string bytes) override {
    on_loop([bytes = std::move(bytes)](ExecSession& self) mutable {
      if (!self.started_)
        self.early_ += bytes;
      else if (self.input_)
        self.input_->write(std::move(bytes));
    });
  }
  void end_input() override {
    on_loop([](ExecSession& self) {
      self.input_ended_ = true;
      if (self.input_) self.input_->finish_writing();
    });
  }
  void resize(int width, int height) override {
    on_loop([width, height](ExecSession& self) {
      self.size_.ws_col = static_cast<unsigned short>(width);
      self.size_.ws_row = static_cast<unsigned short>(height);
      self.apply_size();
    });
  }
  void leave() override {
    on_loop([](ExecSession& self) { self.client_gone(); });
  }

 private:
  template <class Call>
  void on_loop(Call call) {
    core_->loop->post(
        [self = shared_from_this(), call = std::move(call)]() mutable { call(*self); });
  }

  // On the executor.
  void start(std::shared_ptr<kube::ProcessClient> client) {
    if (!core_->machine) return client->finish(fail(Code::unavailable, "the agent is stopping"));
    ExecSpec spec{options_.command, options_.in, options_.out, options_.err, options_.tty};
    core_->machine->start_exec(
        target_.record, target_.container, std::move(spec),
        [self = shared_from_this(), client](Result<StartedExec> started) mutable {
          if (!started) return client->finish(std::unexpected(started.error()));
          self->core_->loop->post([self, client, started = std::move(*started)]() mutable {
            self->run(std::move(client), std::move(started));
          });
        });
  }

  void run(std::shared_ptr<kube::ProcessClient> client, StartedExec started) {
    CHECK(!started_, "a session runs one process");
    client_ = std::move(client);
    process_ = std::move(started);
    started_ = true;
    auto self = shared_from_this();
    if (process_.terminal) {
      input_ = open_output(std::move(process_.terminal), FdPipe::Kind::terminal,
                           kube::ProcessClient::Output::out);
      apply_size();
    } else {
      if (process_.in) {
        input_ = std::make_shared<FdPipe>(*core_->loop, std::move(process_.in), FdPipe::Kind::pipe,
                                          FdPipeCallbacks{{}, {}, {}, holder()});
        input_->start();
      }
      if (process_.out)
        out_ = open_output(std::move(process_.out), FdPipe::Kind::pipe,
                           kube::ProcessClient::Output::out);
      if (process_.err)
        err_ = open_output(std::move(process_.err), FdPipe::Kind::pipe,
                           kube::ProcessClient::Output::err);
    }
    if (input_ && !early_.empty()) input_->write(std::exchange(early_, {}));
    if (input_ && input_ended_) input_->finish_writing();
    core_->loop->watch(process_.process.get(), EPOLLIN, [self](std::uint32_t) { self->exited(); });
    if (client_->is_closed()) client_gone();
  }

  std::shared_ptr<FdPipe> open_output(FileDescriptor fd, FdPipe::Kind kind,
                                      kube::ProcessClient::Output which) {
    ++open_outputs_;
    FdPipeCallbacks callbacks;
    callbacks.on_data = [this, self = weak_from_this(), which](std::string bytes) {
      if (auto alive = self.lock(); alive && client_) client_->write(which, std::move(bytes));
    };
    callbacks.on_end = [this, self = weak_from_this()] {
      auto alive = self.lock();
      if (!alive) return;
      --open_outputs_;
      finish_if_done();
    };
    callbacks.is_full = [this, self = weak_from_this()] {
      auto alive = self.lock();
      if (!alive || !client_) return false;
      if (client_->is_closed()) {
        // Not from here: hanging a terminal up takes away the pipe that is asking.
        on_loop([](ExecSession& session) { session.client_gone(); });
        return true;
      }
      return client_->pending_bytes() > kMaxPendingOutput;
    };
    callbacks.hold = holder();
    auto pipe = std::make_shared<FdPipe>(*core_->loop, std::move(fd), kind, std::move(callbacks));
    pipe->start();
    return pipe;
  }
  std::function<void(bool)> holder() {
    return [this, self = weak_from_this()](bool hold) {
      if (auto alive = self.lock(); alive && client_) client_->hold_input(hold);
    };
  }

  void apply_size() {
    if (input_ && input_->is_open() && options_.tty && size_.ws_col != 0)
      ::ioctl(input_->fd(), TIOCSWINSZ, &size_);
  }

  void exited() {
    core_->loop->watch(process_.process.get(), 0, {});
    exit_ = end_exec(process_);
    finish_if_done();
    core_->loop->after(kOutputGrace, [self = shared_from_this()] {
      self->open_outputs_ = 0;
      self->finish_if_done();
    });
  }
  void finish_if_done() {
    if (!exit_ || open_outputs_ > 0 || std::exchange(finished_, true)) return;
    for (auto* pipe : {&input_, &out_, &err_})
      if (*pipe) std::exchange(*pipe, nullptr)->close();
    left_ = nullptr;
    if (auto client = std::exchange(client_, nullptr)) client->finish(std::move(*exit_));
  }
  // mpirun leaves as soon as its daemon runs, so the process must not notice: its output is read
  // and dropped. A terminal is hung up. The client is held as long as the process has descriptors
  // of ours: what it counts towards, a user's streams, is taken until then.
  void client_gone() {
    if (client_ && !finished_) left_ = std::move(client_);
    client_ = nullptr;
    if (!input_) return;
    if (options_.tty)
      std::exchange(input_, nullptr)->close();
    else
      input_->finish_writing();
  }

  std::shared_ptr<StreamCore> core_;
  const StreamTarget target_;
  const kube::ExecOptions options_;
  std::shared_ptr<kube::ProcessClient> client_;
  std::shared_ptr<kube::ProcessClient> left_;  // it left before the process ended
  StartedExec process_;
  std::shared_ptr<FdPipe> input_, out_, err_;  // a terminal is input_ alone
  std::string early_;                          // input that came before the process ran
  winsize size_{};
  std::optional<Result<int>> exit_;
  int open_outputs_ = 0;
  bool started_ = false, input_ended_ = false, finished_ = false;
};

}  // namespace

std::shared_ptr<kube::PodProcess> make_exec_session(std::shared_ptr<StreamCore> core,
                                                    StreamTarget target,
                                                    const kube::ExecOptions& options) {
  return std::make_shared<ExecSession>(std::move(core), std::move(target), options);
}

}  // namespace hekla::agent
