// A watch as a cursor on the store's history. It is pulled, never pushed: a slow reader lags and at
// last falls off the history, and nobody waits for it. HTTP watches and in-process watches share
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/object/registry.h"
#include "apiserver/read/filter.h"
#include "base/result.h"
#include "kube/client.h"
#include "store/store.h"

namespace hekla::apiserver {

struct ObjectEvent {
  using Type = kube::WatchEvent::Type;
  Type type = Type::added;  // never a bookmark
  store::ItemPtr item;
  store::Revision revision = 0;  // the object is shown with this one
  store::ItemPtr previous;       // of a change that is yet to be judged
};

// The event that a watch with the filter sees of a change; null: none.
std::optional<ObjectEvent> watch_event_for(const ObjectFilter& filter, const ServedKind& served,
                                           const store::ItemPtr& previous,
                                           const store::ItemPtr& item, bool removed,
                                           store::Revision revision);

// The history of a bucket after a revision. A cursor that stands at that revision may read it
// in place of the store's: what came later wakes every watch anew.
struct HistoryPage {
  store::Revision after = 0;
  store::Revision current = 0;  // of the store
  std::vector<store::Change> changes;
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
  // The same with a page that cursors of the bucket share while one commit is told to them, and
  // pull with the same limit. It is read, or read anew, for a cursor that stands elsewhere.
  Result<std::vector<ObjectEvent>> pull(std::size_t limit, bool& caught_up,
                                        std::optional<HistoryPage>& page);
  // Every change of an object is given, to be judged by watch_event_for() when it has been
  // converted.
  void judge_nothing() { judges_ = false; }
  // Everything up to here has been seen.
  store::Revision position() const { return position_; }
  const ServedKind& served() const { return *served_; }

 private:
  Result<HistoryPage> read_page(std::size_t limit) const;

  const store::Store& store_;
  ServedPtr served_;
  std::string prefix_;
  ObjectFilter filter_;
  store::Revision position_;
  bool judges_ = true;
};

}  // namespace hekla::apiserver
