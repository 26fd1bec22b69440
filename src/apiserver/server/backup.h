// Backup and restore of everything the server holds, while it runs: GET /hekla/backup gives a file
// in the store's snapshot format, POST /hekla/restore takes one back in parts. RBAC judges them as
// paths; only cluster-admin has them.
#pragma once

#include <mutex>
#include <string>

#include "apiserver/request/exchange.h"

namespace hekla::apiserver {

class Crds;

// Thread-safe.
class Backups {
 public:
  Backups(store::Store& store, Crds& crds) : store_(store), crds_(crds) {}

  // False when the path is none of its own.
  //   GET  /hekla/backup               the file
  //   POST /hekla/restore              {"id": ID}: what was sent for another id before is forgotten
  //   POST /hekla/restore/ID           the next bytes of the file
  //   POST /hekla/restore/ID/finish    one commit brings everything back: {"written", "removed",
  //   "revision"}
  bool serve(const ExchangePtr& exchange);

 private:
  void serve_restore(const ExchangePtr& exchange, std::string_view path);
  Result<void> take(const std::string& id, std::string_view bytes);
  void finish(const ExchangePtr& exchange, const std::string& id);

  store::Store& store_;
  Crds& crds_;
  std::mutex mutex_;
  std::string id_, bytes_;  // the restore under way
};

}  // namespace hekla::apiserver
