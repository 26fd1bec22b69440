// The committer: it alone changes the state. Everything else here hands work to it or reads what it
// has published.
#include "store/store.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "store/apply.h"
#include "store/backup.h"
#include "store/cancellation_guard.h"
#include "store/commit_queue.h"
#include "store/history.h"
#include "store/log.h"
#include "store/recovery.h"
#include "store/restoration.h"
#include "store/snapshot_file.h"
#include "store/subscriptions.h"
#include "store/tree.h"

namespace hekla::store {
namespace {

using VersionPtr = std::shared_ptr<const Snapshot::Version>;
using CompactDone = std::function<void(Result<void>)>;

constexpr Stamp kFirstStamp = 2;  // recovery builds its trees under 1

std::size_t batch_bytes(const Batch& batch) {
  std::size_t bytes = 0;
  for (const Write& write : batch.writes)
    bytes += kRecordHeaderBytes + write.key.size() + write.value.size();
  return bytes;
}

class BucketNames {
 public:
  explicit BucketNames(std::vector<std::string> names) {
    for (std::string& name : names) id_of(name);
  }

  BucketId id_of(std::string_view name) {
    CHECK(!name.empty() && name.size() <= 0xffff, "a bucket's name is too long for the log");
    std::lock_guard lock(mutex_);
    auto found = ids_.find(name);
    if (found == ids_.end()) {
      found = ids_.emplace(name, static_cast<BucketId>(names_.size())).first;
      names_.push_back(&found->first);
    }
    return found->second;
  }

  // By id. The strings live as long as this object.
  std::vector<const std::string*> all() const {
    std::lock_guard lock(mutex_);
    return names_;
  }
  std::size_t count() const {
    std::lock_guard lock(mutex_);
    return names_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, BucketId, std::less<>> ids_;
  std::vector<const std::string*> names_;
};

class StoreImpl final : public Store, public BackupSource {
 public:
  StoreImpl(Options options, Disk& disk, Executor& committer, Executor& background,
            Attacher attacher, Metrics* metrics, Log log, Recovered recovered);
  ~StoreImpl() override;

  BucketId bucket(std::string_view name) override { return names_.id_of(name); }
  Snapshot snapshot() const override;
  bool commit(Batch batch, CommitDone done) override;
  bool takes_writes() const override { return takes_writes_; }
  Result<std::vector<Change>> changes_after(BucketId bucket, Revision after,
                                            std::size_t limit) const override;
  Revision oldest_history() const override;
  std::unique_ptr<Subscription> subscribe(BucketId bucket, std::function<void()> notify) override;
  std::unique_ptr<Backup> backup() const override;
  Result<Batch> restoration(const std::string& backup) override;
  void compact(CompactDone done) override;

 private:
  void attach_replayed(BucketId bucket, std::vector<Change>& changes) const;
  // On the committer.
  void drain();
  Result<void> run_group(std::vector<PendingCommit>& group, std::vector<CommitResults>& results);
  void publish(GroupApplication& application);
  Result<void> ensure_log();
  SnapshotEncoder encode(VersionPtr version, std::uint64_t sequence) const;
  void begin_snapshot_if_due();
  void begin_snapshot();
  void snapshot_ended(std::uint64_t sequence, const Result<void>& result);
  void remove_older_than(std::uint64_t sequence);
  void answer_waiters(std::vector<CompactDone> waiters, const Result<void>& result);
  std::uint64_t log_bytes() const { return closed_bytes_ + log_.segment_bytes(); }
  void report(MonoTime begun, std::size_t writes);
  // In the background.
  void write_snapshot_piece(std::shared_ptr<SnapshotWriter> writer, std::uint64_t sequence);

  const Options options_;
  Disk& disk_;
  Executor& committer_;
  Executor& background_;
  const Attacher attacher_;
  Metrics* const metrics_;
  BucketNames names_;
  Subscriptions subscriptions_;

  // Published. The version changes only under both mutexes, so that whoever has seen a revision
  // finds its changes in the history, and the other way round.
  mutable std::mutex history_mutex_;
  mutable std::mutex version_mutex_;
  VersionPtr version_;
  History history_;
  const Revision recovered_;  // older changes come from the log
  std::atomic<bool> takes_writes_ = true;

  // The committer's own.
  Log log_;
  std::uint64_t closed_bytes_;  // of the segments between newest snapshot and current segment
  Stamp stamp_ = kFirstStamp;
  GroupBuilder records_;
  std::vector<const std::string*> known_names_;
  Error log_failure_;            // why the log is not usable
  bool fresh_snapshot_ = false;  // after an abandoned segment: the new one may be begun
  bool snapshot_running_ = false;
  std::uint64_t next_snapshot_bytes_ = 0;  // after a failure: not before the log has grown to this
  std::vector<CompactDone> waiters_, next_waiters_;

  CommitQueue queue_;
  CancellationGuard committer_guard_,
      background_guard_;  // last: cancelled before anything else goes
};

StoreImpl::StoreImpl(Options options, Disk& disk, Executor& committer, Executor& background,
                     Attacher attacher, Metrics* metrics, Log log, Recovered recovered)
    : options_(options),
      disk_(disk),
      committer_(committer),
      background_(background),
      attacher_(std::move(attacher)),
      metrics_(metrics),
      names_(std::move(recovered.bucket_names)),
      version_(std::make_shared<const Snapshot::Version>(std::move(recovered.version))),
      history_(std::move(recovered.history)),
      recovered_(version_->revision),
      log_(std::move(log)),
      closed_bytes_(recovered.closed_bytes),
      queue_({options.pending_commits, options.pending_bytes}, committer,
             [this] { return committer_guard_.wrap([this] { drain(); }); }) {
  CHECK(log_.usable(), "recovery leaves a segment to append to");
  CHECK(version_->buckets.size() <= names_.count(), "every recovered bucket has a name");
  CHECK(history_.oldest() <= version_->revision, "history ends with the newest revision");
  if (!metrics_) return;
  metrics_->describe("hekla_store_commit_seconds", "Time to apply, log and sync one commit group.");
  metrics_->describe("hekla_store_group_writes", "Successful writes per commit group.");
  metrics_->describe("hekla_store_log_bytes", "Size of the log since the newest snapshot.");
  metrics_->describe("hekla_store_revision", "The newest revision.");
  metrics_->gauge("hekla_store_log_bytes", static_cast<double>(log_bytes()));
  metrics_->gauge("hekla_store_revision", static_cast<double>(version_->revision));
}

StoreImpl::~StoreImpl() {
  committer_guard_.cancel();
  background_guard_.cancel();
}

Snapshot StoreImpl::snapshot() const {
  std::lock_guard lock(version_mutex_);
  return Snapshot(version_);
}

bool StoreImpl::commit(Batch batch, CommitDone done) {
  std::size_t bytes = batch_bytes(batch);
  return queue_.push({std::move(batch), std::move(done), bytes});
}

Result<std::vector<Change>> StoreImpl::changes_after(BucketId bucket, Revision after,
                                                     std::size_t limit) const {
  Result<std::vector<Change>> changes = [&] {
    std::lock_guard lock(history_mutex_);
    return history_.after(bucket, after, limit);
  }();
  if (changes && after < recovered_) attach_replayed(bucket, *changes);
  return changes;
}

// A start does not parse what only the log remembers: most of it is never asked for, because
// whoever comes back after it has seen nearly everything.
void StoreImpl::attach_replayed(BucketId bucket, std::vector<Change>& changes) const {
  if (!attacher_) return;
  const std::vector<const std::string*> names = names_.all();
  CHECK(bucket < names.size(), "changes of a bucket that nobody made");
  const std::string& name = *names[bucket];
  auto attach = [&](ItemPtr& item) {
    if (!item || item->attachment) return;
    auto attached = std::make_shared<Item>(*item);
    attached->attachment = attacher_(name, attached->key, attached->value);
    item = std::move(attached);
  };
  for (Change& change : changes) {
    attach(change.item);
    attach(change.previous);
  }
}

Revision StoreImpl::oldest_history() const {
  std::lock_guard lock(history_mutex_);
  return history_.oldest();
}

std::unique_ptr<Store::Subscription> StoreImpl::subscribe(BucketId bucket,
                                                          std::function<void()> notify) {
  CHECK(bucket < names_.count(), "a subscription to a bucket that nobody made");
  return subscriptions_.add(bucket, std::move(notify));
}

SnapshotEncoder StoreImpl::encode(VersionPtr version, std::uint64_t sequence) const {
  std::vector<std::string> names;
  for (const std::string* name : names_.all()) names.push_back(*name);
  return {std::move(version), std::move(names), sequence, make_salt(committer_.clock(), sequence)};
}

std::unique_ptr<BackupSource::Backup> StoreImpl::backup() const {
  struct Pieces final : Backup {
    explicit Pieces(SnapshotEncoder made) : encoder(std::move(made)) {}
    std::string next() override { return encoder.next(); }
    SnapshotEncoder encoder;
  };
  VersionPtr version;
  {
    std::lock_guard lock(version_mutex_);
    version = version_;
  }
  return std::make_unique<Pieces>(encode(std::move(version), 1));
}

Result<Batch> StoreImpl::restoration(const std::string& backup) {
  Recovered wanted = TRY(read_snapshot(backup, "the backup", attacher_));
  std::vector<BucketId> ids;
  for (const std::string& name : wanted.bucket_names) ids.push_back(names_.id_of(name));
  return restoring_writes(wanted, ids, snapshot(), names_.count());
}

void StoreImpl::compact(CompactDone done) {
  committer_.post(committer_guard_.wrap([this, done = std::move(done)]() mutable {
    next_waiters_.push_back(std::move(done));
    if (!snapshot_running_) begin_snapshot();
  }));
}

void StoreImpl::drain() {
  std::vector<PendingCommit> group = queue_.take_group(options_.group_bytes);
  std::vector<CommitResults> results;
  Result<void> durable = run_group(group, results);
  CHECK(results.size() == group.size(), "every batch has its results");
  if (!durable) {
    takes_writes_ = false;
    Error error{Code::unavailable, "cannot commit: " + durable.error().message};
    for (std::size_t i = 0; i < group.size(); ++i)
      results[i].assign(results[i].size(), std::unexpected(error));
  }
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i].done) group[i].done(std::move(results[i]));
  begin_snapshot_if_due();
  queue_.finish_group();
}

// Fills `results` to the right sizes in any case.
Result<void> StoreImpl::run_group(std::vector<PendingCommit>& group,
                                  std::vector<CommitResults>& results) {
  MonoTime begun = committer_.clock().mono();
  if (known_names_.size() < names_.count()) known_names_ = names_.all();
  GroupApplication application(*version_, ++stamp_, known_names_, records_);
  for (PendingCommit& commit : group) {
    if (commit.bytes > options_.batch_bytes) {
      Error error{Code::too_large, "a batch of " + std::to_string(commit.bytes) +
                                       " bytes exceeds the limit of " +
                                       std::to_string(options_.batch_bytes)};
      results.emplace_back(commit.batch.writes.size(), std::unexpected(error));
      continue;
    }
    results.push_back(application.apply(std::move(commit.batch)));
  }
  std::size_t writes = application.changes().size();
  if (writes == 0) return {};
  TRY(ensure_log());
  if (Result<void> logged = log_.append(records_, version_->revision + 1); !logged) {
    if (!log_.usable()) {
      log_failure_ = logged.error();
      begin_snapshot();
    }
    return logged;
  }
  takes_writes_ = true;
  publish(application);
  subscriptions_.notify(application.touched());
  report(begun, writes);
  return {};
}

void StoreImpl::publish(GroupApplication& application) {
  auto next = std::make_shared<const Snapshot::Version>(application.take_version());
  CHECK(next->revision == version_->revision + application.changes().size(),
        "revisions go up by one per write");
  std::vector<Change> dropped;
  VersionPtr previous;
  std::lock_guard history_lock(history_mutex_);
  {
    std::lock_guard version_lock(version_mutex_);
    previous = std::exchange(version_, std::move(next));
  }
  dropped = history_.append(application.changes());
}

void StoreImpl::report(MonoTime begun, std::size_t writes) {
  if (!metrics_) return;
  static const std::vector<double> kSeconds{0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                            0.02,   0.05,   0.1,    0.2,   0.5,   1,     5};
  static const std::vector<double> kWrites{1,   2,   5,    10,   20,   50,   100,
                                           200, 500, 1000, 2000, 5000, 10000};
  std::chrono::duration<double> seconds = committer_.clock().mono() - begun;
  metrics_->observe("hekla_store_commit_seconds", seconds.count(), {}, kSeconds);
  metrics_->observe("hekla_store_group_writes", static_cast<double>(writes), {}, kWrites);
  metrics_->gauge("hekla_store_log_bytes", static_cast<double>(log_bytes()));
  metrics_->gauge("hekla_store_revision", static_cast<double>(version_->revision));
}

// After an abandoned segment: writes are accepted again once a fresh snapshot is durable and the
// next segment has begun. Each commit that comes in meanwhile moves that along and fails.
Result<void> StoreImpl::ensure_log() {
  if (log_.usable()) return {};
  if (fresh_snapshot_) {
    CHECK(!snapshot_running_, "the fresh snapshot is whole");
    TRY(log_.begin_segment(log_.sequence() + 1, version_->revision));
    fresh_snapshot_ = false;
    closed_bytes_ = 0;
    remove_older_than(log_.sequence());
    log_info("store", "the log goes on in a new segment");
    return {};
  }
  if (!snapshot_running_) begin_snapshot();
  return fail(Code::unavailable,
              log_failure_.message + "; a fresh snapshot is being written first");
}

void StoreImpl::begin_snapshot_if_due() {
  if (snapshot_running_ || !log_.usable()) return;
  std::uint64_t due =
      std::max({options_.log_bytes_before_snapshot, version_->live_bytes, next_snapshot_bytes_});
  if (log_bytes() > due) begin_snapshot();
}

void StoreImpl::begin_snapshot() {
  if (snapshot_running_) return;
  waiters_ = std::exchange(next_waiters_, {});
  std::uint64_t sequence = log_.sequence() + 1;
  if (log_.usable()) {
    std::uint64_t closing_bytes = log_.segment_bytes();
    if (Result<void> begun = log_.begin_segment(sequence, version_->revision); !begun) {
      if (!log_.usable()) log_failure_ = begun.error();
      return snapshot_ended(sequence, begun);
    }
    closed_bytes_ += closing_bytes;
  }
  snapshot_running_ = true;
  fresh_snapshot_ = false;
  auto writer = std::make_shared<SnapshotWriter>(disk_, encode(version_, sequence));
  background_.post(
      background_guard_.wrap([this, writer, sequence] { write_snapshot_piece(writer, sequence); }));
}

void StoreImpl::write_snapshot_piece(std::shared_ptr<SnapshotWriter> writer,
                                     std::uint64_t sequence) {
  Result<bool> finished = writer->step();
  if (finished && !*finished) {
    background_.post(background_guard_.wrap([this, writer = std::move(writer), sequence]() mutable {
      write_snapshot_piece(std::move(writer), sequence);
    }));
    return;
  }
  Result<void> result;
  if (!finished) result = std::unexpected(finished.error());
  committer_.post(committer_guard_.wrap([this, sequence, result = std::move(result)] {
    CHECK(snapshot_running_, "one snapshot at a time");
    snapshot_running_ = false;
    snapshot_ended(sequence, result);
  }));
}

void StoreImpl::snapshot_ended(std::uint64_t sequence, const Result<void>& result) {
  bool repaired = !log_.usable() && sequence == log_.sequence() + 1;
  if (!result) {
    log_error("store", "cannot write a snapshot", {{"error", result.error().message}});
    // Not again at once: a full disk stays full for a while.
    next_snapshot_bytes_ = log_bytes() + options_.log_bytes_before_snapshot / 4;
  } else {
    next_snapshot_bytes_ = 0;
    if (log_.usable()) closed_bytes_ = 0;
    fresh_snapshot_ = repaired;
    if (repaired) {
      if (Result<void> ready = ensure_log(); !ready)
        log_error("store", "cannot begin a log segment", {{"error", ready.error().message}});
    } else {
      remove_older_than(sequence);
    }
  }
  answer_waiters(std::exchange(waiters_, {}), result);
  bool segment_lost_meanwhile = !log_.usable() && !repaired && result.has_value();
  if (!next_waiters_.empty() || segment_lost_meanwhile) begin_snapshot();
}

// The log's files before snapshot and segment `sequence`. Both must be there: a snapshot whose
// segment is missing, with no older one beside it, is how recovery knows that commits were lost.
void StoreImpl::remove_older_than(std::uint64_t sequence) {
  background_.post(
      background_guard_.wrap([this, sequence] { remove_superseded(disk_, sequence); }));
}

void StoreImpl::answer_waiters(std::vector<CompactDone> waiters, const Result<void>& result) {
  for (CompactDone& done : waiters)
    if (done) background_.post([done = std::move(done), result] { done(result); });
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(Options options, Disk& disk, Executor& committer,
                                           Executor& background, Attacher attacher,
                                           Metrics* metrics) {
  CHECK(options.group_bytes > 0 && options.batch_bytes > 0 && options.pending_commits > 0,
        "a limit that lets nothing through");
  Log log(disk, committer.clock(), options.write_ahead_bytes);
  Recovered recovered = TRY(recover(
      disk, log, attacher, {options.history_changes, options.history_bytes}, options.was_in_use));
  return std::make_unique<StoreImpl>(options, disk, committer, background, std::move(attacher),
                                     metrics, std::move(log), std::move(recovered));
}

// There is no other implementation.
BackupSource& backup_source(Store& store) { return static_cast<StoreImpl&>(store); }

Revision Snapshot::revision() const { return version_->revision; }

ItemPtr Snapshot::get(BucketId bucket, std::string_view key) const {
  const Tree* tree = version_->tree(bucket);
  return tree ? tree->get(key) : nullptr;
}

void Snapshot::scan(BucketId bucket, std::string_view prefix, std::string_view from,
                    const std::function<bool(const ItemPtr&)>& visit) const {
  const Tree* tree = version_->tree(bucket);
  if (!tree) return;
  tree->scan(std::max(prefix, from), [&](const ItemPtr& item) {
    return std::string_view(item->key).starts_with(prefix) && visit(item);
  });
}

std::size_t Snapshot::count(BucketId bucket) const {
  const Tree* tree = version_->tree(bucket);
  return tree ? tree->size() : 0;
}

}  // namespace hekla::store
