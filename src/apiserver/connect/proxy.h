// pods/proxy, services/proxy and nodes/proxy: requests carried on to servers in pods. Pods are
// reached by sockets of their own network, which the node agent makes; those on the host's network
// by the process' own.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "apiserver/request/exchange.h"
#include "net/client.h"

namespace hekla::apiserver {

// "[scheme:]name[:port]", the scheme one of http, https and empty.
struct ProxyName {
  std::string scheme, name, port;
  bool operator==(const ProxyName&) const = default;
};
std::optional<ProxyName> parse_proxy_name(std::string_view text);

// Links of a page (and where a redirect points) that begin at the server's root are put below
// `prefix`, where the client finds them.
std::string prefixed_link(std::string_view link, std::string_view prefix, std::string_view host);
std::string prefixed_links(std::string_view html, std::string_view prefix, std::string_view host);

// The clients that proxied requests share, each with its connections; made when first needed.
class ProxyClients {
 public:
  // `own`: where nobody connects to from the host's network, whatever an Endpoints object says.
  explicit ProxyClients(net::OwnRanges own) : own_(std::move(own)) {}
  // Through sockets of the pods' network.
  Result<net::Client*> to_pods(const std::atomic<kube::PodStreams*>& streams);
  Result<net::Client*> to_host();

 private:
  Result<net::Client*> made(std::unique_ptr<net::Client>& client,
                            net::OpenSocket open_socket) const;
  const net::OwnRanges own_;
  std::mutex mutex_;
  std::unique_ptr<net::Client> pods_, host_;
};

// A request carried on as it came, and its answer back.
struct Forwarding {
  net::Client* client = nullptr;
  std::shared_ptr<net::Client> held_client;  // when nobody else keeps it
  std::string url;
  // Where links of the answer that begin at the server's root are found; empty: the answer is not
  // changed.
  std::string prefix;
  net::Headers headers;                      // added to those of the request
  std::vector<std::string> dropped_headers;  // beginnings of names that are not carried on
};
void forward(const ExchangePtr& exchange, Forwarding forwarding);

// A path as it stands in a URL.
std::string encode_path(std::string_view path);
// The text with all but letters, digits and the `plain` characters in percent form.
std::string percent_encode(std::string_view text, std::string_view plain);

// Makes sockets of the pods' network for as long as there is an agent.
net::OpenSocket sockets_of(const std::atomic<kube::PodStreams*>& streams);

void serve_proxy(const ExchangePtr& exchange);

}  // namespace hekla::apiserver
