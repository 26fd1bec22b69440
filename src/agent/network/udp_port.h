// A UDP port of the host's loopback that leads to pods: each client gets a socket of its own in the
// pods' parent namespace, by which the answers come back. On its loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/os/fd_loop.h"
#include "agent/os/file_descriptor.h"

namespace hekla::agent {

class UdpPort : public std::enable_shared_from_this<UdpPort> {
 public:
  using Targets = std::vector<std::pair<std::string, std::int32_t>>;
  // Makes a socket in the parent namespace and hands it over on the loop's thread, or none.
  using Dial = std::function<void(std::move_only_function<void(FileDescriptor)> done)>;

  UdpPort(FdLoop& loop, FileDescriptor socket, Dial dial)
      : loop_(loop), socket_(std::move(socket)), dial_(std::move(dial)) {}
  void start();
  void stop();
  // Clients that are served already stay with their pod.
  void set_targets(Targets targets) { targets_ = std::move(targets); }

 private:
  using Client = std::pair<std::uint32_t, std::uint16_t>;  // in network order
  struct Session {
    FileDescriptor pod;
    std::vector<std::string> waiting;  // until there is a socket
    MonoTime used;
  };
  void receive();
  void open_session(const Client& client);
  void opened(const Client& client, FileDescriptor pod,
              const std::pair<std::string, std::int32_t>& target);
  void answer(const Client& client);
  void close_session(const Client& client);
  void expire();

  FdLoop& loop_;
  FileDescriptor socket_;
  Dial dial_;
  Targets targets_;
  std::size_t next_ = 0;
  bool stopped_ = false;
  std::map<Client, Session> sessions_;
};

}  // namespace hekla::agent
