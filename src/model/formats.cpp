// String formats, each as go-openapi's strfmt understands it.
#include "model/formats.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "base/bytes.h"
#include "model/time.h"

namespace hekla::model {
namespace {

bool all_of(std::string_view text, auto&& good) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return good(static_cast<unsigned char>(c)); });
}
bool is_digits(std::string_view text) {
  return !text.empty() && all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}
bool is_hex(std::string_view text) {
  return !text.empty() && all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

bool is_uuid(std::string_view text, char version) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool dash = text.size() == 36 && (i == 8 || i == 13 || i == 18 || i == 23);
    if (dash && text[i] != '-') return false;
    if (!dash) digits += text[i];
  }
  if (digits.size() != 32 || !is_hex(digits)) return false;
  if (version == 0) return true;
  if (digits[12] != version) return false;
  if (version == '3') return true;
  return std::string_view("89abAB").find(digits[16]) != std::string_view::npos;
}

bool is_mac(std::string_view text) {
  for (char separator : {':', '-'}) {
    std::size_t groups = 0, at = 0;
    bool good = true;
    while (good && at <= text.size()) {
      std::size_t end = std::min(text.find(separator, at), text.size());
      good = end - at == 2 && is_hex(text.substr(at, 2));
      ++groups;
      at = end + 1;
    }
    if (good && (groups == 6 || groups == 8 || groups == 20)) return true;
  }
  return false;
}

bool is_hostname(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  if (text.ends_with('.')) text.remove_suffix(1);
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('.', at), text.size());
    std::string_view label = text.substr(at, end - at);
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-')
      return false;
    if (!all_of(label, [](unsigned char c) {
          return std::isalnum(c) || c == '-' || c == '_' || c >= 0x80;
        }))
      return false;
    at = end + 1;
  }
  return true;
}

bool is_email(std::string_view text) {
  std::size_t at = text.rfind('@');
  return at != std::string_view::npos && at > 0 && is_hostname(text.substr(at + 1)) &&
         all_of(text.substr(0, at), [](unsigned char c) { return c > ' '; });
}

// A URL with a scheme, or a rooted path, as http.Request.RequestURI may hold.
bool is_uri(std::string_view text) {
  if (!all_of(text, [](unsigned char c) { return c > ' ' && c != 0x7f; })) return false;
  if (text.starts_with('/')) return true;
  std::size_t colon = text.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  return std::isalpha(static_cast<unsigned char>(text[0])) &&
         all_of(text.substr(0, colon), [](unsigned char c) {
           return std::isalnum(c) || c == '+' || c == '-' || c == '.';
         });
}

bool is_date(std::string_view text) {
  return text.size() == 10 && parse_rfc3339(std::string(text) + "T00:00:00Z").has_value();
}

// Go's durations, or a whole number of days or weeks written out ("3 days").
bool is_duration(std::string_view text) {
  if (parse_go_duration(text)) return true;
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  static constexpr std::string_view kUnits[] = {
      "ns",     "nano",    "us", "micro", "ms",     "milli",   "s",    "sec",
      "second", "seconds", "m",  "min",   "minute", "minutes", "h",    "hr",
      "hour",   "hours",   "d",  "day",   "days",   "w",       "week", "weeks"};
  return digits > 0 && std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits);
}

}  // namespace

bool is_ipv4(std::string_view text) {
  int parts = 0;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('.', at), text.size());
    std::string_view part = text.substr(at, end - at);
    int value = 256;
    if (!is_digits(part) || part.size() > 3 || (part.size() > 1 && part[0] == '0')) return false;
    std::from_chars(part.data(), part.data() + part.size(), value);
    if (value > 255) return false;
    ++parts;
    at = end + 1;
  }
  return parts == 4;
}

bool is_ipv6(std::string_view text) {
  // At most one "::"; the halves around it hold groups of up to four hex digits, the last of which
  // may be an IPv4 address that counts twice.
  const auto groups_of = [](std::string_view half, bool last) {
    int groups = 0;
    for (std::size_t at = 0; !half.empty() && at <= half.size();) {
      std::size_t end = std::min(half.find(':', at), half.size());
      std::string_view group = half.substr(at, end - at);
      if (last && end == half.size() && is_ipv4(group))
        groups += 2;
      else if (group.size() <= 4 && is_hex(group))
        ++groups;
      else
        return -1;
      at = end + 1;
    }
    return groups;
  };
  std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return groups_of(text, true) == 8;
  int before = groups_of(text.substr(0, gap), false), after = groups_of(text.substr(gap + 2), true);
  return before >= 0 && after >= 0 && before + after < 8;
}

std::vector<std::string> ip_errors(std::string_view text) {
  const bool narrow = is_ipv4(text);
  if (!narrow && !is_ipv6(text))
    return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
  if (narrow) return {};  // there is no other way to write it
  in6_addr address;
  char canonical[INET6_ADDRSTRLEN];
  inet_pton(AF_INET6, std::string(text).c_str(), &address);
  if (IN6_IS_ADDR_V4MAPPED(&address)) return {"must not be an IPv4-mapped IPv6 address"};
  inet_ntop(AF_INET6, &address, canonical, sizeof canonical);
  if (text == canonical) return {};
  return {"must be in canonical form (\"" + std::string(canonical) + "\")"};
}

bool is_cidr(std::string_view text) {
  std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  if (!is_digits(bits) || bits.size() > 3 || (bits.size() > 1 && bits[0] == '0')) return false;
  int length = std::stoi(std::string(bits));
  return is_ipv4(address) ? length <= 32 : is_ipv6(address) && length <= 128;
}

bool satisfies_format(std::string_view format, std::string_view text) {
  if (format == "date-time" || format == "datetime") return parse_rfc3339(text).has_value();
  if (format == "date") return is_date(text);
  if (format == "duration") return is_duration(text);
  if (format == "byte") return base64_decode(text).has_value();
  if (format == "uri") return is_uri(text);
  if (format == "email") return is_email(text);
  if (format == "hostname") return is_hostname(text);
  if (format == "ipv4") return is_ipv4(text);
  if (format == "ipv6") return is_ipv6(text);
  if (format == "cidr") return is_cidr(text);
  if (format == "mac") return is_mac(text);
  if (format == "uuid") return is_uuid(text, 0);
  if (format == "uuid3") return is_uuid(text, '3');
  if (format == "uuid4") return is_uuid(text, '4');
  if (format == "uuid5") return is_uuid(text, '5');
  if (format == "bsonobjectid") return text.size() == 24 && is_hex(text);
  return true;
}

}  // namespace hekla::model
