// A disk in memory that fails like a real one, on command and by seed. What a program reads back is
// what it wrote; what survives crash() is only what was synced, plus whatever the seed lets through
// of the rest: nothing, all, a prefix cut at any byte, or scattered sectors with zeros between
// them. Creations, renames and removals that no sync_directory() covered each survive or not on
// their own, which is harsher than a journalling file system.
//
//   sim::SimDisk disk(seed);
//   ... run a store on it ...
//   disk.cut_power_after(n);   // or: stop at any point
//   disk.crash();              // resolve what was in flight; every open file is dead
//   ... open a new store on the same disk ...
//
// Thread-safe like any Disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/disk.h"
#include "support/sim_executor.h"

namespace hekla::sim {

class SimDisk final : public Disk {
 public:
  explicit SimDisk(std::uint64_t seed) : rng_(seed) {}

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& name) override;
  Result<std::string> read(const std::string& name) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& name) override;
  Result<std::vector<std::string>> list() override;
  Result<void> sync_directory() override;

  // Power fails and returns: unsynced work is resolved by the seed, files opened before fail from
  // now on, all injected faults except flipped bits are cleared.
  void crash();
  // Lets `operations` more changing operations (append, sync, truncate, create, rename, remove)
  // happen; the one after them is carried out partly or not at all and fails, as does everything
  // later.
  void cut_power_after(std::uint64_t operations);
  bool power_lost() const;

  // No space after `bytes` more bytes: an append that does not fit writes what fits and fails with
  // ENOSPC's text. nullopt: space again.
  void set_space_left(std::optional<std::uint64_t> bytes);
  // The next `count` file syncs fail. The kernel then forgets what was dirty: the pages read back
  // as written, but a later sync that succeeds does not make them durable.
  void fail_next_syncs(int count);
  void fail_next_directory_syncs(int count);
  void fail_next_truncates(int count);
  // Damages a stored byte; `offset` must lie inside the file.
  void flip_bit(const std::string& name, std::uint64_t offset, unsigned bit);
  // Replaces or creates a durable file, for hand-made damage.
  void put_file(const std::string& name, std::string content);

  // Changing operations so far; the range to draw cut_power_after() from.
  std::uint64_t operations() const;

 private:
  struct WriteOp {
    std::uint64_t offset;
    std::string data;
  };
  struct TruncateOp {
    std::uint64_t size;
  };
  struct Inode {
    std::string cached;   // what reads return
    std::string durable;  // what certainly survives
    std::vector<std::variant<WriteOp, TruncateOp>> unsynced;
  };
  using InodePtr = std::shared_ptr<Inode>;
  struct DirectoryOp {
    enum class Kind { create, rename, remove } kind;
    std::string name, to;
    InodePtr inode;
  };
  class File;

  // Counts one changing operation; an error once the power is gone. Sets `torn` for the operation
  // during which it goes.
  Result<void> begin(const char* attempt, const std::string& name, bool* torn = nullptr);
  Result<void> write(Inode& inode, const std::string& name, std::uint64_t offset,
                     std::string_view data);
  Result<void> sync(Inode& inode, const std::string& name);
  Result<void> truncate(Inode& inode, const std::string& name, std::uint64_t size);
  void resolve(Inode& inode);
  void apply_partly(std::string& content, const WriteOp& write);

  mutable std::mutex mutex_;
  SeededRng rng_;
  std::map<std::string, InodePtr> cached_names_, durable_names_;
  std::vector<DirectoryOp> unsynced_names_;
  std::uint64_t generation_ = 0;  // a crash ends all files of the generation before
  std::uint64_t operations_ = 0;
  std::optional<std::uint64_t> power_ends_at_;
  bool power_lost_ = false;
  std::optional<std::uint64_t> space_left_;
  int failing_syncs_ = 0, failing_directory_syncs_ = 0, failing_truncates_ = 0;
};

}  // namespace hekla::sim
