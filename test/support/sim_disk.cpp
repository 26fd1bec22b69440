#include "support/sim_disk.h"

#include <algorithm>

#include "base/check.h"

namespace hekla::sim {
namespace {

constexpr std::size_t kSectorBytes = 512;

void write_at(std::string& content, std::uint64_t offset, std::string_view data) {
  if (content.size() < offset + data.size()) content.resize(offset + data.size(), '\0');
  content.replace(offset, data.size(), data);
}

std::unexpected<Error> io_error(const std::string& attempt, const std::string& name,
                                const char* why = "Input/output error") {
  return fail(Code::internal, attempt + " " + name + ": " + why);
}

}  // namespace

class SimDisk::File final : public AppendFile {
 public:
  File(SimDisk& disk, InodePtr inode, std::string name)
      : disk_(disk),
        inode_(std::move(inode)),
        name_(std::move(name)),
        generation_(disk.generation_),
        size_(inode_->cached.size()) {}

  Result<void> append(std::string_view data) override {
    std::lock_guard lock(disk_.mutex_);
    TRY(alive("write"));
    TRY(disk_.write(*inode_, name_, size_, data));
    size_ += data.size();
    return {};
  }
  Result<void> write_ahead(std::uint64_t bytes) override {
    std::lock_guard lock(disk_.mutex_);
    TRY(alive("write"));
    return disk_.write(*inode_, name_, size_, std::string(bytes, '\0'));
  }
  Result<void> sync() override {
    std::lock_guard lock(disk_.mutex_);
    TRY(alive("fdatasync"));
    return disk_.sync(*inode_, name_);
  }
  Result<void> truncate(std::uint64_t size) override {
    std::lock_guard lock(disk_.mutex_);
    TRY(alive("truncate"));
    TRY(disk_.truncate(*inode_, name_, size));
    size_ = size;
    return {};
  }
  std::uint64_t size() const override { return size_; }

 private:
  Result<void> alive(const char* attempt) {
    if (generation_ != disk_.generation_)
      return io_error(attempt, name_, "the machine has crashed");
    return {};
  }

  SimDisk& disk_;
  InodePtr inode_;
  std::string name_;
  std::uint64_t generation_;
  std::uint64_t size_;
};

Result<void> SimDisk::begin(const char* attempt, const std::string& name, bool* torn) {
  if (power_lost_) return io_error(attempt, name, "the power is out");
  ++operations_;
  if (power_ends_at_ && operations_ > *power_ends_at_) {
    power_lost_ = true;
    if (!torn) return io_error(attempt, name, "the power is out");
    *torn = true;
  }
  return {};
}

Result<void> SimDisk::write(Inode& inode, const std::string& name, std::uint64_t offset,
                            std::string_view data) {
  bool torn = false;
  TRY(begin("write", name, &torn));
  if (torn) data = data.substr(0, uniform(rng_, data.size() + 1));
  const std::uint64_t there = inode.cached.size() - offset;  // takes no more space
  const bool fits = !space_left_ || data.size() <= there + *space_left_;
  if (!fits) data = data.substr(0, there + *space_left_);
  if (space_left_ && data.size() > there) *space_left_ -= data.size() - there;
  inode.unsynced.push_back(WriteOp{offset, std::string(data)});
  write_at(inode.cached, offset, data);
  if (torn) return io_error("write", name, "the power is out");
  if (!fits) return io_error("write", name, "No space left on device");
  return {};
}

Result<void> SimDisk::sync(Inode& inode, const std::string& name) {
  bool torn = false;
  TRY(begin("fdatasync", name, &torn));
  if (torn) return io_error("fdatasync", name, "the power is out");
  if (failing_syncs_ > 0) {
    --failing_syncs_;
    resolve(inode);
    return io_error("fdatasync", name);
  }
  for (const auto& op : inode.unsynced) {
    if (const auto* write = std::get_if<WriteOp>(&op))
      write_at(inode.durable, write->offset, write->data);
    else
      inode.durable.resize(std::get<TruncateOp>(op).size, '\0');
  }
  inode.unsynced.clear();
  return {};
}

Result<void> SimDisk::truncate(Inode& inode, const std::string& name, std::uint64_t size) {
  TRY(begin("truncate", name));
  if (failing_truncates_ > 0) {
    --failing_truncates_;
    return io_error("truncate", name);
  }
  if (space_left_ && size < inode.cached.size()) *space_left_ += inode.cached.size() - size;
  inode.cached.resize(size, '\0');
  inode.unsynced.push_back(TruncateOp{size});
  return {};
}

// Decides what of the unsynced work reached the medium and forgets the rest.
void SimDisk::resolve(Inode& inode) {
  for (const auto& op : inode.unsynced) {
    if (const auto* write = std::get_if<WriteOp>(&op))
      apply_partly(inode.durable, *write);
    else if (rng_.chance(50))
      inode.durable.resize(std::get<TruncateOp>(op).size, '\0');
  }
  inode.unsynced.clear();
}

void SimDisk::apply_partly(std::string& content, const WriteOp& write) {
  switch (uniform(rng_, 4)) {
    case 0:
      return;
    case 1:
      return write_at(content, write.offset, write.data);
    case 2:
      return write_at(content, write.offset,
                      std::string_view(write.data).substr(0, uniform(rng_, write.data.size() + 1)));
    default:
      break;
  }
  // The size was journalled, some sectors were not written: they read as zeros.
  write_at(content, write.offset, std::string(write.data.size(), '\0'));
  std::uint64_t at = 0;
  while (at < write.data.size()) {
    std::uint64_t sector_end = ((write.offset + at) / kSectorBytes + 1) * kSectorBytes;
    std::uint64_t n =
        std::min<std::uint64_t>(sector_end - write.offset - at, write.data.size() - at);
    if (rng_.chance(60))
      write_at(content, write.offset + at, std::string_view(write.data).substr(at, n));
    at += n;
  }
}

Result<std::unique_ptr<AppendFile>> SimDisk::open_append(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (power_lost_) return io_error("open", name, "the power is out");
  auto found = cached_names_.find(name);
  if (found == cached_names_.end()) {
    TRY(begin("create", name));
    auto inode = std::make_shared<Inode>();
    found = cached_names_.emplace(name, inode).first;
    unsynced_names_.push_back({DirectoryOp::Kind::create, name, "", inode});
  }
  return std::make_unique<File>(*this, found->second, name);
}

Result<std::string> SimDisk::read(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (power_lost_) return io_error("open", name, "the power is out");
  auto found = cached_names_.find(name);
  if (found == cached_names_.end())
    return fail(Code::not_found, "open " + name + ": No such file or directory");
  return found->second->cached;
}

Result<void> SimDisk::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(mutex_);
  TRY(begin("rename", from));
  auto found = cached_names_.find(from);
  if (found == cached_names_.end())
    return fail(Code::not_found, "rename " + from + ": No such file or directory");
  unsynced_names_.push_back({DirectoryOp::Kind::rename, from, to, found->second});
  cached_names_[to] = found->second;
  cached_names_.erase(from);
  return {};
}

Result<void> SimDisk::remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  TRY(begin("remove", name));
  auto found = cached_names_.find(name);
  if (found == cached_names_.end())
    return fail(Code::not_found, "remove " + name + ": No such file or directory");
  if (space_left_) *space_left_ += found->second->cached.size();
  cached_names_.erase(found);
  unsynced_names_.push_back({DirectoryOp::Kind::remove, name, "", nullptr});
  return {};
}

Result<std::vector<std::string>> SimDisk::list() {
  std::lock_guard lock(mutex_);
  if (power_lost_) return io_error("list", "/", "the power is out");
  std::vector<std::string> names;
  for (const auto& [name, inode] : cached_names_) names.push_back(name);
  return names;
}

Result<void> SimDisk::sync_directory() {
  std::lock_guard lock(mutex_);
  TRY(begin("fsync", "/"));
  if (failing_directory_syncs_ > 0) {
    --failing_directory_syncs_;
    return io_error("fsync", "/");
  }
  durable_names_ = cached_names_;
  unsynced_names_.clear();
  return {};
}

void SimDisk::crash() {
  std::lock_guard lock(mutex_);
  for (const DirectoryOp& op : unsynced_names_) {
    if (rng_.chance(50)) continue;
    switch (op.kind) {
      case DirectoryOp::Kind::create:
        durable_names_[op.name] = op.inode;
        break;
      case DirectoryOp::Kind::rename:
        durable_names_[op.to] = op.inode;
        durable_names_.erase(op.name);
        break;
      case DirectoryOp::Kind::remove:
        durable_names_.erase(op.name);
        break;
    }
  }
  unsynced_names_.clear();
  cached_names_ = durable_names_;
  for (auto& [name, inode] : cached_names_) {
    resolve(*inode);
    inode->cached = inode->durable;
  }
  ++generation_;
  power_ends_at_.reset();
  power_lost_ = false;
  space_left_.reset();
  failing_syncs_ = failing_directory_syncs_ = failing_truncates_ = 0;
}

void SimDisk::cut_power_after(std::uint64_t operations) {
  std::lock_guard lock(mutex_);
  power_ends_at_ = operations_ + operations;
}

bool SimDisk::power_lost() const {
  std::lock_guard lock(mutex_);
  return power_lost_;
}

void SimDisk::set_space_left(std::optional<std::uint64_t> bytes) {
  std::lock_guard lock(mutex_);
  space_left_ = bytes;
}

void SimDisk::fail_next_syncs(int count) {
  std::lock_guard lock(mutex_);
  failing_syncs_ = count;
}

void SimDisk::fail_next_directory_syncs(int count) {
  std::lock_guard lock(mutex_);
  failing_directory_syncs_ = count;
}

void SimDisk::fail_next_truncates(int count) {
  std::lock_guard lock(mutex_);
  failing_truncates_ = count;
}

void SimDisk::flip_bit(const std::string& name, std::uint64_t offset, unsigned bit) {
  std::lock_guard lock(mutex_);
  auto found = cached_names_.find(name);
  CHECK(found != cached_names_.end(), "no file of this name to damage");
  Inode& inode = *found->second;
  CHECK(offset < inode.cached.size(), "the file ends before the damage");
  char mask = static_cast<char>(1u << (bit % 8));
  inode.cached[offset] = static_cast<char>(inode.cached[offset] ^ mask);
  if (offset < inode.durable.size())
    inode.durable[offset] = static_cast<char>(inode.durable[offset] ^ mask);
}

void SimDisk::put_file(const std::string& name, std::string content) {
  std::lock_guard lock(mutex_);
  auto inode = std::make_shared<Inode>();
  inode->durable = content;
  inode->cached = std::move(content);
  cached_names_[name] = inode;
  durable_names_[name] = inode;
}

std::uint64_t SimDisk::operations() const {
  std::lock_guard lock(mutex_);
  return operations_;
}

}  // namespace hekla::sim
