#include "objects/keeping/conditions.h"

#include <charconv>

#include "net/text.h"
#include "objects/wire/xml.h"

namespace hekla::objects {
namespace {

// Whether a list of entity tags names this one; quotes are optional, weak ones compare equal.
bool names(std::string_view list, std::string_view etag) {
  bool found = false;
  net::for_each_element(list, [&](std::string_view element) {
    if (element.starts_with("W/")) element.remove_prefix(2);
    if (element.size() >= 2 && element.front() == '"' && element.back() == '"')
      element = element.substr(1, element.size() - 2);
    found = found || element == "*" || element == etag;
  });
  return found;
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Outcome<void> check_read(const net::Headers& headers, const ObjectInfo& object,
                         std::string_view prefix) {
  auto header = [&](std::string_view name) {
    return headers.get(std::string(prefix) + std::string(name));
  };
  const WallTime modified = std::chrono::floor<std::chrono::seconds>(object.modified);
  const std::string_view match = header("if-match"), none = header("if-none-match");
  if (!match.empty()) {
    if (!names(match, object.etag)) return refuse("PreconditionFailed");
  } else if (std::optional<WallTime> since = parse_http_time(header("if-unmodified-since"))) {
    if (modified > *since) return refuse("PreconditionFailed");
  }
  const std::string_view unchanged = prefix.empty() ? "NotModified" : "PreconditionFailed";
  if (!none.empty()) {
    if (names(none, object.etag)) return refuse(unchanged);
  } else if (std::optional<WallTime> since = parse_http_time(header("if-modified-since"))) {
    if (modified <= *since) return refuse(unchanged);
  }
  return {};
}

Outcome<void> check_write(const net::Headers& headers, const ObjectInfo* object) {
  const std::string_view match = headers.get("if-match"), none = headers.get("if-none-match");
  if (!match.empty()) {
    if (!object) return refuse("NoSuchKey");
    if (!names(match, object->etag)) return refuse("PreconditionFailed");
  }
  if (!none.empty() && object && names(none, object->etag)) return refuse("PreconditionFailed");
  return {};
}

Outcome<std::optional<ByteRange>> read_range(std::string_view text, std::uint64_t size) {
  constexpr std::string_view unit = "bytes=";
  if (!text.starts_with(unit) || text.contains(',')) return std::nullopt;
  text.remove_prefix(unit.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view from = net::trim(text.substr(0, dash));
  const std::string_view to = net::trim(text.substr(dash + 1));
  if (from.empty()) {
    const std::optional<std::uint64_t> last = number(to);
    if (!last) return std::nullopt;
    if (*last == 0 || size == 0) return refuse("InvalidRange");
    const std::uint64_t bytes = std::min(*last, size);
    return ByteRange{size - bytes, bytes};
  }
  const std::optional<std::uint64_t> first = number(from);
  std::optional<std::uint64_t> last = to.empty() ? std::optional(size) : number(to);
  if (!first || !last || *last < *first) return std::nullopt;
  if (*first >= size) return refuse("InvalidRange");
  return ByteRange{*first, std::min(*last, size - 1) - *first + 1};
}

}  // namespace hekla::objects
