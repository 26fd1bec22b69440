// Addresses that exist only in network namespaces of our own making: those of pods and services.
// From the host's network they are somebody else's, and the default route would carry what is sent
// to them off the machine. Whoever connects from there on a user's word asks here first, with the
// address that is about to be used. Immutable.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hekla::net {

class OwnRanges {
 public:
  // "10.244.0.0/16".
  static Result<OwnRanges> parse(const std::vector<std::string>& blocks);
  // Why no connection is made to the address; nothing where it is not ours. IPv4 inside IPv6 counts
  // too.
  std::optional<std::string> refusal(const sockaddr* address) const;

 private:
  struct Range {
    std::uint32_t base = 0, mask = 0;  // host byte order
  };
  std::vector<Range> ranges_;
};

}  // namespace hekla::net
