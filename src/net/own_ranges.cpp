#include "net/own_ranges.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace hekla::net {
namespace {

constexpr int kBits = 32;
constexpr std::size_t kMappedPrefix = 12;  // bytes of ::ffff:0:0/96

std::optional<std::uint32_t> ipv4_of(const sockaddr* address) {
  std::uint32_t found = 0;
  if (address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    found = in.sin_addr.s_addr;
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    if (!IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) return std::nullopt;
    std::memcpy(&found, in.sin6_addr.s6_addr + kMappedPrefix, sizeof found);
  } else {
    return std::nullopt;
  }
  return ntohl(found);
}

}  // namespace

Result<OwnRanges> OwnRanges::parse(const std::vector<std::string>& blocks) {
  OwnRanges out;
  for (const std::string& block : blocks) {
    const std::size_t slash = block.find('/');
    in_addr base{};
    int prefix = -1;
    if (slash != std::string::npos)
      std::from_chars(block.data() + slash + 1, block.data() + block.size(), prefix);
    if (prefix < 0 || prefix > kBits ||
        ::inet_pton(AF_INET, block.substr(0, slash).c_str(), &base) != 1)
      return fail(Code::bad_request, "\"" + block + "\" is no range of IPv4 addresses");
    const std::uint32_t mask = prefix == 0 ? 0 : ~std::uint32_t{0} << (kBits - prefix);
    out.ranges_.push_back({ntohl(base.s_addr) & mask, mask});
  }
  return out;
}

std::optional<std::string> OwnRanges::refusal(const sockaddr* address) const {
  const std::optional<std::uint32_t> asked = ipv4_of(address);
  if (!asked) return std::nullopt;
  for (const Range& range : ranges_) {
    if ((*asked & range.mask) != range.base) continue;
    const in_addr named{htonl(*asked)};
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &named, text, sizeof text);
    return std::string(text) +
           " is an address of pods or services, which cannot be reached from the host's network";
  }
  return std::nullopt;
}

}  // namespace hekla::net
