// SIGTERM, SIGINT and SIGHUP end the process in an orderly way, and so does, where it is wanted,
// the end of whoever reads its standard output.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <functional>
#include <mutex>

#include "base/clock.h"
#include "base/loop.h"

namespace hekla::cli {

class EndSignal {
 public:
  // until_closed: the loss of the pipe's reader counts as SIGPIPE, though only if nothing came
  // before it: Ctrl-C ends the other programs of a pipeline too.
  enum class Output { ignored, until_closed };

  // Before any other thread is made, so that each inherits the mask and only this class sees the
  // signals. Those that were ignored at the start (nohup) stay ignored.
  explicit EndSignal(Output output = Output::ignored);
  ~EndSignal();

  // Blocks until the first signal; its number.
  int wait();
  // The same, but no longer than this: 0 when none has come.
  int wait_for(Nanos timeout);
  // The value that came with the first signal; 0: it was sent without one.
  int value() const;
  // The first signal, 0 if there was none.
  int first() const;

  // `handler` is called at each signal with its number and the count of signals so far, and at once
  // if there were some already; from a thread of this class, never twice at a time, and it must not
  // call back. A signal after the second, or after the first without a handler, ends the process at
  // once. With null, no call is under way any more when this returns.
  using Handler = std::function<void(int signal, int count)>;
  void on_signal(Handler handler);

 private:
  void watch(bool output);
  void received(int signal, int value);

  const sigset_t ending_;
  int signals_ = -1, stop_ = -1;  // descriptors
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  int first_ = 0, value_ = 0, count_ = 0;
  Handler handler_;
  WorkerPool watcher_{"signals", 1};
};

// "SIGINT": for messages.
const char* signal_name(int signal);

}  // namespace hekla::cli
