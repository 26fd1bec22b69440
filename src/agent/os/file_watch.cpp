#include "agent/os/file_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <algorithm>
#include <vector>

namespace hekla::agent {
namespace {

constexpr std::uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MODIFY | IN_MOVE_SELF | IN_DELETE_SELF;
constexpr int kEverybody = -1;

}  // namespace

Result<std::unique_ptr<FileWatch>> FileWatch::open(const std::string& thread_name) {
  auto watch = std::make_unique<FileWatch>(Private{});
  watch->inotify_ = FileDescriptor(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch->inotify_) return errno_error("open inotify");
  watch->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watch->wake_) return errno_error("open an eventfd");
  watch->thread_ = std::make_unique<WorkerPool>(thread_name, 1);
  Task loop = [raw = watch.get()] { raw->run(); };
  if (!watch->thread_->try_post(loop)) return fail(Code::internal, "start the file watch");
  return watch;
}

void FileWatch::stop() {
  if (!thread_) return;
  eventfd_write(wake_.get(), 1);
  thread_->stop();
}

Result<int> FileWatch::add(const std::string& path, Callback callback) {
  return add(path, kEvents, std::move(callback));
}

Result<int> FileWatch::add_moves(const std::string& path, Callback callback) {
  return add(path, IN_MOVED_TO, std::move(callback));
}

Result<int> FileWatch::add(const std::string& path, std::uint32_t events, Callback callback) {
  std::lock_guard lock(mutex_);
  int descriptor = ::inotify_add_watch(inotify_.get(), path.c_str(), events);
  if (descriptor < 0) return errno_error("watch " + path);
  int number = next_number_++;
  entries_.emplace(number, Entry{descriptor, std::move(callback)});
  return number;
}

void FileWatch::remove(int number) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(number);
  if (found == entries_.end()) return;
  int descriptor = found->second.descriptor;
  entries_.erase(found);
  bool shared = std::ranges::any_of(
      entries_, [&](const auto& entry) { return entry.second.descriptor == descriptor; });
  if (!shared) ::inotify_rm_watch(inotify_.get(), descriptor);
}

void FileWatch::run() {
  alignas(inotify_event) char buffer[16384];
  while (true) {
    pollfd waiting[2] = {{inotify_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    ssize_t n = ::read(inotify_.get(), buffer, sizeof buffer);
    for (ssize_t at = 0; at < n;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      // The kernel's queue ran over: everybody looks for himself.
      int descriptor = (event->mask & IN_Q_OVERFLOW) != 0 ? kEverybody : event->wd;
      dispatch(descriptor, event->len > 0 ? std::string(event->name) : std::string());
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

void FileWatch::dispatch(int descriptor, const std::string& name) {
  std::vector<Callback> callbacks;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [number, entry] : entries_)
      if (descriptor == kEverybody || entry.descriptor == descriptor)
        callbacks.push_back(entry.callback);
  }
  for (const Callback& callback : callbacks) callback(name);
}

}  // namespace hekla::agent
