#include "gateway/request/content_origin.h"

#include <arpa/inet.h>

namespace hekla::gateway {
namespace {

constexpr std::string_view kContentHost = "content.localhost", kPageHost = "localhost";

struct Parts {
  std::string_view scheme, host, port;  // "http://", "localhost", ":8080"
};

Parts parts_of(std::string_view origin) {
  const std::size_t at = origin.find("://");
  if (at == std::string_view::npos) return {};
  Parts parts{origin.substr(0, at + 3), origin.substr(at + 3), {}};
  const std::size_t colon = parts.host.rfind(':');
  if (colon == std::string_view::npos || parts.host.find(']', colon) != std::string_view::npos)
    return parts;
  parts.port = parts.host.substr(colon);
  parts.host = parts.host.substr(0, colon);
  return parts;
}

std::string with_host(const Parts& parts, std::string_view host) {
  return std::string(parts.scheme).append(host).append(parts.port);
}

}  // namespace

bool is_content_origin(std::string_view origin) { return parts_of(origin).host == kContentHost; }

bool is_loopback_origin(std::string_view origin) {
  const std::string host(parts_of(origin).host);
  in_addr address{};
  return host == kPageHost || host == kContentHost || host == "[::1]" ||
         (inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

std::string content_origin_of(std::string_view page) {
  const Parts parts = parts_of(page);
  for (std::string_view loopback :
       {kPageHost, std::string_view("127.0.0.1"), std::string_view("[::1]")})
    if (parts.host == loopback) return with_host(parts, kContentHost);
  return {};
}

std::string page_origin_of(std::string_view content) {
  return with_host(parts_of(content), kPageHost);
}

}  // namespace hekla::gateway
