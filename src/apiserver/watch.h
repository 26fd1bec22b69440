// A watch as a cursor on the store's history. It is pulled, never pushed: a slow reader lags and at last
// falls off the history, and nobody waits for it. HTTP watches and in-process watches share it.
#pragma once

#include <string>
#include <vector>

#include "apiserver/filter.h"
#include "apiserver/registry.h"
#include "base/result.h"
#include "store/store.h"

namespace hekla::apiserver {

struct ObjectEvent {
  enum class Type { added, modified, deleted } type = Type::added;
  store::ItemPtr item;
  store::Revision revision = 0;  // the object is shown with this one
};

// Not thread-safe; one owner.
class WatchCursor {
 public:
  WatchCursor(const store::Store& store, ServedPtr served, std::string ns, ObjectFilter filter,
              store::Revision after)
      : store_(store),
        served_(std::move(served)),
        prefix_(ns.empty() || !served_->kind->resource.namespaced ? "" : std::move(ns) + "/"),
        filter_(std::move(filter)),
        position_(after) {}

  // The next events, at most about `limit`; `expired` when the history no longer reaches back. Sets
  // `caught_up` when nothing more is to be had for the moment.
  Result<std::vector<ObjectEvent>> pull(std::size_t limit, bool& caught_up);
  // Everything up to here has been seen.
  store::Revision position() const { return position_; }
  const ServedKind& served() const { return *served_; }

 private:
  const store::Store& store_;
  ServedPtr served_;
  std::string prefix_;
  ObjectFilter filter_;
  store::Revision position_;
};

}  // namespace hekla::apiserver
