// IPv4 addresses of pods on one node. The first address of the range is the bridge's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::agent {

struct Subnet {
  std::uint32_t base = 0;  // host byte order
  int prefix = 16;
  // "10.244.0.0/16"; prefixes from 8 to 29.
  static Result<Subnet> parse(std::string_view text);
  std::uint32_t size() const { return 1u << (32 - prefix); }
  std::uint32_t gateway() const { return base + 1; }
};

std::string ipv4_text(std::uint32_t address);
std::optional<std::uint32_t> parse_ipv4(std::string_view text);

// Not thread-safe.
class AddressPool {
 public:
  explicit AddressPool(Subnet subnet) : subnet_(subnet), next_(subnet.base + 2) {}
  // Goes round the range, so that an address rests as long as possible before it is used again.
  std::optional<std::uint32_t> take();
  // Marks one as used, for pods found alive after a restart. False when it is taken or outside.
  bool claim(std::uint32_t address);
  void release(std::uint32_t address) { used_.erase(address); }
  std::size_t used() const { return used_.size(); }

 private:
  Subnet subnet_;
  std::uint32_t next_;
  std::set<std::uint32_t> used_;
};

}  // namespace hekla::agent
