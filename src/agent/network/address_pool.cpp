#include "agent/network/address_pool.h"

#include <arpa/inet.h>

#include <charconv>

#include "base/check.h"

namespace hekla::agent {

std::string ipv4_text(std::uint32_t address) {
  char text[INET_ADDRSTRLEN];
  in_addr raw{htonl(address)};
  ::inet_ntop(AF_INET, &raw, text, sizeof text);
  return text;
}

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  in_addr raw{};
  if (text.find('\0') != std::string_view::npos) return std::nullopt;  // where inet_pton would stop
  if (::inet_pton(AF_INET, std::string(text).c_str(), &raw) != 1) return std::nullopt;
  return ntohl(raw.s_addr);
}

Result<Subnet> Subnet::parse(std::string_view text) {
  auto bad = [&] {
    return fail(Code::bad_request, "pod network \"" + std::string(text) +
                                       "\": expected an IPv4 range such as 10.244.0.0/16");
  };
  std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad();
  std::optional<std::uint32_t> base = parse_ipv4(text.substr(0, slash));
  std::string_view digits = text.substr(slash + 1);
  Subnet subnet;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), subnet.prefix);
  if (!base || error != std::errc{} || end != digits.data() + digits.size()) return bad();
  if (subnet.prefix < 8 || subnet.prefix > 29 || (*base & (subnet.size() - 1)) != 0) return bad();
  subnet.base = *base;
  return subnet;
}

std::optional<std::uint32_t> AddressPool::take() {
  const std::uint32_t first = subnet_.base + 2, last = subnet_.base + subnet_.size() - 2;
  for (std::uint32_t tried = 0; tried <= last - first; ++tried) {
    std::uint32_t candidate = next_;
    next_ = candidate >= last ? first : candidate + 1;
    CHECK(candidate >= first && candidate <= last, "pods' addresses are in their network");
    if (used_.insert(candidate).second) return candidate;
  }
  return std::nullopt;
}

bool AddressPool::claim(std::uint32_t address) {
  if (address < subnet_.base + 2 || address > subnet_.base + subnet_.size() - 2) return false;
  if (!used_.insert(address).second) return false;
  if (address >= next_)
    next_ = address >= subnet_.base + subnet_.size() - 2 ? subnet_.base + 2 : address + 1;
  return true;
}

}  // namespace hekla::agent
