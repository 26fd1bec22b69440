// Where work runs. A component is a single-threaded loop that owns its state; everything that
// reaches it is a task posted to its Executor. Production: a thread per loop (Loop). Simulation:
// one seeded queue steps every component in a single thread.
#pragma once

#include <chrono>
#include <functional>

#include "base/clock.h"

namespace hekla {

using Task = std::move_only_function<void()>;

// post and post_after may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` on the loop, in posting order. False when the mailbox is full or the loop has
  // ended: the caller keeps the work and retries (watchers pull again, clients answer 429).
  [[nodiscard]] virtual bool try_post(Task& task) = 0;

  // For completions of work the loop itself asked for: such slots are reserved, so this never fails
  // while the loop lives, and drops the task once it has ended.
  virtual void post(Task task) = 0;

  // Runs `task` once, not before `delay` has passed. A loop that ends drops its timers. There is no
  // cancel: a timer task checks whether it is still wanted.
  virtual void post_after(Nanos delay, Task task) = 0;

  virtual const Clock& clock() const = 0;
};

}  // namespace hekla
