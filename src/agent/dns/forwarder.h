// Hands questions that are not ours to answer to other name servers, and their answers back. On the
// DNS responder's thread; never blocks.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/os/file_descriptor.h"
#include "base/clock.h"

namespace hekla::agent {

// Takes the answer, under the id of the question.
using DnsReply = std::move_only_function<void(std::string answer)>;

class DnsForwarder {
 public:
  // Addresses of name servers, IPv4 or IPv6; those that cannot be reached are left out. Sockets are
  // made in the network namespace of the calling thread. Whatever was asked of others before is
  // forgotten.
  void use(const std::vector<std::string>& servers, std::uint16_t port = 53);
  bool is_open() const { return !upstreams_.empty(); }

  // Sends the question on, in a datagram or over a connection as it has come; false when it cannot
  // be.
  bool ask(std::string_view query, bool stream, DnsReply reply, MonoTime now);
  // The descriptors to wait for.
  void add_waits(std::vector<pollfd>& waiting) const;
  // Hands over the answers that have arrived.
  void progress();
  std::size_t pending() const { return pending_.size() + streams_.size(); }

 private:
  struct Upstream {
    FileDescriptor socket;  // connected
    std::string address;    // as the kernel has it
  };
  struct Question {
    std::uint16_t id = 0;  // the client's
    std::string asked;     // the question section, which the answer repeats
    MonoTime at;
    DnsReply reply;
  };
  struct Stream {
    FileDescriptor socket;
    std::string out, in;
    Question question;
  };
  void forget_old(MonoTime now);
  bool ask_by_stream(std::string_view query, Question question);
  // False when the stream is done.
  static bool progress(Stream& stream);

  std::vector<Upstream> upstreams_;
  std::size_t current_ = 0;
  std::map<std::uint16_t, Question> pending_;  // by the id that we gave it
  std::list<Stream> streams_;
};

}  // namespace hekla::agent
