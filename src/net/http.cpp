// Headers, queries and percent-encoding.
#include "net/http.h"

#include <algorithm>

#include "net/text.h"

namespace hekla::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string decode(std::string_view text, bool plus_is_space) {
  if (!text.contains('%') && !(plus_is_space && text.contains('+'))) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    int high = -1, low = -1;
    if (text[i] == '%' && i + 2 < text.size()) {
      high = hex_digit(text[i + 1]);
      low = hex_digit(text[i + 2]);
    }
    if (high >= 0 && low >= 0) {
      out += static_cast<char>(high << 4 | low);
      i += 2;
    } else {
      out += text[i] == '+' && plus_is_space ? ' ' : text[i];
    }
  }
  return out;
}

template <class Pairs>
std::string_view first_value(const Pairs& pairs, std::string_view name, auto same) {
  for (const auto& [key, value] : pairs)
    if (same(key, name)) return value;
  return {};
}

template <class Pairs>
std::vector<std::string_view> all_values(const Pairs& pairs, std::string_view name, auto same) {
  std::vector<std::string_view> found;
  for (const auto& [key, value] : pairs)
    if (same(key, name)) found.push_back(value);
  return found;
}

constexpr auto kExactly = [](std::string_view a, std::string_view b) { return a == b; };

}  // namespace

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  all_.emplace_back(name, std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(all_, [&](const auto& entry) { return equal_ignoring_case(entry.first, name); });
}

std::string_view Headers::get(std::string_view name) const {
  return first_value(all_, name, equal_ignoring_case);
}

std::vector<std::string_view> Headers::get_all(std::string_view name) const {
  return all_values(all_, name, equal_ignoring_case);
}

bool Headers::has(std::string_view name) const {
  return std::ranges::any_of(all_,
                             [&](const auto& e) { return equal_ignoring_case(e.first, name); });
}

Query Query::parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('&'), text.size());
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    std::size_t equals = std::min(pair.find('='), pair.size());
    std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    query.add(decode(pair.substr(0, equals), true), decode(value, true));
  }
  return query;
}

std::string_view Query::get(std::string_view name) const {
  return first_value(all_, name, kExactly);
}

std::vector<std::string_view> Query::get_all(std::string_view name) const {
  return all_values(all_, name, kExactly);
}

bool Query::has(std::string_view name) const {
  return std::ranges::any_of(all_, [&](const auto& entry) { return entry.first == name; });
}

std::string Query::encode() const {
  std::string out;
  for (const auto& [name, value] : all_) {
    if (!out.empty()) out += '&';
    out += url_encode(name) + "=" + url_encode(value);
  }
  return out;
}

std::string url_decode(std::string_view text) { return decode(text, false); }

std::string url_encode(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      out += '%';
      out += kDigits[static_cast<unsigned char>(c) >> 4];
      out += kDigits[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

void complete_body(Response& response) {
  const std::size_t size = response.body.size() + response.tail.bytes;
  response.body.reserve(size);
  while (response.body.size() < size) response.tail.next(response.body);
  response.tail = {};
}

// For writers that know neither sizes, trailers nor input: whoever wraps another passes these on.
void ResponseWriter::begin_sized(int status, Headers headers, std::uint64_t) {
  begin(status, std::move(headers));
}

void ResponseWriter::inform(int, Headers) {}

void ResponseWriter::end_with(Headers) { end(); }

void ResponseWriter::tunnel(Headers, InputCallbacks input) {
  abort();
  if (input.on_end) input.on_end(fail(Code::unavailable, "this connection has no tunnels"));
}

void ResponseWriter::read_body(InputCallbacks input) {
  if (input.on_end) input.on_end({});
}

}  // namespace hekla::net
