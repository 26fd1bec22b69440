// Exec, attach, port-forward and logs of this node's pods: what the API server asks of the agent.
#pragma once

#include <memory>
#include <string>

#include "agent/logs/log_streams.h"
#include "agent/machine/linux_machine.h"
#include "agent/os/fd_loop.h"
#include "agent/streams/stream_source.h"
#include "kube/pod_streams.h"

namespace hekla::agent {

// Shared by the streams and their sessions, which keep it when the streams are gone.
struct StreamCore {
  Executor& executor;
  std::unique_ptr<FdLoop> loop;
  // On the executor; null once the agent has ended.
  LinuxMachine* machine = nullptr;
  StreamSource* source = nullptr;
};

class NodeStreams final : public kube::PodStreams {
 public:
  // Machine and source outlive this.
  static Result<std::unique_ptr<NodeStreams>> open(Executor& executor, LinuxMachine& machine,
                                                   StreamSource& source);
  NodeStreams(std::shared_ptr<StreamCore> core, std::unique_ptr<LogStreams> logs);
  // On the executor, before the machine goes.
  ~NodeStreams() override;

  void logs(const kube::PodRef& pod, const kube::LogOptions& options,
            std::shared_ptr<kube::ByteSink> sink, Done<void> started) override {
    logs_->logs(pod, options, std::move(sink), std::move(started));
  }
  void kept_logs(const std::string& ns, Done<std::vector<kube::KeptLog>> done) override {
    logs_->kept_logs(ns, std::move(done));
  }
  void usage(Done<kube::NodeUsage> done) override;
  void exec(const kube::PodRef& pod, const kube::ExecOptions& options, ProcessReady ready) override;
  void attach(const kube::PodRef& pod, const kube::ExecOptions& options,
              ProcessReady ready) override;
  void open_socket(std::function<void(Result<int>)> done) override;
  void forward(const kube::PodRef& pod, std::uint16_t port,
               std::shared_ptr<kube::ForwardClient> client, ForwardReady ready) override;
  // A connection to an address of the network that pods are in.
  void forward_to(const std::string& address, std::uint16_t port,
                  std::shared_ptr<kube::ForwardClient> client, ForwardReady ready);

 private:
  std::shared_ptr<StreamCore> core_;
  std::unique_ptr<LogStreams> logs_;
};

// One file each.
std::shared_ptr<kube::PodProcess> make_exec_session(std::shared_ptr<StreamCore> core,
                                                    StreamTarget target,
                                                    const kube::ExecOptions& options);
std::shared_ptr<kube::PodProcess> make_attach_session(std::shared_ptr<StreamCore> core,
                                                      AttachPlace place,
                                                      const kube::ExecOptions& options);
// `address`: IPv4, in the namespace that the socket is of.
void open_forward(const std::shared_ptr<StreamCore>& core, FileDescriptor socket,
                  const std::string& address, std::uint16_t port,
                  std::shared_ptr<kube::ForwardClient> client,
                  kube::PodStreams::ForwardReady ready);

}  // namespace hekla::agent
