#include "apiserver/read/watch.h"

namespace hekla::apiserver {

std::optional<ObjectEvent> watch_event_for(const ObjectFilter& filter, const ServedKind& served,
                                           const store::ItemPtr& previous,
                                           const store::ItemPtr& item, bool removed,
                                           store::Revision revision) {
  const bool before = previous && filter.matches(served, *previous);
  const bool after = !removed && filter.matches(served, *item);
  if (after)
    return ObjectEvent{
        before ? ObjectEvent::Type::modified : ObjectEvent::Type::added, item, revision, {}};
  if (!before) return std::nullopt;
  // An object that leaves the selector is shown as it last matched, under the new revision.
  return ObjectEvent{ObjectEvent::Type::deleted, removed ? item : previous, revision, {}};
}

Result<std::vector<ObjectEvent>> WatchCursor::pull(std::size_t limit, bool& caught_up) {
  std::optional<HistoryPage> page;
  return pull(limit, caught_up, page);
}

Result<std::vector<ObjectEvent>> WatchCursor::pull(std::size_t limit, bool& caught_up,
                                                   std::optional<HistoryPage>& page) {
  if (!page || page->after != position_) page = TRY(read_page(limit));
  std::vector<ObjectEvent> events;
  events.reserve(page->changes.size());
  for (const store::Change& change : page->changes) {
    position_ = change.revision;
    if (!std::string_view(change.item->key).starts_with(prefix_)) continue;
    const bool removed = change.kind == store::Change::Kind::removed;
    if (!judges_)
      events.push_back({removed ? ObjectEvent::Type::deleted : ObjectEvent::Type::modified,
                        change.item, change.revision, change.previous});
    else if (std::optional<ObjectEvent> event = watch_event_for(
                 filter_, *served_, change.previous, change.item, removed, change.revision))
      events.push_back(std::move(*event));
  }
  caught_up = page->changes.size() < limit;
  if (caught_up && page->current > position_) position_ = page->current;
  return events;
}

Result<HistoryPage> WatchCursor::read_page(std::size_t limit) const {
  HistoryPage page{.after = position_};
  // Taken first: whoever has seen a revision finds all its changes in the history.
  page.current = store_.snapshot().revision();
  Result<std::vector<store::Change>> changes =
      store_.changes_after(served_->bucket, position_, limit);
  if (!changes)
    return fail(Code::expired, "too old resource version: " + std::to_string(position_) + " (" +
                                   std::to_string(store_.oldest_history()) + ")");
  page.changes = std::move(*changes);
  return page;
}

}  // namespace hekla::apiserver
