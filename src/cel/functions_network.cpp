// IP addresses and ranges.
#include <arpa/inet.h>

#include <algorithm>

#include "cel/functions.h"
#include "json/go_text.h"

namespace hekla::cel {
namespace {

using Int = std::int64_t;

// Why Go's netip takes the text for no address.
std::string address_problem(std::string_view text) {
  const std::size_t sign = text.find_first_of(".:%");
  if (sign == std::string_view::npos) return "unable to parse IP";
  if (text[sign] == '%') return "missing IPv6 address";
  if (text[sign] == ':') return "unable to parse IP";
  int fields = 0;
  for (std::size_t at = 0; at <= text.size(); ++fields) {
    const std::size_t end = std::min(text.find('.', at), text.size());
    const std::string_view field = text.substr(at, end - at);
    at = end + 1;
    if (const std::size_t odd = field.find_first_not_of("0123456789");
        odd != std::string_view::npos)
      return "unexpected character (at " + json::go_quote(text.substr(end - field.size() + odd)) +
             ")";
    if (field.empty()) return "IPv4 field must have at least one digit";
    if (field.size() > 1 && field[0] == '0') return "IPv4 field has octet with leading zero";
    if (field.size() > 3 || std::stoi(std::string(field)) > 255) return "IPv4 field has value >255";
  }
  return fields < 4 ? "IPv4 address too short" : "IPv4 address too long";
}

Result<Ip> read_address(std::string_view text) {
  const std::string copy(text);
  Ip out;
  out.bytes[10] = out.bytes[11] = 0xff;
  if (inet_pton(AF_INET, copy.c_str(), out.bytes.data() + 12) == 1) {
    out.v4 = true;
    return out;
  }
  out = {};
  if (inet_pton(AF_INET6, copy.c_str(), out.bytes.data()) == 1) return out;
  return cel_error("ParseAddr(" + json::go_quote(text) + "): " + address_problem(text));
}

// An IPv4 address in IPv6's clothes.
bool is_mapped(const Ip& ip) {
  return !ip.v4 &&
         std::all_of(ip.bytes.begin(), ip.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         ip.bytes[10] == 0xff && ip.bytes[11] == 0xff;
}

Result<Ip> parse_ip(std::string_view text) {
  if (const std::size_t zone = text.find('%');
      zone != std::string_view::npos && zone + 1 < text.size())
    if (Result<Ip> ip = read_address(text.substr(0, zone)); ip && !ip->v4)
      return cel_error("IP address " + json::go_quote(text) + " with zone value is not allowed");
  Result<Ip> ip = read_address(text);
  if (!ip)
    return cel_error("IP Address " + json::go_quote(text) +
                     " parse error during conversion from string: " + ip.error().message);
  if (is_mapped(*ip))
    return cel_error("IPv4-mapped IPv6 address " + json::go_quote(text) + " is not allowed");
  return ip;
}

Result<Cidr> parse_cidr(std::string_view text) {
  const std::string head = "network address parse error during conversion from string: ";
  auto refused = [&](const std::string& why) {
    return cel_error(head + head + "netip.ParsePrefix(" + json::go_quote(text) + "): " + why);
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return refused("no '/'");
  Result<Ip> ip = read_address(text.substr(0, slash));
  if (!ip) return refused(ip.error().message);
  const std::string_view digits = text.substr(slash + 1);
  const bool number =
      !digits.empty() && digits.size() <= 3 && (digits.size() == 1 || digits[0] != '0') &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number) return refused("bad bits after slash: " + json::go_quote(digits));
  const int prefix = std::stoi(std::string(digits));
  if (prefix > (ip->v4 ? 32 : 128)) return refused("prefix length out of range");
  if (is_mapped(*ip))
    return cel_error(head + "IPv4-mapped IPv6 address " + json::go_quote(text) + " is not allowed");
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
Result<Value> ip_of(Arguments a, Budget&) { return Value(TRY(parse_ip(a[0].view()))); }
Result<Value> ip_is_canonical(Arguments a, Budget&) {
  return Value(TRY(parse_ip(a[0].view())).text() == a[0].view());
}
Result<Value> ip_family(Arguments a, Budget&) { return Value(Int{a[0].get<Ip>().v4 ? 4 : 6}); }

bool unspecified(const Ip& ip) {
  return std::all_of(ip.bytes.begin() + (ip.v4 ? 12 : 0), ip.bytes.end(),
                     [](auto b) { return b == 0; });
}
bool loopback(const Ip& ip) {
  if (ip.v4) return ip.bytes[12] == 127;
  return ip.bytes[15] == 1 &&
         std::all_of(ip.bytes.begin(), ip.bytes.end() - 1, [](auto b) { return b == 0; });
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
  return !broadcast && !unspecified(ip) && !loopback(ip) && !multicast(ip) &&
         !link_local_unicast(ip);
}
template <bool (*test)(const Ip&)>
Result<Value> ip_test(Arguments a, Budget&) {
  return Value(test(a[0].get<Ip>()));
}

Result<Value> is_cidr(Arguments a, Budget&) { return Value(parse_cidr(a[0].view()).has_value()); }
Result<Value> cidr_of(Arguments a, Budget&) { return Value(TRY(parse_cidr(a[0].view()))); }
bool contains(const Cidr& range, const Ip& ip) {
  return range.ip.v4 == ip.v4 && masked(range).bytes == masked({ip, range.prefix}).bytes;
}
Result<Value> cidr_contains_ip(Arguments a, Budget&) {
  if (const Ip* ip = a[1].as<Ip>()) return Value(contains(a[0].get<Cidr>(), *ip));
  const Result<Ip> ip = parse_ip(a[1].view());
  if (!ip) return cel_error("no such overload");
  return Value(contains(a[0].get<Cidr>(), *ip));
}
Result<Value> cidr_contains_cidr(Arguments a, Budget&) {
  const Cidr inner = a[1].as<Cidr>() ? a[1].get<Cidr>() : TRY(parse_cidr(a[1].view()));
  const Cidr& outer = a[0].get<Cidr>();
  return Value(inner.prefix >= outer.prefix && contains(outer, inner.ip));
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
