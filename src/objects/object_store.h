// The object store: a catalogue in one SQLite file and content files, below one directory. What is
// answered is on the disk. S3 over HTTP is one face of it (s3.h); pipelines use it directly.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/loop.h"
#include "base/rng.h"
#include "objects/keeping/catalog.h"
#include "objects/keeping/content.h"
#include "objects/wire/s3_error.h"
#include "records/records.h"

namespace hekla::objects {

// Thread-safe. Answers come on the catalogue's own thread and must not block it.
class ObjectStore {
  struct Private {};

 public:
  // Blocks. `root` is made when it is missing; one process at a time.
  static Result<std::unique_ptr<ObjectStore>> open(const std::string& root, const Clock& clock,
                                                   Rng& rng);
  explicit ObjectStore(Private) {}
  ~ObjectStore();

  // Runs `job` with the catalogue; jobs run one after the other. A refusal writes nothing.
  template <class T>
  void ask(std::move_only_function<Result<Outcome<T>>(Catalog&)> job,
           std::move_only_function<void(Outcome<T>)> done) {
    records_->ask<Outcome<T>>(
        [this, job = std::move(job)](records::Database& database) mutable {
          Catalog catalog(database, *content_);
          return job(catalog);
        },
        inline_,
        [done = std::move(done)](Result<Outcome<T>> answer) mutable {
          if (!answer) return done(std::unexpected(from_internal(answer.error())));
          done(std::move(*answer));
        });
  }

  // Removes content that nobody refers to any more, soon.
  void sweep();

  const Content& content() const { return *content_; }
  const Clock& clock() const { return *clock_; }
  Rng& rng() const { return *rng_; }
  // Threads for what blocks; false: too much waits already.
  bool in_background(Task& task) { return workers_->try_post(task); }

 private:
  // Answers run where they are made.
  class Inline final : public Executor {
   public:
    bool try_post(Task& task) override {
      task();
      return true;
    }
    void post(Task task) override { task(); }
    void post_after(Nanos, Task) override;
    const Clock& clock() const override { return real_clock(); }
  };

  Inline inline_;
  const Clock* clock_ = nullptr;
  Rng* rng_ = nullptr;
  std::unique_ptr<Content> content_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<records::Records> records_;
  std::unique_ptr<WorkerPool> workers_;
  std::atomic<bool> sweeping_ = false;
};

}  // namespace hekla::objects
