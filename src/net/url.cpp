#include "net/url.h"

#include <charconv>

#include "net/text.h"

namespace hekla::net {
namespace {

std::unexpected<Error> bad_url(std::string_view text, std::string_view why) {
  return fail(Code::bad_request, "invalid URL \"" + std::string(text) + "\": " + std::string(why));
}

bool is_clean(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
}

Result<Url> parse_unix(std::string_view text, std::string_view rest) {
  std::size_t colon = rest.find(':');
  Url url;
  url.origin.scheme = Origin::Scheme::unix_socket;
  url.origin.host = rest.substr(0, colon);
  url.authority = "localhost";
  url.target = colon == std::string_view::npos ? "/" : rest.substr(colon + 1);
  if (!url.origin.host.starts_with('/')) return bad_url(text, "the socket's path is not absolute");
  if (!url.target.starts_with('/')) return bad_url(text, "the path does not begin with /");
  return url;
}

Result<void> parse_authority(std::string_view text, Url& url) {
  std::string_view authority = url.authority, host = authority, port;
  if (authority.starts_with('[')) {
    std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return bad_url(text, "missing ]");
    host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else if (std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (host.empty()) return bad_url(text, "no host");
  url.origin.host = host;
  url.origin.port = url.origin.scheme == Origin::Scheme::https ? 443 : 80;
  if (port.empty()) return {};
  auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), url.origin.port);
  if (port[0] != ':' || error != std::errc() || end != port.data() + port.size() ||
      url.origin.port == 0)
    return bad_url(text, "bad port");
  return {};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  if (!is_clean(text)) return bad_url(text, "space or control character");
  std::size_t mark = text.find("://");
  if (mark == std::string_view::npos) return bad_url(text, "no scheme");
  std::string_view scheme = text.substr(0, mark), rest = text.substr(mark + 3);
  if (scheme == "unix") return parse_unix(text, rest);
  Url url;
  if (equal_ignoring_case(scheme, "https"))
    url.origin.scheme = Origin::Scheme::https;
  else if (!equal_ignoring_case(scheme, "http"))
    return bad_url(text, "unknown scheme");
  rest = rest.substr(0, rest.find('#'));
  std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
  url.authority = rest.substr(0, path);
  if (url.authority.find('@') != std::string::npos)
    return bad_url(text, "user names are not supported");
  url.target = rest.substr(path);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  TRY(parse_authority(text, url));
  return url;
}

}  // namespace hekla::net
