// Hands questions that are not ours to answer to other name servers, and their answers back. On the
// DNS responder's thread; never blocks.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/runtime/file_descriptor.h"
#include "base/clock.h"
#include "base/result.h"

namespace hekla::agent {

class DnsForwarder {
 public:
  // Sockets are made in the network namespace of the calling thread.
  Result<void> open(const std::vector<std::uint32_t>& upstreams, std::uint16_t port = 53);
  bool is_open() const { return !upstreams_.empty(); }

  // Sends the question on; false when it cannot be.
  bool ask(std::string_view query, const sockaddr_in& client, MonoTime now);
  // The descriptors to wait for.
  std::vector<int> sockets() const;
  // Hands the answers that have arrived to their clients through `socket`.
  void answer(int socket);
  std::size_t pending() const { return pending_.size(); }

 private:
  struct Question {
    sockaddr_in client{};
    std::uint16_t id = 0;  // the client's
    std::string asked;     // the question section, which the answer repeats
    MonoTime at;
  };
  std::vector<FileDescriptor> upstreams_;
  std::size_t current_ = 0;
  std::map<std::uint16_t, Question> pending_;  // by the id that we gave it
};

}  // namespace hekla::agent
