// Where a request goes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hekla::net {

// Requests to one origin share connections.
struct Origin {
  enum class Scheme : std::uint8_t { http, https, unix_socket } scheme = Scheme::http;
  std::string host;  // without brackets; for unix_socket the path of the socket
  std::uint16_t port = 0;
  auto operator<=>(const Origin&) const = default;
};

struct Url {
  Origin origin;
  std::string target;     // path and query as sent
  std::string authority;  // the Host header
};

// http://host[:port]/path?query, https://..., or unix://<socket path>:<path?query>.
Result<Url> parse_url(std::string_view text);

}  // namespace hekla::net
