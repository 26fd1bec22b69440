#include "main/end_signal.h"

#include "base/log.h"

namespace hekla {

EndSignal::EndSignal() {
  sigemptyset(&ending_);
  for (int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ending_, one);
  pthread_sigmask(SIG_BLOCK, &ending_, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void EndSignal::wait() {
  int received = 0;
  sigwait(&ending_, &received);
  log_info("main", "stopping",
           {{"signal", received == SIGTERM  ? "SIGTERM"
                       : received == SIGINT ? "SIGINT"
                                            : "SIGHUP"}});
  pthread_sigmask(SIG_UNBLOCK, &ending_, nullptr);
}

}  // namespace hekla
