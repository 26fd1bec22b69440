#include "agent/rootless/netns_thread.h"

#include <fcntl.h>
#include <sched.h>

namespace hekla::agent {
namespace {

thread_local const NetnsThread* settled = nullptr;

}  // namespace

Result<std::unique_ptr<NetnsThread>> NetnsThread::start(const InstanceNamespace& instance) {
  auto thread = std::make_unique<NetnsThread>();
  TRY(thread->run<void>([&] { return thread->settle(instance); }));
  return thread;
}

bool NetnsThread::is_here() const { return settled == this; }

Result<void> NetnsThread::settle(const InstanceNamespace& instance) {
  TRY(instance.enter());
  if (::unshare(CLONE_NEWNET | CLONE_NEWIPC) != 0)
    return errno_error("make a network and an IPC namespace");
  home_ = FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home_) return errno_error("open the new network namespace");
  settled = this;
  return {};
}

}  // namespace hekla::agent
