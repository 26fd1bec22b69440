#include "apiserver/server/backup.h"

#include "apiserver/crd/crds.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/status_error.h"
#include "store/backup.h"

namespace hekla::apiserver {

namespace {

constexpr std::string_view kBackupPath = "/hekla/backup", kRestorePath = "/hekla/restore";
constexpr std::size_t kMaxRestoreBytes = std::size_t{1} << 30;
constexpr std::size_t kPendingBytes = std::size_t{4} << 20;  // sent and not yet taken by the client

// Feeds a client from a backup as fast as it reads. Lives as long as the connection's callbacks.
class BackupStream : public std::enable_shared_from_this<BackupStream> {
 public:
  BackupStream(ExchangePtr exchange, std::unique_ptr<store::BackupSource::Backup> backup)
      : exchange_(std::move(exchange)), backup_(std::move(backup)) {}

  void begin() {
    Executor& loop = *exchange_->serving.loop;
    exchange_->writer->on_drained(
        [self = shared_from_this(), &loop] { loop.post([self] { self->pump(); }); });
    net::Headers headers;
    headers.set("Content-Type", "application/octet-stream");
    exchange_->add_headers(headers);
    exchange_->count(200);
    exchange_->writer->begin(200, std::move(headers));
    loop.post([self = shared_from_this()] { self->pump(); });
  }

 private:
  void pump() {
    while (backup_ && !exchange_->writer->is_closed() &&
           exchange_->writer->pending_bytes() < kPendingBytes) {
      std::string piece = backup_->next();
      if (!piece.empty()) {
        exchange_->writer->write(std::move(piece));
        continue;
      }
      backup_ = nullptr;
      exchange_->writer->end();
      exchange_->writer->on_drained({});
    }
  }

  ExchangePtr exchange_;
  std::unique_ptr<store::BackupSource::Backup> backup_;
};

Error unknown_restore(const std::string& id) {
  return {Code::not_found,
          "no restore " + id + " is under way: it was finished, or another one was begun"};
}

}  // namespace

bool Backups::serve(const ExchangePtr& exchange) {
  const std::string& path = exchange->info.path;
  const std::string& method = exchange->request.method;
  if (path == kBackupPath && method == "GET") {
    std::make_shared<BackupStream>(exchange, store::backup_source(store_).backup())->begin();
    return true;
  }
  if (!path.starts_with(kRestorePath) || method != "POST") return false;
  const std::string_view rest = std::string_view(path).substr(kRestorePath.size());
  if (!rest.empty() && rest.front() != '/') return false;
  serve_restore(exchange, rest);
  return true;
}

void Backups::serve_restore(const ExchangePtr& exchange, std::string_view path) {
  if (path.empty()) {
    std::lock_guard lock(mutex_);
    id_ = uuid(*exchange->serving.rng);
    bytes_ = {};
    return exchange->respond(json_response(201, json::Object{{"id", id_}}, false));
  }
  path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  const std::string id(path.substr(0, slash));
  if (slash == std::string_view::npos) {
    if (Result<void> taken = take(id, exchange->request.body); !taken)
      return exchange->respond(taken.error());
    return exchange->respond(json_response(200, json::Object{{"id", id}}, false));
  }
  if (path.substr(slash) == "/finish") return finish(exchange, id);
  exchange->respond(no_such_resource_error());
}

Result<void> Backups::take(const std::string& id, std::string_view bytes) {
  std::lock_guard lock(mutex_);
  if (id != id_) return std::unexpected(unknown_restore(id));
  if (bytes_.size() + bytes.size() > kMaxRestoreBytes)
    return fail(Code::too_large, "a backup of more than " + std::to_string(kMaxRestoreBytes) +
                                     " bytes cannot be restored online");
  bytes_ += bytes;
  return {};
}

void Backups::finish(const ExchangePtr& exchange, const std::string& id) {
  std::string bytes;
  {
    std::lock_guard lock(mutex_);
    if (id != id_) return exchange->respond(unknown_restore(id));
    id_.clear();
    bytes = std::exchange(bytes_, {});
  }
  Result<store::Batch> batch = store::backup_source(store_).restoration(bytes);
  if (!batch) return exchange->respond(bad_request_error(batch.error().message));
  std::int64_t removed = 0;
  for (const store::Write& write : batch->writes)
    removed += write.op == store::Write::Op::remove ? 1 : 0;
  auto done = [this, exchange, removed](store::CommitResults results) {
    exchange->serving.loop->post([this, exchange, removed, results = std::move(results)] {
      crds_.refresh();
      // Removals of what somebody else removed meanwhile are no failures.
      for (const Result<store::ItemPtr>& one : results)
        if (!one && one.error().code != Code::not_found) return exchange->respond(one.error());
      const auto all = static_cast<std::int64_t>(results.size());
      const auto revision = static_cast<std::int64_t>(store_.snapshot().revision());
      exchange->respond(json_response(
          200,
          json::Object{{"written", all - removed}, {"removed", removed}, {"revision", revision}},
          false));
    });
  };
  if (!store_.commit(std::move(*batch), std::move(done))) exchange->respond(too_busy_error());
}

}  // namespace hekla::apiserver
