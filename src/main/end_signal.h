// SIGTERM, SIGINT and SIGHUP end the process in an orderly way.
#pragma once

#include <signal.h>

namespace hekla {

class EndSignal {
 public:
  // Before any thread is made, so that every thread inherits the mask and only wait() sees them.
  EndSignal();
  // Blocks. Afterwards a second signal ends the process at once.
  void wait();

 private:
  sigset_t ending_;
};

}  // namespace hekla
