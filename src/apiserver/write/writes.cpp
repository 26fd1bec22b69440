#include "apiserver/write/writes.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>

#include "apiserver/crd/crds.h"
#include "apiserver/gates/webhooks.h"
#include "apiserver/object/storage.h"
#include "apiserver/object/write_scope.h"
#include "apiserver/text/errors.h"
#include "apiserver/write/binding.h"
#include "apiserver/write/connection.h"
#include "apiserver/write/coupled_writes.h"
#include "apiserver/write/create.h"
#include "apiserver/write/eviction.h"
#include "apiserver/write/patch.h"
#include "apiserver/write/remove.h"
#include "apiserver/write/scale.h"
#include "apiserver/write/stages/find.h"
#include "apiserver/write/stages/put.h"
#include "apiserver/write/template_batch.h"
#include "apiserver/write/update.h"
#include "base/check.h"

namespace hekla::apiserver {

namespace {
constexpr int kMaxNameAttempts = 8;
// Each lost race is somebody's success: of an object that controllers write at every commit, or of
// a quota that everyone writes who creates something in its namespace. As with upstream, who names
// no version does not hear of it.
constexpr int kMaxAttempts = 1000;
constexpr std::size_t kMaxWebhookAnswers = 256;
// A collection may be larger than what the store takes at once.
constexpr std::size_t kBytesPerCommit = std::size_t{8} << 20;

Result<PreparedWrite> prepare_write(WriteScope& scope) {
  if (scope.request.connects) return prepare_connect(scope);
  switch (scope.request.verb) {
    case WriteRequest::Verb::create:
      return prepare_create(scope, take_body(scope));
    case WriteRequest::Verb::update:
      return writes_view(scope) ? prepare_scale(scope) : prepare_update(scope);
    case WriteRequest::Verb::patch:
      return writes_view(scope) ? prepare_scale(scope) : prepare_patch(scope);
    case WriteRequest::Verb::remove:
      return prepare_remove(scope);
    case WriteRequest::Verb::bind:
      return prepare_binding(scope);
    case WriteRequest::Verb::evict:
      return prepare_eviction(scope);
  }
  return fail(Code::internal, "unknown verb");
}

}  // namespace

// One call of run(): lives until its outcomes are delivered.
class Writes::Run : public std::enable_shared_from_this<Writes::Run> {
 public:
  Run(Writes& writes, std::vector<WriteRequest> requests, Executor& continuation, Done done)
      : writes_(writes),
        requests_(std::move(requests)),
        continuation_(continuation),
        done_(std::move(done)),
        outcomes_(requests_.size()),
        attempts_(requests_.size(), 0),
        memos_(requests_.size()) {
    for (std::size_t i = 0; i < requests_.size(); ++i) queue_.push_back(i);
  }

  // Prepares as many as may share a commit, and commits them.
  void round() {
    const store::Snapshot snapshot = writes_.store_.snapshot();
    const CatalogPtr catalog = writes_.registry_.catalog();
    store::Batch batch;
    std::size_t batch_bytes = 0;
    std::set<std::pair<store::BucketId, std::string>> touched;
    staged_.clear();
    template_batch_.forget();
    batch.writes.reserve(queue_.size());
    pending_.reserve(queue_.size());
    while (!queue_.empty()) {
      std::size_t index = queue_.front();
      if ((alone_ || batch_bytes > kBytesPerCommit) && !batch.writes.empty()) break;
      Result<PreparedWrite> prepared = prepare(index, snapshot, *catalog);
      const bool first = batch.writes.empty();
      if (!prepared) {
        if (!first) break;  // may be right once the writes before it are in
        if (ask_webhooks(index)) return;
        settle(index, std::move(prepared).error());
      } else if (!prepared->commit) {
        if (!first && reads_touched(index, touched)) break;
        outcomes_[index] = std::move(prepared->outcome);
      } else {
        auto key = std::pair(prepared->write.bucket, prepared->write.key);
        if (touched.contains(key) || staged_.contains(key) || touches(touched, prepared->coupled))
          break;
        touched.insert(std::move(key));
        for (auto& [coupled_key, one] : prepared->coupled)
          staged_.insert_or_assign(coupled_key, std::move(one));
        store::AttachmentPtr header = prepared->write.attachment;
        CHECK(header, "what is committed has a header");
        batch_bytes += prepared->write.value.size();
        batch.writes.push_back(std::move(prepared->write));
        pending_.push_back({index, std::move(*prepared), std::move(header)});
      }
      queue_.pop_front();
    }
    if (batch.writes.empty()) return finish();
    batch.all_or_nothing = !staged_.empty();
    for (auto& [key, one] : staged_) batch.writes.push_back(encode_coupled_write(std::move(one)));
    commit(std::move(batch));
  }

 private:
  bool reads_touched(std::size_t index,
                     const std::set<std::pair<store::BucketId, std::string>>& touched) const {
    const WriteRequest& request = requests_[index];
    return touched.contains(
        {request.served->bucket, storage_key(*request.served->kind, request.key)});
  }

  static bool touches(const std::set<std::pair<store::BucketId, std::string>>& touched,
                      const CoupledWrites& coupled) {
    return std::any_of(coupled.begin(), coupled.end(),
                       [&](const auto& one) { return touched.contains(one.first); });
  }

  Result<PreparedWrite> prepare(std::size_t index, const store::Snapshot& snapshot,
                                const Catalog& catalog) {
    if (!memos_[index]) memos_[index] = std::make_unique<WebhookMemo>(*writes_.services_.rng);
    WebhookMemo& memo = *memos_[index];
    memo.wanted.clear();
    memo.audit_annotations.clear();
    memo.draws.rewind();
    if (!memo.now) memo.now = writes_.services_.clock->wall();
    std::array<unsigned char, 24 * 1024> buffer;
    json::Arena arena(buffer.data(), buffer.size());
    WriteRequest& request = requests_[index];
    // Only once: what is made in an arena stays there, and there may be a thousand attempts.
    const bool first = !std::exchange(memo.attempted, true);
    json::Arena& memory = request.memory && first ? *request.memory : arena;
    WriteScope scope{request,    request.body, snapshot, catalog, writes_.services_,
                     memo.draws, *memo.now,    {},       &memo,   &staged_,
                     {},         &memory};
    if (std::optional<PreparedWrite> member = template_batch_.make(scope))
      return std::move(*member);
    Result<PreparedWrite> prepared = prepare_write(scope);
    if (prepared && queue_.size() > 1) template_batch_.learn(scope, *prepared);
    if (!prepared) outcomes_[index].warnings = std::move(scope.warnings);
    return prepared;
  }

  // True when the request waits for answers; it is prepared again when all are in.
  bool ask_webhooks(std::size_t index) {
    WebhookMemo& memo = *memos_[index];
    if (memo.wanted.empty() || memo.answers.size() >= kMaxWebhookAnswers) return false;
    std::vector<WebhookCall> calls = std::exchange(memo.wanted, {});
    unanswered_ = calls.size();
    for (WebhookCall& call : calls) {
      auto self = shared_from_this();
      WebhookCall kept = call;
      auto done = [self, index, kept = std::move(kept)](Result<net::Response> response) mutable {
        self->continuation_.post(
            [self, index, call = std::move(kept), response = std::move(response)]() mutable {
              self->memos_[index]->answers.emplace(call.key, call.read(call, std::move(response)));
              if (--self->unanswered_ == 0) self->round();
            });
      };
      writes_.services_.webhooks->send(std::move(call), std::move(done));
    }
    return true;
  }

  void commit(store::Batch batch) {
    auto self = shared_from_this();
    bool taken = writes_.store_.commit(std::move(batch), [self](store::CommitResults results) {
      self->continuation_.post([self, results = std::move(results)]() mutable {
        self->committed(std::move(results));
        self->round();
      });
    });
    if (taken) return;
    for (Pending& one : pending_) settle(one.index, too_busy_error());
    for (std::size_t index : queue_) settle(index, too_busy_error());
    pending_.clear();
    queue_.clear();
    finish();
  }

  void committed(store::CommitResults results) {
    CHECK(results.size() == pending_.size() + staged_.size(), "one result per write");
    std::deque<std::size_t> again;
    if (!staged_.empty() && pending_.size() > 1 && !results.front()) {
      // One of several failed all; from now on each stands for itself.
      alone_ = true;
      for (const Pending& one : pending_) again.push_back(one.index);
      pending_.clear();
      queue_.insert(queue_.begin(), again.begin(), again.end());
      return;
    }
    bool crds_changed = false;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      auto& [index, prepared, header] = pending_[i];
      const WriteRequest& request = requests_[index];
      if (results[i]) {
        prepared.outcome.item = std::move(*results[i]);
        outcomes_[index] = std::move(prepared.outcome);
        crds_changed |= request.served->kind->traits.brings_kinds;
      } else if (may_retry(index, prepared, results[i].error().code)) {
        again.push_back(index);
      } else {
        const std::string& name = static_cast<const ObjectHeader&>(*header).name;
        settle(index, explain(request, prepared, name, results[i].error()));
      }
    }
    pending_.clear();
    queue_.insert(queue_.begin(), again.begin(), again.end());
    if (crds_changed && writes_.crds_) writes_.crds_->refresh();
  }

  bool may_retry(std::size_t index, const PreparedWrite& prepared, Code code) {
    ++attempts_[index];
    memos_[index]->start_anew();
    if (code == Code::already_exists)
      return prepared.retry_on_exists && attempts_[index] < kMaxNameAttempts;
    if (code != Code::conflict && code != Code::not_found) return false;
    // Preparing it again finds out whether the object itself or what it is charged to has changed.
    if (prepared.guarded && !renew_kind(index)) return false;
    const bool others = prepared.guarded || !staged_.empty();
    return (others || prepared.retry_on_conflict) && attempts_[index] < kMaxAttempts;
  }

  // The CRD may have changed since the request was read, and its kinds not be in the catalog yet.
  // False when the kind is no longer served.
  bool renew_kind(std::size_t index) {
    const Kind& kind = *requests_[index].served->kind;
    if (!kind.custom || !writes_.crds_) return true;
    writes_.crds_->refresh();
    ServedPtr renewed = writes_.registry_.catalog()->find(kind.resource);
    if (!renewed) return false;
    requests_[index].served = std::move(renewed);
    return true;
  }

  static Error explain(const WriteRequest& request, const PreparedWrite& prepared,
                       const std::string& name, Error error) {
    const kube::Resource& resource = request.served->kind->resource;
    switch (error.code) {
      case Code::already_exists: {
        Error exists = already_exists_error(resource, name);
        if (prepared.retry_on_exists)
          exists.message += ", the server was not able to generate a unique name for the object";
        return exists;
      }
      case Code::conflict:
        return modified_error(resource, name);
      case Code::not_found:
        return prepared.guarded ? no_such_resource_error() : not_found_error(resource, name);
      default:
        return error;
    }
  }

  void settle(std::size_t index, Error error) { outcomes_[index].error = std::move(error); }

  void finish() {
    CHECK(queue_.empty() && pending_.empty(), "every request has been answered");
    for (std::size_t i = 0; i < outcomes_.size(); ++i)
      if (memos_[i]) outcomes_[i].audit_annotations = std::move(memos_[i]->audit_annotations);
    done_(std::move(outcomes_));
  }

  // Written and not yet confirmed. The header outlives the write that went to the store.
  struct Pending {
    std::size_t index;
    PreparedWrite prepared;
    store::AttachmentPtr header;
  };

  Writes& writes_;
  std::vector<WriteRequest> requests_;
  Executor& continuation_;
  Done done_;
  std::vector<WriteOutcome> outcomes_;
  std::vector<int> attempts_;
  std::vector<std::unique_ptr<WebhookMemo>> memos_;
  std::size_t unanswered_ = 0;
  std::deque<std::size_t> queue_;
  std::vector<Pending> pending_;
  TemplateBatch template_batch_;
  CoupledWrites staged_;  // of the commit that is being put together or under way
  bool alone_ = false;    // one request per commit
};

void Writes::run(std::vector<WriteRequest> requests, Executor& continuation, Done done) {
  CHECK(done, "somebody waits for the outcomes");
  for (const WriteRequest& request : requests)
    CHECK(request.served && request.served->kind, "a write is of a served kind");
  std::make_shared<Run>(*this, std::move(requests), continuation, std::move(done))->round();
}

}  // namespace hekla::apiserver
