#include "main/server_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>

namespace hekla {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    return inet_ntop(AF_INET, &in->sin_addr, text, sizeof text) ? text : "";
  }
  const auto* in = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) return "";
  return inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof text) ? text : "";
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace

bool is_wildcard(const std::string& address) {
  return address.empty() || address == "0.0.0.0" || address == "::";
}

bool is_ip_address(const std::string& text) {
  unsigned char raw[16];
  return inet_pton(AF_INET, text.c_str(), raw) == 1 || inet_pton(AF_INET6, text.c_str(), raw) == 1;
}

std::vector<std::string> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  std::unique_ptr<ifaddrs, decltype([](ifaddrs* all) { ::freeifaddrs(all); })> owned(list);
  std::vector<std::string> found;
  for (const ifaddrs* one = list; one; one = one->ifa_next) {
    const bool ip = one->ifa_addr &&
                    (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6);
    if (!ip || !(one->ifa_flags & IFF_UP)) continue;
    if (std::string text = text_of(one->ifa_addr); !text.empty()) found.push_back(std::move(text));
  }
  // IPv4 first: it is what everybody can reach.
  std::ranges::stable_partition(
      found, [](const std::string& one) { return one.find(':') == std::string::npos; });
  return found;
}

std::vector<std::string> server_names(const std::string& listen_address,
                                      const std::vector<std::string>& more) {
  std::vector<std::string> names{kLoopback};
  auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  if (!is_wildcard(listen_address))
    add(listen_address);
  else
    for (const std::string& one : interface_addresses()) add(one);
  for (const std::string& one : more) add(one);
  return names;
}

std::string advertised_address(const std::string& listen_address) {
  if (!is_wildcard(listen_address))
    return is_ip_address(listen_address) ? listen_address : kLoopback;
  for (const std::string& one : interface_addresses())
    if (!is_loopback(one)) return one;
  return kLoopback;
}

std::string local_address(const std::string& listen_address) {
  return is_wildcard(listen_address) ? kLoopback : listen_address;
}

std::string local_url(const std::string& listen_address, int port) {
  std::string host = local_address(listen_address);
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return "https://" + host + ":" + std::to_string(port);
}

}  // namespace hekla
