#include "base/held_disk.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace hekla {
namespace {

struct Inode {
  std::string data;
  std::string synced;                // while no durable name leads to it
  std::unique_ptr<AppendFile> real;  // since one does
  std::size_t stable = 0;            // so much of `data` is in `real`
  bool cut = false;                  // and `real` has more than that
};
using InodePtr = std::shared_ptr<Inode>;

class HeldDisk final : public Disk {
 public:
  HeldDisk(std::unique_ptr<Disk> real, bool syncs) : real_(std::move(real)), syncs_(syncs) {}

  Result<void> load() {
    for (const std::string& name : TRY(real_->list())) {
      auto inode = std::make_shared<Inode>();
      inode->data = TRY(real_->read(name));
      inode->real = TRY(real_->open_append(name));
      inode->stable = inode->data.size();
      seen_[name] = durable_[name] = std::move(inode);
    }
    return {};
  }

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& name) override;
  Result<std::string> read(const std::string& name) override {
    std::lock_guard lock(mutex_);
    auto found = seen_.find(name);
    if (found == seen_.end())
      return fail(Code::not_found, "open " + name + ": No such file or directory");
    return found->second->data;
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    std::lock_guard lock(mutex_);
    auto node = seen_.extract(from);
    if (node.empty())
      return fail(Code::not_found, "rename " + from + ": No such file or directory");
    seen_[to] = std::move(node.mapped());
    return {};
  }
  Result<void> remove(const std::string& name) override {
    std::lock_guard lock(mutex_);
    if (seen_.erase(name) == 0)
      return fail(Code::not_found, "remove " + name + ": No such file or directory");
    return {};
  }
  Result<std::vector<std::string>> list() override {
    std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, inode] : seen_) names.push_back(name);
    return names;
  }
  Result<void> sync_directory() override {
    std::lock_guard lock(mutex_);
    if (!syncs_) return {};
    for (const auto& [name, inode] : seen_)
      if (InodePtr& there = durable_[name]; there != inode) TRY(put_in_place(name, inode, there));
    for (auto entry = durable_.begin(); entry != durable_.end();) {
      if (seen_.contains(entry->first)) {
        ++entry;
        continue;
      }
      TRY(real_->remove(entry->first));
      entry = durable_.erase(entry);
    }
    return real_->sync_directory();
  }

  Result<void> sync(Inode& inode) {
    std::lock_guard lock(mutex_);
    if (!syncs_) return {};
    if (!inode.real) {
      inode.synced = inode.data;
      return {};
    }
    if (std::exchange(inode.cut, false)) TRY(inode.real->truncate(inode.stable));
    TRY(inode.real->append(std::string_view(inode.data).substr(inode.stable)));
    TRY(inode.real->sync());
    inode.stable = inode.data.size();
    return {};
  }
  std::mutex& mutex() { return mutex_; }

 private:
  Result<void> put_in_place(const std::string& name, const InodePtr& inode, InodePtr& there) {
    auto before = std::find_if(durable_.begin(), durable_.end(),
                               [&](const auto& entry) { return entry.second == inode; });
    if (before != durable_.end()) {
      TRY(real_->rename(before->first, name));
      there = inode;
      durable_.erase(before);
      return {};
    }
    inode->real = TRY(real_->open_append(name));
    TRY(inode->real->truncate(0));
    TRY(inode->real->append(inode->synced));
    TRY(inode->real->sync());
    inode->stable = inode->synced.size();
    inode->synced = {};
    there = inode;
    return {};
  }

  std::unique_ptr<Disk> real_;
  const bool syncs_;
  std::mutex mutex_;
  std::map<std::string, InodePtr> seen_,
      durable_;  // by name: as the program sees it, as the real disk has it
};

class HeldFile final : public AppendFile {
 public:
  HeldFile(HeldDisk& disk, InodePtr inode) : disk_(disk), inode_(std::move(inode)) {}
  Result<void> append(std::string_view data) override {
    std::lock_guard lock(disk_.mutex());
    inode_->data += data;
    return {};
  }
  Result<void> sync() override { return disk_.sync(*inode_); }
  Result<void> truncate(std::uint64_t size) override {
    std::lock_guard lock(disk_.mutex());
    inode_->data.resize(size);
    inode_->cut |= size < inode_->stable;
    inode_->stable = std::min<std::size_t>(inode_->stable, size);
    return {};
  }
  Result<void> write_ahead(std::uint64_t) override { return {}; }
  std::uint64_t size() const override {
    std::lock_guard lock(disk_.mutex());
    return inode_->data.size();
  }

 private:
  HeldDisk& disk_;
  InodePtr inode_;
};

Result<std::unique_ptr<AppendFile>> HeldDisk::open_append(const std::string& name) {
  std::lock_guard lock(mutex_);
  InodePtr& inode = seen_[name];
  if (!inode) inode = std::make_shared<Inode>();
  return std::make_unique<HeldFile>(*this, inode);
}

}  // namespace

Result<std::unique_ptr<Disk>> hold_back(std::unique_ptr<Disk> real, bool syncs) {
  auto disk = std::make_unique<HeldDisk>(std::move(real), syncs);
  TRY(disk->load());
  return disk;
}

}  // namespace hekla
