#include "store/recovery.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <optional>

#include "base/check.h"
#include "base/log.h"
#include "base/loop.h"
#include "store/format.h"
#include "store/snapshot_file.h"

namespace hekla::store {
namespace {

constexpr Stamp kRecoveryStamp = 1;

std::unexpected<Error> damaged(const std::string& name, std::uint64_t offset,
                               const std::string& what) {
  return fail(Code::internal, name + ": damaged at offset " + std::to_string(offset) + ": " + what);
}

struct Unattached {
  std::string_view bucket;
  Item* item;
};

// To parse every value takes most of a start's time, so all processors do it.
void attach(const std::vector<Unattached>& items, const Attacher& attacher) {
  constexpr std::size_t kLot = 512;
  std::atomic<std::size_t> next = 0;
  auto work = [&] {
    for (std::size_t from = next.fetch_add(kLot); from < items.size(); from = next.fetch_add(kLot))
      for (std::size_t i = from; i < std::min(from + kLot, items.size()); ++i)
        items[i].item->attachment =
            attacher(items[i].bucket, items[i].item->key, items[i].item->value);
  };
  const std::size_t threads =
      std::min<std::size_t>(std::thread::hardware_concurrency(), (items.size() + kLot - 1) / kLot);
  if (threads < 2) return work();
  WorkerPool others("attach", static_cast<int>(threads - 1));
  std::latch done(static_cast<std::ptrdiff_t>(threads - 1));
  for (std::size_t i = 1; i < threads; ++i) {
    Task task = [&] {
      work();
      done.count_down();
    };
    CHECK(others.try_post(task), "a new pool takes work");
  }
  work();
  done.wait();
}

// The live keys while records are applied. Attachments come last, so that values which a later
// record replaces are never parsed.
class State {
 public:
  Revision revision = 0;

  // False when the record contradicts what is there.
  bool apply(const Record& record) {
    const std::size_t id = id_of(record.bucket);
    Bucket& bucket = buckets_[id];
    auto found = bucket.find(record.key);
    ItemPtr previous = found == bucket.end() ? nullptr : found->second;
    if (record.op == Write::Op::remove) {
      if (!previous) return false;
      bucket.erase(found);
      if (history_)
        remember(id, Change::Kind::removed, last_state(*previous, record.revision), previous);
      return true;
    }
    bool digits_fit =
        record.revision_at == Item::kNoRevision ||
        record.revision_at + std::to_string(record.revision).size() <= record.value.size();
    if (!digits_fit || record.created > record.revision) return false;
    auto item = std::make_shared<Item>();
    item->key = record.key;
    item->created = record.created;
    item->modified = record.revision;
    item->value = record.value;
    item->revision_at = record.revision_at;
    if (previous) bucket.erase(found);  // the map's key is a view into the item
    bucket.emplace(item->key, item);
    if (history_)
      remember(id, previous ? Change::Kind::updated : Change::Kind::created, item, previous);
    return true;
  }

  // Records that are applied from here on are history.
  void begin_history(History::Limits limits) { history_.emplace(limits, revision); }

  Recovered finish(const Attacher& attacher) {
    Recovered recovered;
    recovered.version.revision = revision;
    if (attacher) attach(unattached(), attacher);
    for (std::size_t id = 0; id < names_.size(); ++id) {
      Tree& tree = recovered.version.buckets.emplace_back();
      for (auto& [key, item] : buckets_[id]) {
        recovered.version.live_bytes += record_bytes(names_[id], item->key, item->value);
        tree.put(std::move(item), kRecoveryStamp);
      }
      buckets_[id].clear();
    }
    recovered.bucket_names = std::move(names_);
    if (history_) recovered.history = std::move(*history_);
    return recovered;
  }

 private:
  using Bucket = std::map<std::string_view, std::shared_ptr<Item>>;

  std::vector<Unattached> unattached() const {
    std::vector<Unattached> items;
    for (std::size_t id = 0; id < names_.size(); ++id)
      for (const auto& [key, item] : buckets_[id]) items.push_back({names_[id], item.get()});
    return items;
  }

  void remember(std::size_t bucket, Change::Kind kind, ItemPtr item, ItemPtr previous) {
    const Revision at = item->modified;
    // Changes that fall out of it are freed here and now: no reader waits yet.
    (void)history_->append(
        {{static_cast<BucketId>(bucket), {kind, at, std::move(item), std::move(previous)}}});
  }
  static ItemPtr last_state(const Item& item, Revision removed) {
    auto last = std::make_shared<Item>(item);
    last->value = item.value_with_revision(removed);
    last->modified = removed;
    return last;
  }

  std::size_t id_of(std::string_view name) {
    auto found = ids_.find(name);
    if (found == ids_.end()) {
      found = ids_.emplace(name, names_.size()).first;
      names_.emplace_back(name);
      buckets_.emplace_back();
    }
    return found->second;
  }

  std::map<std::string, std::size_t, std::less<>> ids_;
  std::vector<std::string> names_;
  std::vector<Bucket> buckets_;
  std::optional<History> history_;
};

Result<void> load_snapshot(const std::string& file, const std::string& name,
                           std::optional<std::uint64_t> sequence, State& state) {
  FileHeader header = TRY(decode_header(FileKind::snapshot, file, name));
  if (sequence && header.sequence != *sequence)
    return damaged(name, 0, "the header is another file's");
  std::uint64_t offset = kFileHeaderBytes, records = 0;
  while (true) {
    auto group = read_group(file, offset, header.salt);
    if (!group) return damaged(name, offset, "no valid group");
    if (group->first != records) return damaged(name, offset, "a group is missing");
    offset += group->bytes();
    if (group->count == 0) break;
    std::string_view rest = group->records;
    Record record;
    for (std::uint32_t i = 0; i < group->count; ++i, ++records) {
      bool good = take_record(rest, record) && record.op == Write::Op::put &&
                  record.revision <= header.base && state.apply(record);
      if (!good) return damaged(name, offset, "the group before has an impossible record");
    }
    if (!rest.empty()) return damaged(name, offset, "the group before is longer than its records");
  }
  if (offset != file.size()) return damaged(name, offset, "bytes after the end");
  state.revision = header.base;
  return {};
}

Result<void> apply_group(const GroupView& group, const std::string& name, std::uint64_t offset,
                         State& state) {
  if (group.first != state.revision + 1)
    return damaged(name, offset,
                   "revision " + std::to_string(state.revision + 1) +
                       " is missing, the log goes on with " + std::to_string(group.first));
  std::string_view rest = group.records;
  Record record;
  for (std::uint32_t i = 0; i < group.count; ++i) {
    bool good =
        take_record(rest, record) && record.revision == state.revision + 1 && state.apply(record);
    if (!good) return damaged(name, offset, "the group has an impossible record");
    ++state.revision;
  }
  if (!rest.empty() || group.count == 0)
    return damaged(name, offset, "the group's length is wrong");
  return {};
}

struct Segment {
  std::uint64_t sequence;
  std::string name;
};

// The log's end once everything has been read.
struct LogEnd {
  std::optional<FileHeader> current;  // nullopt: begin a segment
  std::uint64_t valid_bytes = 0;
  std::uint64_t closed_bytes = 0;
  std::vector<std::string> unused;  // segments that were being begun
};

// Applies the groups of one segment; returns where the valid part ends.
Result<std::uint64_t> replay_segment(std::string_view file, const Segment& segment,
                                     const FileHeader& header, bool may_be_torn, State& state) {
  if (header.sequence != segment.sequence)
    return damaged(segment.name, 0, "the header is another file's");
  std::uint64_t offset = kFileHeaderBytes;
  while (offset < file.size()) {
    auto group = read_group(file, offset, header.salt);
    if (!group) {
      if (!may_be_torn) return damaged(segment.name, offset, "no valid group, yet the log goes on");
      if (file.find_first_not_of('\0', offset) == file.npos) return offset;  // written ahead
      if (auto next = find_group(file, offset + 1, header.salt))
        return damaged(segment.name, offset,
                       "no valid group, yet the log goes on at offset " + std::to_string(*next));
      log_warn("store", "cut off an unfinished commit",
               {{"segment", segment.name},
                {"offset", std::to_string(offset)},
                {"bytes", std::to_string(file.size() - offset)}});
      return offset;
    }
    TRY(apply_group(*group, segment.name, offset, state));
    offset += group->bytes();
  }
  return offset;
}

// True when the segment never got as far as its first group. Sets `base` if its header is whole.
Result<bool> never_used(std::string_view file, const Segment& segment,
                        std::optional<Revision>& base) {
  if (file.size() > kFileHeaderBytes) return false;
  TRY(check_version(FileKind::segment, file, segment.name));
  if (Result<FileHeader> header = decode_header(FileKind::segment, file, segment.name))
    base = header->base;
  return true;
}

Result<LogEnd> replay_log(Disk& disk, std::vector<Segment> segments, State& state) {
  LogEnd end;
  std::optional<Revision> unused_base;
  std::string last;
  if (!segments.empty()) {
    last = TRY(disk.read(segments.back().name));
    bool unused = TRY(never_used(last, segments.back(), unused_base));
    bool in_place = segments.size() == 1 && unused_base == state.revision;
    if (unused && !in_place) {
      if (!unused_base)
        log_warn("store", "dropped a segment without a header",
                 {{"segment", segments.back().name}, {"bytes", std::to_string(last.size())}});
      end.unused.push_back(segments.back().name);
      segments.pop_back();
      if (!segments.empty()) last = TRY(disk.read(segments.back().name));
    }
  }
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    bool is_last = i + 1 == segments.size();
    std::string file = is_last ? std::move(last) : TRY(disk.read(segment.name));
    FileHeader header = TRY(decode_header(FileKind::segment, file, segment.name));
    if (header.base != state.revision)
      return damaged(segment.name, 0,
                     "it goes on after revision " + std::to_string(header.base) +
                         ", but the log before it ends with " + std::to_string(state.revision));
    if (end.current) end.closed_bytes += end.valid_bytes;
    end.valid_bytes = TRY(replay_segment(file, segment, header, is_last, state));
    end.current = header;
  }
  if (!end.unused.empty() && unused_base > state.revision)
    return damaged(end.unused.back(), 0,
                   "it goes on after revision " + std::to_string(*unused_base) +
                       ", but the log before it ends with " + std::to_string(state.revision));
  return end;
}

struct Inventory {
  std::vector<std::uint64_t> snapshots;  // newest first
  std::vector<std::uint64_t> segments;   // oldest first
};

Result<Inventory> take_inventory(Disk& disk) {
  Inventory inventory;
  std::vector<std::string> names = TRY(disk.list());
  for (const std::string& name : names) {
    if (auto sequence = sequence_of(FileKind::snapshot, name))
      inventory.snapshots.push_back(*sequence);
    if (auto sequence = sequence_of(FileKind::segment, name))
      inventory.segments.push_back(*sequence);
  }
  std::sort(inventory.snapshots.rbegin(), inventory.snapshots.rend());
  std::sort(inventory.segments.begin(), inventory.segments.end());
  return inventory;
}

// The segments from `first` on, which must have no gaps.
Result<std::vector<Segment>> chain_from(const Inventory& inventory, std::uint64_t first) {
  std::vector<Segment> chain;
  for (std::uint64_t sequence : inventory.segments) {
    if (sequence < first) continue;
    if (sequence != first + chain.size())
      return fail(Code::internal, file_name(FileKind::segment, first + chain.size()) +
                                      ": missing, though the log goes on with " +
                                      file_name(FileKind::segment, sequence));
    chain.push_back({sequence, file_name(FileKind::segment, sequence)});
  }
  return chain;
}

struct Start {
  bool from_snapshot = false;
  std::uint64_t first_segment = 1;
  std::vector<Segment> segments;
};

// Loads the newest snapshot that is whole. An older one than the newest will do if the log since is
// complete; if not, the newest one's damage is the error.
Result<Start> load_start(Disk& disk, const Inventory& inventory, State& state) {
  std::optional<Error> first_damage;
  std::vector<std::uint64_t> starts = inventory.snapshots;
  starts.push_back(0);  // no snapshot: from the first segment
  for (std::uint64_t sequence : starts) {
    State attempt;
    Result<void> loaded;
    if (sequence != 0) {
      std::string name = file_name(FileKind::snapshot, sequence);
      std::string file = TRY(disk.read(name));
      TRY(check_version(FileKind::snapshot, file, name));
      loaded = load_snapshot(file, name, sequence, attempt);
    }
    Result<std::vector<Segment>> chain =
        chain_from(inventory, std::max<std::uint64_t>(sequence, 1));
    bool complete = !first_damage || (chain && !chain->empty());
    if (loaded && chain && complete) {
      if (first_damage)
        log_warn("store", "using an older snapshot", {{"error", first_damage->message}});
      state = std::move(attempt);
      return Start{sequence != 0, std::max<std::uint64_t>(sequence, 1), std::move(*chain)};
    }
    if (!first_damage) first_damage = loaded ? chain.error() : loaded.error();
  }
  return std::unexpected(*first_damage);
}

// Whether the log may end where the snapshot does, without a segment of its own. It may in a new
// directory, and where the snapshot took the place of an abandoned segment: that one stays until
// the next has begun. Everywhere else the segment held commits and was lost.
Result<void> check_end_of_log(Disk& disk, const Inventory& inventory, const Start& start,
                              bool was_in_use) {
  const std::string missing = file_name(FileKind::segment, start.first_segment);
  if (!start.from_snapshot) {
    if (!was_in_use) return {};
    return fail(Code::internal, missing +
                                    ": missing or empty, though this store was in use; "
                                    "remove its directory to begin anew");
  }
  for (std::uint64_t sequence : inventory.segments) {
    if (sequence + 1 != start.first_segment) continue;
    const std::string name = file_name(FileKind::segment, sequence);
    if (decode_header(FileKind::segment, TRY(disk.read(name)), name)) return {};
  }
  return fail(Code::internal, missing + ": missing or empty, though the log goes on in it after " +
                                  file_name(FileKind::snapshot, start.first_segment));
}

}  // namespace

Result<Recovered> read_snapshot(const std::string& file, const std::string& name,
                                const Attacher& attacher) {
  TRY(check_version(FileKind::snapshot, file, name));
  State state;
  TRY(load_snapshot(file, name, std::nullopt, state));
  return state.finish(attacher);
}

Result<Recovered> recover(Disk& disk, Log& log, const Attacher& attacher, History::Limits limits,
                          bool was_in_use) {
  Inventory inventory = TRY(take_inventory(disk));
  State state;
  Start start = TRY(load_start(disk, inventory, state));
  state.begin_history(limits);
  LogEnd end = TRY(replay_log(disk, start.segments, state));
  if (!end.current) TRY(check_end_of_log(disk, inventory, start, was_in_use));

  // A rename or creation that only the kernel knows of must be durable before anything relies on
  // it.
  TRY(disk.sync_directory());
  for (const std::string& name : end.unused) TRY(disk.remove(name));
  if (end.current)
    TRY(log.resume_segment(*end.current, end.valid_bytes));
  else
    TRY(log.begin_segment(start.first_segment, state.revision));
  CHECK(log.usable() && log.sequence() >= start.first_segment, "the log is ready for appending");
  remove_superseded(disk, start.first_segment);
  Recovered recovered = state.finish(attacher);
  recovered.closed_bytes = end.closed_bytes;
  return recovered;
}

}  // namespace hekla::store
