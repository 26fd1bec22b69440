#include "apiserver/connect/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "apiserver/connect/connect.h"
#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"
#include "apiserver/read/reads.h"
#include "apiserver/text/errors.h"
#include "apiserver/text/field_error.h"
#include "apiserver/text/status_error.h"
#include "net/gzip.h"
#include "net/text.h"

namespace hekla::apiserver {

std::string percent_encode(std::string_view text, std::string_view plain) {
  std::string out;
  for (char c : text)
    out += std::isalnum(static_cast<unsigned char>(c)) || plain.contains(c)
               ? std::string(1, c)
               : net::url_encode({&c, 1});
  return out;
}

std::string encode_path(std::string_view path) {
  return percent_encode(path, "-._~/!$&'()*+,;=:@");
}

namespace {

constexpr std::size_t kMaxWholeBytes = 1 << 20;  // answers up to this size are sent in one piece
constexpr std::size_t kMaxPageBytes = 8 << 20;   // larger pages keep their links
constexpr std::size_t kMaxPending = 1 << 20;     // towards a slow reader
constexpr std::string_view kHopHeaders[] = {"Connection",        "Keep-Alive", "Proxy-Authenticate",
                                            "Proxy-Connection",  "Te",         "Trailer",
                                            "Transfer-Encoding", "Upgrade"};
constexpr std::string_view kCorsHeaders[] = {
    "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers",
    "Access-Control-Allow-Methods", "Access-Control-Allow-Origin"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::any_of(
      names, [&](std::string_view one) { return net::equal_ignoring_case(one, name); });
}

struct Target {
  std::string scheme = "http", address, port;
  bool on_host = false;  // a pod with the host's network
};

// Neither the server's own machine nor what only a link knows: nothing that a pod's status may
// point to.
Result<void> check_address(const std::string& address) {
  in_addr parsed{};
  const bool valid = inet_pton(AF_INET, address.c_str(), &parsed) == 1;
  const std::uint32_t bits = ntohl(parsed.s_addr);
  const bool is_local = bits >> 24 == 127 || bits >> 16 == 0xa9fe || bits >> 28 == 0xe || bits == 0;
  if (!valid || is_local) return fail(Code::bad_request, "address not allowed");
  return {};
}

Result<json::Value> read(const Exchange& exchange, const std::string& plural,
                         const std::string& name) {
  ServedPtr served = exchange.serving.registry->catalog()->find("", "v1", plural);
  if (!served) return std::unexpected(no_such_resource_error());
  store::ItemPtr item = TRY(get_object(*exchange.serving.store, *served, {exchange.info.ns, name}));
  return decode_object(*served, *item);
}

Result<Target> pod_target(const Exchange& exchange, const ProxyName& name) {
  const json::Value pod = TRY(read(exchange, "pods", name.name));
  Target target{name.scheme, std::string(json::string_at(pod, {"status", "podIP"})), name.port,
                json::bool_at(pod, {"spec", "hostNetwork"})};
  if (target.port.empty())
    if (const json::Array* containers = json::array_at(pod, {"spec", "containers"}))
      for (const json::Value& container : *containers)
        if (const json::Array* ports = json::array_at(container, {"ports"});
            ports && !ports->empty()) {
          target.port = std::to_string(json::int_at(ports->front(), {"containerPort"}));
          break;
        }
  return target;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A port is asked for by number or name, and looked for among the endpoints by name.
Result<std::string> service_port_name(const json::Value& service, const ProxyName& name) {
  const std::optional<std::int64_t> wanted = number(name.port);
  if (!wanted) return name.port;
  if (const json::Array* ports = json::array_at(service, {"spec", "ports"}))
    for (const json::Value& port : *ports)
      if (json::int_at(port, {"port"}) == *wanted)
        return std::string(json::string_at(port, {"name"}));
  return fail(Code::unavailable,
              "no service port " + name.port + " found for service " + go_quote(name.name));
}

Result<Target> service_target(const Exchange& exchange, const ProxyName& name) {
  const std::string port_name =
      TRY(service_port_name(TRY(read(exchange, "services", name.name)), name));
  struct Candidate {
    const json::Value* address;
    std::int64_t port;
  };
  std::vector<Candidate> candidates;
  const Result<json::Value> endpoints = read(exchange, "endpoints", name.name);
  static const json::Array kNone;
  const json::Array* subsets = endpoints ? json::array_at(*endpoints, {"subsets"}) : nullptr;
  for (const json::Value& subset : subsets ? *subsets : kNone) {
    const json::Array *addresses = json::array_at(subset, {"addresses"}),
                      *ports = json::array_at(subset, {"ports"});
    if (!addresses || !ports) continue;
    for (const json::Value& port : *ports)
      if (json::string_at(port, {"name"}) == port_name)
        for (const json::Value& address : *addresses)
          candidates.push_back({&address, json::int_at(port, {"port"})});
  }
  if (candidates.empty())
    return fail(Code::unavailable, "no endpoints available for service " + go_quote(name.name));
  const Candidate& chosen = candidates[exchange.serving.rng->next() % candidates.size()];
  Target target{name.scheme, std::string(json::string_at(*chosen.address, {"ip"})),
                std::to_string(chosen.port)};
  if (json::string_at(*chosen.address, {"targetRef", "kind"}) == "Pod")
    if (Result<json::Value> pod = read(
            exchange, "pods", std::string(json::string_at(*chosen.address, {"targetRef", "name"}))))
      target.on_host = json::bool_at(*pod, {"spec", "hostNetwork"});
  return target;
}

Result<std::string> pods_of_node(const Exchange& exchange, const std::string& node) {
  ServedPtr served = exchange.serving.registry->catalog()->find("", "v1", "pods");
  if (!served) return std::unexpected(no_such_resource_error());
  ListOptions options;
  options.field_selector = "spec.nodeName=" + node;
  const ListPage page = TRY(list_objects(*exchange.serving.store, *served, "", options));
  json::Array items;
  for (const store::ItemPtr& item : page.items) items.push_back(decode_object(*served, *item));
  return json::serialize(json::Value(json::Object{{"kind", "PodList"},
                                                  {"apiVersion", "v1"},
                                                  {"metadata", json::Object{}},
                                                  {"items", std::move(items)}}));
}

// Answers of the kubelet's own server; the agent has none, so they are given here.
void serve_node(const ExchangePtr& exchange, const ProxyName& name, std::string_view path) {
  Result<json::Value> node = read(*exchange, "nodes", name.name);
  if (!node) return exchange->respond(node.error());
  net::Response response;
  response.headers.set("Content-Type", "text/plain; charset=utf-8");
  if (path == "/healthz") {
    response.body = "ok";
  } else if (path == "/pods" || path == "/pods/") {
    Result<std::string> pods = pods_of_node(*exchange, name.name);
    if (!pods) return exchange->respond(pods.error());
    response.headers.set("Content-Type", "application/json");
    response.body = std::move(*pods);
  } else {
    response.status = 404;
    response.body = "404 page not found\n";
  }
  exchange->respond(std::move(response));
}

// One request on its way through. Callbacks of the call and of the client's connection come from
// different threads; the call's come with its lock held, so nothing is asked of the call under
// ours.
class ProxiedRequest final : public std::enable_shared_from_this<ProxiedRequest> {
 public:
  ProxiedRequest(ExchangePtr exchange, Forwarding how)
      : exchange_(std::move(exchange)),
        how_(std::move(how)),
        host_(exchange_->request.headers.get("Host")) {}

  void start() {
    exchange_->writer->on_closed([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->cancel();
    });
    exchange_->writer->on_drained([weak = weak_from_this()] {
      if (auto self = weak.lock()) self->hold_answer(false);
    });
    net::StreamCallbacks callbacks;
    callbacks.on_head = [self = shared_from_this()](int status, const net::Headers& headers) {
      self->on_head(status, headers);
    };
    callbacks.on_data = [self = shared_from_this()](std::string_view data) { self->on_data(data); };
    callbacks.on_end = [self = shared_from_this()](Result<void> outcome) {
      self->on_end(std::move(outcome));
    };
    callbacks.on_drained = [self = shared_from_this()] {
      self->exchange_->writer->pause_input(false);
    };
    const std::shared_ptr<net::StreamHandle> handle =
        how_.client->stream(request(), std::move(callbacks));
    while (true) {
      std::string early;
      {
        std::lock_guard lock(mutex_);
        if (!cancelled_ && early_.empty()) handle_ = handle;
        if (cancelled_ || handle_) return;
        early = std::exchange(early_, {});
      }
      handle->write(std::move(early));
    }
  }

 private:
  bool wants_upgrade() const {
    bool wanted = false;
    net::for_each_element(exchange_->request.headers.get("Connection"), [&](std::string_view one) {
      wanted = wanted || net::equal_ignoring_case(one, "upgrade");
    });
    return wanted && exchange_->request.headers.has("Upgrade");
  }
  bool is_dropped(std::string_view name) const {
    const auto begins_with = [&](std::string_view prefix) {
      return net::equal_ignoring_case(name.substr(0, prefix.size()), prefix);
    };
    if (is_one_of(name, kHopHeaders)) return true;
    // The user's credentials are for this server alone.
    if (net::equal_ignoring_case(name, "Authorization") || begins_with("Impersonate-")) return true;
    return std::ranges::any_of(how_.dropped_headers, begins_with);
  }
  net::ClientRequest request() {
    const net::Request& given = exchange_->request;
    net::ClientRequest out;
    out.method = given.method;
    out.url = how_.url;
    out.body = given.body;
    out.timeout = {};
    std::string forwarded;
    for (const auto& [name, value] : given.headers.all()) {
      if (net::equal_ignoring_case(name, "X-Forwarded-For"))
        forwarded += (forwarded.empty() ? "" : ", ") + value;
      else if (!is_dropped(name))
        out.headers.add(name, value);
    }
    for (const auto& [name, value] : how_.headers.all()) out.headers.add(name, value);
    if (!given.remote_address.empty())
      forwarded += (forwarded.empty() ? "" : ", ") + given.remote_address;
    if (!forwarded.empty()) out.headers.set("X-Forwarded-For", forwarded);
    out.headers.set("X-Forwarded-Uri", encode_path(given.path));
    if (wants_upgrade()) {
      out.headers.set("Connection", "Upgrade");
      out.headers.set("Upgrade", std::string(given.headers.get("Upgrade")));
    }
    return out;
  }

  void on_head(int status, const net::Headers& headers) {
    if (status == 101) return upgrade(headers);
    answer_.status = status;
    for (const auto& [name, value] : headers.all())
      if (!is_one_of(name, kHopHeaders) && !is_one_of(name, kCorsHeaders))
        answer_.headers.add(name, value);
    if (headers.has("Location") && !how_.prefix.empty())
      answer_.headers.set("Location", prefixed_link(headers.get("Location"), how_.prefix, host_));
    std::string_view type = headers.get("Content-Type");
    type = type.substr(0, type.find(';'));
    const std::string_view encoding = headers.get("Content-Encoding");
    const std::optional<std::int64_t> length = number(headers.get("Content-Length"));
    const bool is_head = exchange_->request.method == "HEAD";
    is_page_ = !is_head && !how_.prefix.empty() && type == "text/html" &&
               (encoding.empty() || encoding == "gzip") &&
               (!length || *length <= static_cast<std::int64_t>(kMaxPageBytes));
    whole_ =
        is_head || is_page_ || (length && *length <= static_cast<std::int64_t>(kMaxWholeBytes));
    if (!whole_) begin_stream();
  }
  void begin_stream() {
    whole_ = is_page_ = false;
    answer_.headers.remove("Content-Length");
    exchange_->add_headers(answer_.headers);
    exchange_->count(answer_.status);
    exchange_->writer->begin(answer_.status, answer_.headers);
  }
  void on_data(std::string_view data) {
    if (whole_) {
      answer_.body.append(data);
      if (answer_.body.size() <= kMaxPageBytes) return;
      begin_stream();  // a page of unknown length that is too long
      return exchange_->writer->write(std::exchange(answer_.body, {}));
    }
    net::ResponseWriter& writer = *exchange_->writer;
    writer.write(std::string(data));
    if (writer.pending_bytes() <= kMaxPending) return;
    hold_answer(true);
    if (writer.pending_bytes() == 0)
      hold_answer(false);  // it drained meanwhile, and will not say so again
  }
  void on_end(Result<void> outcome) {
    net::ResponseWriter& writer = *exchange_->writer;
    if (upgraded_) {
      writer.end();
    } else if (!outcome && (whole_ || answer_.status == 0)) {
      exchange_->respond(
          Error{Code::unavailable, "error trying to reach service: " + outcome.error().message});
    } else if (whole_) {
      if (is_page_) rewrite_page();
      exchange_->respond(std::move(answer_));
    } else if (outcome) {
      writer.end();
    } else {
      writer.abort();
    }
    cancel();
  }
  void rewrite_page() {
    if (answer_.headers.get("Content-Encoding") == "gzip") {
      std::string plain;
      if (!net::GzipReader().feed(answer_.body, plain, kMaxPageBytes)) return;
      answer_.body = std::move(plain);
      answer_.headers.remove("Content-Encoding");
    }
    answer_.body = prefixed_links(answer_.body, how_.prefix, host_);
  }

  void upgrade(const net::Headers& headers) {
    upgraded_ = true;
    net::Headers answer;
    for (const auto& [name, value] : headers.all())
      if (!is_one_of(name, kHopHeaders) && !net::equal_ignoring_case(name, "Content-Length"))
        answer.add(name, value);
    answer.set("Upgrade", std::string(headers.get("Upgrade")));
    exchange_->count(101);
    exchange_->writer->upgrade(
        std::move(answer),
        [self = shared_from_this()](std::string_view bytes) { self->send(bytes); });
  }
  void send(std::string_view bytes) {
    std::shared_ptr<net::StreamHandle> handle;
    {
      std::lock_guard lock(mutex_);
      handle = handle_;
      if (!handle && !cancelled_) early_ += bytes;
    }
    if (!handle) return;
    handle->write(std::string(bytes));
    if (handle->pending_bytes() <= kMaxPending) return;
    exchange_->writer->pause_input(true);
    if (handle->pending_bytes() == 0) exchange_->writer->pause_input(false);
  }
  void hold_answer(bool hold) {
    std::shared_ptr<net::StreamHandle> handle;
    {
      std::lock_guard lock(mutex_);
      handle = handle_;
    }
    if (handle) handle->hold(hold);
  }
  void cancel() {
    std::shared_ptr<net::StreamHandle> dropped;
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    dropped.swap(handle_);
  }

  const ExchangePtr exchange_;
  const Forwarding how_;
  const std::string host_;
  // On the call's thread.
  net::Response answer_{.status = 0, .headers = {}, .body = {}};
  bool whole_ = false, is_page_ = false, upgraded_ = false;
  std::mutex mutex_;
  std::shared_ptr<net::StreamHandle> handle_;
  std::string early_;  // what the client sent before there was a handle
  bool cancelled_ = false;
};

}  // namespace

void forward(const ExchangePtr& exchange, Forwarding forwarding) {
  std::make_shared<ProxiedRequest>(exchange, std::move(forwarding))->start();
}

std::optional<ProxyName> parse_proxy_name(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t colon = std::min(text.find(':', at), text.size());
    parts.emplace_back(text.substr(at, colon - at));
    at = colon + 1;
  }
  ProxyName out;
  if (parts.size() > 3) return std::nullopt;
  if (parts.size() == 3) {
    out.scheme = parts[0];
    parts.erase(parts.begin());
  }
  out.name = parts[0];
  if (parts.size() == 2) out.port = parts[1];
  if (out.name.empty() || (!out.scheme.empty() && out.scheme != "http" && out.scheme != "https"))
    return std::nullopt;
  return out;
}

net::OpenSocket sockets_of(const std::atomic<kube::PodStreams*>& streams) {
  return [&streams](std::function<void(Result<int>)> done) {
    if (kube::PodStreams* agent = streams.load()) return agent->open_socket(std::move(done));
    done(fail(Code::unavailable, "no node agent reaches pods from this server"));
  };
}

Result<net::Client*> ProxyClients::made(std::unique_ptr<net::Client>& client,
                                        net::OpenSocket open_socket) const {
  if (!client) {
    net::ClientOptions options;
    options.insecure_skip_verify =
        true;  // as upstream: servers in pods have certificates that nobody knows
    options.open_socket = std::move(open_socket);
    options.own_ranges = own_;
    client = TRY(net::Client::make(std::move(options)));
  }
  return client.get();
}
Result<net::Client*> ProxyClients::to_pods(const std::atomic<kube::PodStreams*>& streams) {
  std::lock_guard lock(mutex_);
  return made(pods_, sockets_of(streams));
}
Result<net::Client*> ProxyClients::to_host() {
  std::lock_guard lock(mutex_);
  return made(host_, {});
}

namespace {

// Where what is meant for the proxied server begins in the path.
std::size_t proxied_from(const Exchange& exchange) {
  const std::string mark = "/" + exchange.info.plural + "/" + exchange.info.name + "/proxy";
  const std::string& path = exchange.request.path;
  return std::min(path.find(mark), path.size() - mark.size()) + mark.size();
}

void open_proxy(const ExchangePtr& exchange) {
  const RequestInfo& info = exchange->info;
  const net::Request& request = exchange->request;
  const std::string kind = info.plural == "pods"       ? "pod"
                           : info.plural == "services" ? "service"
                                                       : "node";
  const std::optional<ProxyName> name = parse_proxy_name(info.name);
  if (!name)
    return exchange->respond(
        Error{Code::bad_request, "invalid " + kind + " request " + go_quote(info.name)});
  const std::size_t end = proxied_from(*exchange);
  const std::string prefix = request.path.substr(0, end), path = request.path.substr(end);
  const std::string query = request.query.all().empty() ? "" : "?" + request.query.encode();
  if (path.empty() && (request.method == "GET" || request.method == "HEAD") &&
      !request.headers.has("Upgrade")) {
    net::Response response;
    response.status = 301;
    response.headers.set("Location", encode_path(prefix) + "/" + query);
    return exchange->respond(std::move(response));
  }
  if (kind == "node") return serve_node(exchange, *name, path);
  Result<Target> target =
      kind == "pod" ? pod_target(*exchange, *name) : service_target(*exchange, *name);
  if (!target) return exchange->respond(target.error());
  if (Result<void> allowed = check_address(target->address); !allowed)
    return exchange->respond(allowed.error());
  if (target->scheme.empty()) target->scheme = "http";
  ProxyClients& clients = *exchange->serving.proxies;
  Result<net::Client*> client =
      target->on_host ? clients.to_host() : clients.to_pods(exchange->serving.pod_streams);
  if (!client) return exchange->respond(client.error());
  const std::string port = target->port.empty() ? "" : ":" + target->port;
  const std::string url = target->scheme + "://" + target->address + port +
                          encode_path(path.empty() ? "/" : path) + query;
  forward(exchange, {.client = *client,
                     .held_client = nullptr,
                     .url = url,
                     .prefix = prefix,
                     .headers = {},
                     .dropped_headers = {}});
}

}  // namespace

void serve_proxy(const ExchangePtr& exchange) {
  const std::string& plural = exchange->info.plural;
  const char* kind = plural == "pods"       ? "PodProxyOptions"
                     : plural == "services" ? "ServiceProxyOptions"
                                            : "NodeProxyOptions";
  json::Object options{{"kind", kind}, {"apiVersion", "v1"}};
  options["path"] = exchange->request.path.substr(proxied_from(*exchange));
  admit_connect(exchange, std::move(options), [exchange] { open_proxy(exchange); });
}

}  // namespace hekla::apiserver
