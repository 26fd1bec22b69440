// IP addresses and ranges.
#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "cel/functions.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;

std::optional<Ip> parse_ip(std::string_view text) {
  const std::string copy(text);
  Ip out;
  out.bytes[10] = out.bytes[11] = 0xff;
  if (inet_pton(AF_INET, copy.c_str(), out.bytes.data() + 12) == 1) {
    out.v4 = true;
    return out;
  }
  out = {};
  if (inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) != 1) return std::nullopt;
  // An IPv4 address in IPv6's clothes is refused.
  const bool mapped = std::all_of(out.bytes.begin(), out.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
                      out.bytes[10] == 0xff && out.bytes[11] == 0xff;
  if (mapped) return std::nullopt;
  return out;
}

std::optional<Cidr> parse_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::optional<Ip> ip = parse_ip(text.substr(0, slash));
  if (!ip) return std::nullopt;
  std::string_view digits = text.substr(slash + 1);
  int prefix = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.starts_with('-') ||
      prefix > (ip->v4 ? 32 : 128) || (digits.size() > 1 && digits[0] == '0'))
    return std::nullopt;
  return Cidr{*ip, prefix};
}

Ip masked(const Cidr& cidr) {
  Ip out = cidr.ip;
  const int bits = cidr.prefix + (cidr.ip.v4 ? 96 : 0);
  for (int i = 0; i < 16; ++i) {
    const int keep = std::clamp(bits - 8 * i, 0, 8);
    out.bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> keep);
  }
  return out;
}

Result<Value> is_ip(Arguments a, Budget&) { return Value(parse_ip(a[0].view()).has_value()); }
Result<Value> ip_of(Arguments a, Budget&) {
  std::optional<Ip> ip = parse_ip(a[0].view());
  if (!ip)
    return cel_error("IP Address \"" + std::string(a[0].view()) +
                     "\" parse error during conversion from string: unable to parse IP");
  return Value(*ip);
}
Result<Value> ip_is_canonical(Arguments a, Budget&) {
  std::optional<Ip> ip = parse_ip(a[0].view());
  if (!ip)
    return cel_error("IP Address \"" + std::string(a[0].view()) +
                     "\" parse error during conversion from string: unable to parse IP");
  return Value(ip->text() == a[0].view());
}
Result<Value> ip_family(Arguments a, Budget&) { return Value(Int{a[0].get<Ip>().v4 ? 4 : 6}); }

bool unspecified(const Ip& ip) {
  return std::all_of(ip.bytes.begin() + (ip.v4 ? 12 : 0), ip.bytes.end(), [](auto b) { return b == 0; });
}
bool loopback(const Ip& ip) {
  if (ip.v4) return ip.bytes[12] == 127;
  return ip.bytes[15] == 1 && std::all_of(ip.bytes.begin(), ip.bytes.end() - 1, [](auto b) { return b == 0; });
}
bool multicast(const Ip& ip) { return ip.v4 ? (ip.bytes[12] & 0xf0) == 0xe0 : ip.bytes[0] == 0xff; }
bool link_local_multicast(const Ip& ip) {
  return ip.v4 ? ip.bytes[12] == 224 && ip.bytes[13] == 0 && ip.bytes[14] == 0
               : ip.bytes[0] == 0xff && (ip.bytes[1] & 0x0f) == 2;
}
bool link_local_unicast(const Ip& ip) {
  return ip.v4 ? ip.bytes[12] == 169 && ip.bytes[13] == 254
               : ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80;
}
bool global_unicast(const Ip& ip) {
  const bool broadcast =
      ip.v4 && std::all_of(ip.bytes.begin() + 12, ip.bytes.end(), [](auto b) { return b == 255; });
  return !broadcast && !unspecified(ip) && !loopback(ip) && !multicast(ip) && !link_local_unicast(ip);
}
template <bool (*test)(const Ip&)>
Result<Value> ip_test(Arguments a, Budget&) {
  return Value(test(a[0].get<Ip>()));
}

Result<Value> is_cidr(Arguments a, Budget&) { return Value(parse_cidr(a[0].view()).has_value()); }
Result<Value> cidr_of(Arguments a, Budget&) {
  std::optional<Cidr> cidr = parse_cidr(a[0].view());
  if (!cidr) return cel_error("network address parse error during conversion from string: invalid CIDR");
  return Value(*cidr);
}
bool contains(const Cidr& range, const Ip& ip) {
  return range.ip.v4 == ip.v4 && masked(range).bytes == masked({ip, range.prefix}).bytes;
}
Result<Value> cidr_contains_ip(Arguments a, Budget&) {
  std::optional<Ip> ip;
  if (a[1].as<Ip>()) ip = a[1].get<Ip>();
  else ip = parse_ip(a[1].view());
  if (!ip) return cel_error("IP Address parse error during conversion from string: unable to parse IP");
  return Value(contains(a[0].get<Cidr>(), *ip));
}
Result<Value> cidr_contains_cidr(Arguments a, Budget&) {
  std::optional<Cidr> inner;
  if (a[1].as<Cidr>()) inner = a[1].get<Cidr>();
  else inner = parse_cidr(a[1].view());
  if (!inner) return cel_error("network address parse error during conversion from string: invalid CIDR");
  const Cidr& outer = a[0].get<Cidr>();
  return Value(inner->prefix >= outer.prefix && contains(outer, inner->ip));
}
Result<Value> cidr_ip(Arguments a, Budget&) { return Value(a[0].get<Cidr>().ip); }
Result<Value> cidr_masked(Arguments a, Budget&) {
  return Value(Cidr{masked(a[0].get<Cidr>()), a[0].get<Cidr>().prefix});
}
Result<Value> cidr_prefix(Arguments a, Budget&) { return Value(Int{a[0].get<Cidr>().prefix}); }

constexpr FunctionEntry kNetwork[] = {
    {"isIP", false, "(string) bool", is_ip},
    {"ip", false, "(string) ip", ip_of},
    {"ip.isCanonical", false, "(string) bool", ip_is_canonical},
    {"family", true, "(ip) int", ip_family},
    {"isUnspecified", true, "(ip) bool", ip_test<unspecified>},
    {"isLoopback", true, "(ip) bool", ip_test<loopback>},
    {"isLinkLocalMulticast", true, "(ip) bool", ip_test<link_local_multicast>},
    {"isLinkLocalUnicast", true, "(ip) bool", ip_test<link_local_unicast>},
    {"isGlobalUnicast", true, "(ip) bool", ip_test<global_unicast>},
    {"isCIDR", false, "(string) bool", is_cidr},
    {"cidr", false, "(string) cidr", cidr_of},
    {"containsIP", true, "(cidr,string) bool", cidr_contains_ip},
    {"containsIP", true, "(cidr,ip) bool", cidr_contains_ip},
    {"containsCIDR", true, "(cidr,string) bool", cidr_contains_cidr},
    {"containsCIDR", true, "(cidr,cidr) bool", cidr_contains_cidr},
    {"ip", true, "(cidr) ip", cidr_ip},
    {"masked", true, "(cidr) cidr", cidr_masked},
    {"prefixLength", true, "(cidr) int", cidr_prefix},
};

}  // namespace

std::string Ip::text() const {
  char buffer[INET6_ADDRSTRLEN];
  return v4 ? inet_ntop(AF_INET, bytes.data() + 12, buffer, sizeof buffer)
            : inet_ntop(AF_INET6, bytes.data(), buffer, sizeof buffer);
}

std::span<const FunctionEntry> network_functions() { return kNetwork; }

}  // namespace hekla::cel
