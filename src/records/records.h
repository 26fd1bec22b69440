// A database with a loop of its own and group commit: whoever asks at the same time shares one
// transaction and one sync.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/done.h"
#include "base/executor.h"
#include "base/result.h"
#include "records/database.h"

namespace hekla::records {

// Thread-safe. Must be destroyed when its loop has ended, or on it.
class Records {
  struct Private {};
  struct State;

 public:
  using Job = std::move_only_function<Result<void>(Database&)>;

  // Opens and migrates; blocks. `loop` is used by nobody else and may block.
  static Result<std::unique_ptr<Records>> open(const std::string& path,
                                               std::span<const Migration> migrations,
                                               Executor& loop);
  Records(Private, std::shared_ptr<State> state);
  ~Records();

  // Runs `job` on the loop. Its writes are durable when `done` is called, on `executor`; if the job
  // or the commit fails, nothing of it has happened and `done` gets the error. Jobs run in the
  // order in which they were given.
  void submit(Job job, Executor& executor, Done<void> done);
  // The same with a value.
  template <class T>
  void ask(std::move_only_function<Result<T>(Database&)> job, Executor& executor, Done<T> done) {
    auto answer = std::make_shared<std::unique_ptr<T>>();
    submit(
        [job = std::move(job), answer](Database& database) mutable -> Result<void> {
          *answer = std::make_unique<T>(TRY(job(database)));
          return {};
        },
        executor,
        [answer, done = std::move(done)](Result<void> ended) mutable {
          if (!ended) return done(std::unexpected(std::move(ended).error()));
          done(std::move(**answer));
        });
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hekla::records
