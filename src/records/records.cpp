#include "records/records.h"

#include <vector>

#include "base/log.h"

namespace hekla::records {
namespace {

// Jobs of one transaction: a bound on how long the first one waits for the last.
constexpr std::size_t kGroupMax = 256;
// Jobs that wait; further ones are refused.
constexpr std::size_t kWaitingMax = 65536;

}  // namespace

struct Records::State : std::enable_shared_from_this<Records::State> {
  struct Waiting {
    Job job;
    Executor* executor;
    Done<void> done;
  };
  explicit State(Executor& on) : loop(on) {}

  void drain();
  std::vector<Result<void>> run_group(std::vector<Waiting>& group);
  static Result<void> run_one(Database& database, Job& job);

  Executor& loop;
  std::unique_ptr<Database> database;
  std::mutex mutex;
  std::deque<Waiting> waiting;
  bool scheduled = false;
};

Result<std::unique_ptr<Records>> Records::open(const std::string& path,
                                               std::span<const Migration> migrations,
                                               Executor& loop) {
  auto state = std::make_shared<State>(loop);
  state->database = TRY(Database::open(path));
  TRY(state->database->migrate(migrations));
  return std::make_unique<Records>(Private{}, std::move(state));
}

Records::Records(Private, std::shared_ptr<State> state) : state_(std::move(state)) {}
Records::~Records() = default;

void Records::submit(Job job, Executor& executor, Done<void> done) {
  bool begin = false, refused = false;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->waiting.size() < kWaitingMax) {
      state_->waiting.push_back({std::move(job), &executor, std::move(done)});
      begin = !std::exchange(state_->scheduled, true);
    } else {
      refused = true;
    }
  }
  if (begin) state_->loop.post([state = state_] { state->drain(); });
  if (!refused) return;
  executor.post([done = std::move(done)]() mutable {
    done(fail(Code::too_many_requests, "records: too many requests are waiting"));
  });
}

void Records::State::drain() {
  std::vector<Waiting> group;
  {
    std::lock_guard lock(mutex);
    while (!waiting.empty() && group.size() < kGroupMax) {
      group.push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    scheduled = !waiting.empty();
    if (scheduled) loop.post([state = shared_from_this()] { state->drain(); });
  }
  std::vector<Result<void>> results = run_group(group);
  for (std::size_t i = 0; i < group.size(); ++i)
    group[i].executor->post(
        [done = std::move(group[i].done), result = std::move(results[i])]() mutable {
          done(std::move(result));
        });
}

std::vector<Result<void>> Records::State::run_group(std::vector<Waiting>& group) {
  std::vector<Result<void>> results(group.size());
  const auto all_failed = [&](const Error& error) {
    for (Result<void>& result : results)
      if (result) result = std::unexpected(error);
  };
  if (Result<void> begun = database->execute("BEGIN"); !begun) {
    all_failed(begun.error());
    return results;
  }
  for (std::size_t i = 0; i < group.size(); ++i) results[i] = run_one(*database, group[i].job);
  if (Result<void> ended = database->execute("COMMIT"); !ended) {
    log_error("records", "a commit failed", {{"error", ended.error().message}});
    (void)database->execute("ROLLBACK");
    all_failed(ended.error());
  }
  return results;
}

Result<void> Records::State::run_one(Database& database, Job& job) {
  TRY(database.execute("SAVEPOINT job"));
  Result<void> result = job(database);
  if (!result) (void)database.execute("ROLLBACK TO job");
  TRY(database.execute("RELEASE job"));
  return result;
}

}  // namespace hekla::records
