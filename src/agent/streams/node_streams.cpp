#include "agent/streams/node_streams.h"

#include <sys/socket.h>

namespace hekla::agent {
namespace {

Error stopping_error() { return Error{Code::unavailable, "the agent is stopping"}; }

// Finds a running container for exec and attach.
Result<StreamTarget> running_target(const StreamCore& core, const kube::PodRef& pod,
                                    const std::string& container) {
  if (!core.machine) return std::unexpected(stopping_error());
  StreamTarget target = TRY(core.source->find(pod, container));
  const ContainerRecord& record = target.record.containers[target.container];
  if (!record.current || record.current->phase != run_phase::running)
    return fail(Code::internal,
                "unable to upgrade connection: container not found (\"" + record.name + "\")");
  return target;
}

}  // namespace

Result<std::unique_ptr<NodeStreams>> NodeStreams::open(Executor& executor, LinuxMachine& machine,
                                                       StreamSource& source) {
  auto core = std::make_shared<StreamCore>(
      StreamCore{executor, TRY(FdLoop::open("hekla-streams")), &machine, &source});
  auto log_streams = TRY(LogStreams::open(executor, source));
  return std::make_unique<NodeStreams>(std::move(core), std::move(log_streams));
}

NodeStreams::NodeStreams(std::shared_ptr<StreamCore> core, std::unique_ptr<LogStreams> logs)
    : core_(std::move(core)), logs_(std::move(logs)) {}

NodeStreams::~NodeStreams() {
  core_->machine = nullptr;
  core_->source = nullptr;
  core_->loop->stop();
}

void NodeStreams::usage(Done<kube::NodeUsage> done) {
  core_->executor.post([core = core_, done = std::move(done)]() mutable {
    if (!core->machine) return done(std::unexpected(stopping_error()));
    core->source->measure(std::move(done));
  });
}

void NodeStreams::exec(const kube::PodRef& pod, const kube::ExecOptions& options,
                       ProcessReady ready) {
  core_->executor.post([core = core_, pod, options, ready = std::move(ready)]() mutable {
    Result<StreamTarget> target = running_target(*core, pod, options.container);
    if (!target) return ready(std::unexpected(target.error()));
    ready(make_exec_session(core, std::move(*target), options));
  });
}

void NodeStreams::attach(const kube::PodRef& pod, const kube::ExecOptions& options,
                         ProcessReady ready) {
  core_->executor.post([core = core_, pod, options, ready = std::move(ready)]() mutable {
    Result<StreamTarget> target = running_target(*core, pod, options.container);
    if (!target) return ready(std::unexpected(target.error()));
    AttachPlace place = core->machine->attach_place(target->record, target->container);
    ready(make_attach_session(core, std::move(place), options));
  });
}

void NodeStreams::open_socket(std::function<void(Result<int>)> done) {
  core_->executor.post([core = core_, done = std::move(done)] {
    if (!core->machine) return done(std::unexpected(stopping_error()));
    core->machine->dial_parent(SOCK_STREAM, [done](Result<FileDescriptor> socket) {
      if (!socket) return done(std::unexpected(socket.error()));
      done(socket->release());
    });
  });
}

void NodeStreams::forward(const kube::PodRef& pod, std::uint16_t port,
                          std::shared_ptr<kube::ForwardClient> client, ForwardReady ready) {
  core_->executor.post(
      [core = core_, pod, port, client = std::move(client), ready = std::move(ready)]() mutable {
        if (!core->machine) return ready(std::unexpected(stopping_error()));
        Result<StreamTarget> target = core->source->find(pod, "");
        if (!target) return ready(std::unexpected(target.error()));
        if (!target->record.sandbox)
          return ready(fail(Code::internal, "unable to forward port because pod is not running"));
        core->machine->pod_socket(
            target->record, [core, port, client = std::move(client),
                             ready = std::move(ready)](Result<FileDescriptor> socket) mutable {
              if (!socket) return ready(std::unexpected(socket.error()));
              open_forward(core, std::move(*socket), "127.0.0.1", port, std::move(client),
                           std::move(ready));
            });
      });
}

void NodeStreams::forward_to(const std::string& address, std::uint16_t port,
                             std::shared_ptr<kube::ForwardClient> client, ForwardReady ready) {
  core_->executor.post([core = core_, address, port, client = std::move(client),
                        ready = std::move(ready)]() mutable {
    if (!core->machine) return ready(std::unexpected(stopping_error()));
    core->machine->dial_parent(SOCK_STREAM, [core, address, port, client = std::move(client),
                                             ready = std::move(ready)](
                                                Result<FileDescriptor> socket) mutable {
      if (!socket) return ready(std::unexpected(socket.error()));
      open_forward(core, std::move(*socket), address, port, std::move(client), std::move(ready));
    });
  });
}

}  // namespace hekla::agent
