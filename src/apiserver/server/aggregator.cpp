#include "apiserver/server/aggregator.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "apiserver/kinds/api_service.h"
#include "apiserver/object/object_header.h"
#include "apiserver/object/storage.h"
#include "apiserver/server/self_reconciler.h"
#include "apiserver/text/field_error.h"
#include "base/bytes.h"
#include "base/check.h"
#include "json/parse.h"
#include "model/time.h"

namespace hekla::apiserver {

namespace {

using std::chrono::seconds;

constexpr seconds kCheckTimeout{5};
constexpr seconds kCheckAgain{15};  // one that has answered
constexpr seconds kFirstRetry{1}, kLastRetry{30};
constexpr std::size_t kMaxDiscoveryBytes = std::size_t{8} << 20;

struct Verdict {
  bool available = false;
  std::string reason, message;
};

// An APIService that names a service, and what is known of the server behind it.
struct Backend {
  json::Value spec;
  std::string group, version, ca_pem;
  kube::Key service;
  std::int64_t port = 443;
  bool insecure = false;

  bool on_host = false;  // an external name, reached from the process' own network
  std::vector<std::string> origins;
  std::shared_ptr<net::Client> client;
  std::optional<Verdict> verdict;  // none: it has not been asked yet
  json::Array resources;
  std::string openapi_hash;

  std::uint64_t check = 0;  // the number of the one under way; 0: none
  int failures = 0;         // since it last answered
  MonoTime next_check{};

  std::string shown() const { return "service/" + service.name + " in " + go_quote(service.ns); }
};

Backend backend_of(const json::Value& spec) {
  Backend backend;
  backend.spec = spec;
  backend.group = json::text_at(spec, {"group"});
  backend.version = json::text_at(spec, {"version"});
  backend.ca_pem = base64_decode(json::string_at(spec, {"caBundle"})).value_or("");
  backend.service = {json::text_at(spec, {"service", "namespace"}),
                     json::text_at(spec, {"service", "name"})};
  backend.port = json::int_at(spec, {"service", "port"}, 443);
  backend.insecure = json::bool_at(spec, {"insecureSkipTLSVerify"});
  return backend;
}

std::optional<json::Value> stored(const Catalog& catalog, const store::Snapshot& snapshot,
                                  const char* plural, const kube::Key& key) {
  const ServedPtr served = catalog.find("", "v1", plural);
  const store::ItemPtr item = snapshot.get(served->bucket, storage_key(*served->kind, key));
  if (!item) return std::nullopt;
  return decode_object(*served, *item);
}

// The service's ready endpoints for its port of this name.
std::vector<std::string> ready_origins(const json::Value& endpoints, std::string_view port_name) {
  std::vector<std::string> origins;
  static const json::Array kNone;
  const auto items = [](const json::Value& in, std::string_view member) -> const json::Array& {
    const json::Array* found = json::array_at(in, {member});
    return found ? *found : kNone;
  };
  for (const json::Value& subset : items(endpoints, "subsets"))
    for (const json::Value& port : items(subset, "ports"))
      if (json::string_at(port, {"name"}) == port_name)
        for (const json::Value& address : items(subset, "addresses"))
          origins.push_back("https://" + json::text_at(address, {"ip"}) + ":" +
                            std::to_string(json::int_at(port, {"port"})));
  return origins;
}

// Where the backend is reached, or why it is not.
std::optional<Verdict> find_origins(const Catalog& catalog, const store::Snapshot& snapshot,
                                    Backend& backend) {
  backend.origins.clear();
  const auto no = [](const char* reason, std::string message) {
    return Verdict{false, reason, std::move(message)};
  };
  const std::optional<json::Value> service = stored(catalog, snapshot, "services", backend.service);
  if (!service) return no("ServiceNotFound", backend.shown() + " is not present");
  backend.on_host = json::string_at(*service, {"spec", "type"}) == "ExternalName";
  if (backend.on_host) {
    backend.origins = {"https://" + json::text_at(*service, {"spec", "externalName"}) + ":" +
                       std::to_string(backend.port)};
    return std::nullopt;
  }
  std::optional<std::string> port_name;
  if (const json::Array* ports = json::array_at(*service, {"spec", "ports"}))
    for (const json::Value& port : *ports)
      if (json::int_at(port, {"port"}) == backend.port) port_name = json::text_at(port, {"name"});
  if (!port_name)
    return no("ServicePortError",
              backend.shown() + " is not listening on port " + std::to_string(backend.port));
  const std::optional<json::Value> endpoints =
      stored(catalog, snapshot, "endpoints", backend.service);
  if (!endpoints)
    return no("EndpointsNotFound", "cannot find endpointslices for " + backend.shown());
  backend.origins = ready_origins(*endpoints, *port_name);
  if (backend.origins.empty())
    return no("MissingEndpoints", "endpointslices for " + backend.shown() +
                                      " have no addresses with port name " + go_quote(*port_name));
  return std::nullopt;
}

// The conditions with the wanted one first among those of its type; null when it says the same
// already.
std::optional<json::Array> changed_conditions(const json::Value& service, const Verdict& verdict,
                                              WallTime now) {
  json::Value wanted = json::Object{{"type", "Available"},
                                    {"status", verdict.available ? "True" : "False"},
                                    {"lastTransitionTime", model::format_rfc3339(now)},
                                    {"reason", verdict.reason},
                                    {"message", verdict.message}};
  if (has_condition_like(service, wanted, "reason") &&
      has_condition_like(service, wanted, "message"))
    return std::nullopt;
  json::Array conditions;
  if (const json::Array* present = json::array_at(service, {"status", "conditions"}))
    conditions = *present;
  for (json::Value& one : conditions) {
    if (json::string_at(one, {"type"}) != "Available") continue;
    if (json::string_at(one, {"status"}) == json::string_at(wanted, {"status"}))
      wanted.get_object()["lastTransitionTime"] = json::text_at(one, {"lastTransitionTime"});
    one = std::move(wanted);
    return conditions;
  }
  conditions.push_back(std::move(wanted));
  return conditions;
}

bool is_same(const RemoteVersion& a, const RemoteVersion& b) {
  return a.group == b.group && a.version == b.version && a.group_priority == b.group_priority &&
         a.version_priority == b.version_priority && a.available == b.available &&
         a.origins == b.origins && a.client == b.client && a.openapi_hash == b.openapi_hash &&
         json::equal(json::Value(a.resources), json::Value(b.resources));
}

// Of /openapi/v3: the hash of the document for one path.
std::string schema_hash(const Result<net::Response>& response, const std::string& path) {
  constexpr std::string_view kMark = "?hash=";
  if (!response || response->status != 200) return {};
  const Result<json::Value> index = json::parse(response->body);
  if (!index) return {};
  const std::string_view url = json::string_at(*index, {"paths", path, "serverRelativeURL"});
  const std::size_t mark = url.find(kMark);
  return mark == std::string_view::npos ? "" : std::string(url.substr(mark + kMark.size()));
}

// Of the ConfigMap from which other servers learn whom to believe.
constexpr const char* kAuthenticationMap = "extension-apiserver-authentication";
json::Value authentication_data(const AggregatorOptions& options) {
  return json::Object{{"client-ca-file", options.client_ca_pem},
                      {"requestheader-allowed-names", R"(["front-proxy-client"])"},
                      {"requestheader-client-ca-file", options.proxy.ca_pem},
                      {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"},
                      {"requestheader-group-headers", R"(["X-Remote-Group"])"},
                      {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
                      {"requestheader-username-headers", R"(["X-Remote-User"])"}};
}

// The write that makes it say so; null when it does.
std::optional<WriteRequest> mend_authentication(const Catalog& catalog,
                                                const store::Snapshot& snapshot,
                                                json::Value wanted) {
  const kube::Key key{"kube-system", kAuthenticationMap};
  const std::optional<json::Value> present = stored(catalog, snapshot, "configmaps", key);
  const json::Value* data = present ? json::find(*present, "data") : nullptr;
  if (data && json::equal(*data, wanted)) return std::nullopt;
  WriteRequest request = own_write(catalog.find("", "v1", "configmaps"), kAuthenticationMap);
  request.key = key;
  request.verb = present ? WriteRequest::Verb::update : WriteRequest::Verb::create;
  request.body = json::Object{{"apiVersion", "v1"},
                              {"kind", "ConfigMap"},
                              {"metadata", json::Object{{"name", key.name}, {"namespace", key.ns}}},
                              {"data", std::move(wanted)}};
  return request;
}

}  // namespace

struct Aggregator::State : std::enable_shared_from_this<State> {
  store::Store& store;
  Registry& registry;
  Writes& writes;
  Executor& loop;
  AggregatorOptions options;
  std::atomic<bool> scheduled{false}, has_backends{false};
  bool ended = false;
  std::uint64_t checks = 0;
  std::optional<MonoTime> timer;
  std::map<std::string, Backend> backends;  // by the name of their APIService
  std::vector<RemotePtr> published;
  // One for each authority, name, and way there; kept for as long as a request is under way.
  using ClientKey = std::tuple<std::string, std::string, bool, bool>;
  std::map<ClientKey, std::shared_ptr<net::Client>> clients;
  std::vector<std::unique_ptr<store::Store::Subscription>> subscriptions;

  State(store::Store& s, Registry& r, Writes& w, Executor& l, AggregatorOptions o)
      : store(s), registry(r), writes(w), loop(l), options(std::move(o)) {}

  // Any thread.
  void wake() {
    if (scheduled.exchange(true)) return;
    loop.post(later([](State& self) {
      self.scheduled = false;
      self.look();
    }));
  }
  template <class Then>
  Task later(Then then) {
    return [weak = weak_from_this(), then = std::move(then)]() mutable {
      if (const std::shared_ptr<State> self = weak.lock(); self && !self->ended) then(*self);
    };
  }

  void look() {
    const CatalogPtr catalog = registry.catalog();
    const store::Snapshot snapshot = store.snapshot();
    read_services(*catalog, snapshot);
    const MonoTime now = loop.clock().mono();
    for (auto& [name, backend] : backends) {
      const std::vector<std::string> before = backend.origins;
      if (std::optional<Verdict> missing = find_origins(*catalog, snapshot, backend)) {
        backend.verdict = std::move(*missing);
        backend.check = 0;
        continue;
      }
      if (Result<std::shared_ptr<net::Client>> client = client_for(backend)) {
        backend.client = std::move(*client);
      } else {
        backend.verdict = Verdict{false, "FailedDiscoveryCheck", client.error().message};
        continue;
      }
      if (backend.check == 0 && (before != backend.origins || now >= backend.next_check))
        begin_check(name, backend);
    }
    conclude();
  }

  void read_services(const Catalog& catalog, const store::Snapshot& snapshot) {
    const ServedPtr served = catalog.find("apiregistration.k8s.io", "v1", "apiservices");
    std::map<std::string, Backend> found;
    snapshot.scan(served->bucket, "", "", [&](const store::ItemPtr& item) {
      const json::Value service = decode_object(*served, *item);
      const json::Value* spec = json::find(service, "spec");
      if (!spec || !json::object_at(*spec, {"service"})) return true;
      if (is_local_version(catalog, json::string_at(*spec, {"group"}),
                           json::string_at(*spec, {"version"})))
        return true;
      auto known = backends.find(item->key);
      const bool same_as_known = known != backends.end() && json::equal(known->second.spec, *spec);
      found.emplace(item->key, same_as_known ? std::move(known->second) : backend_of(*spec));
      return true;
    });
    backends = std::move(found);
    has_backends = !backends.empty();
  }

  Result<std::shared_ptr<net::Client>> client_for(const Backend& backend) {
    const std::string server_name = backend.service.name + "." + backend.service.ns + ".svc";
    std::shared_ptr<net::Client>& client =
        clients[{backend.ca_pem, server_name, backend.insecure, backend.on_host}];
    if (client) return client;
    net::ClientOptions how;
    how.ca_pem = backend.ca_pem;
    how.insecure_skip_verify = backend.insecure;
    how.tls_server_name = server_name;
    if (!options.proxy.certificate.key_pem.empty()) how.certificate = options.proxy.certificate;
    if (!backend.on_host) how.open_socket = options.pod_socket;
    how.own_ranges = options.own_ranges;
    client = TRY(options.make_client(std::move(how)));
    return client;
  }

  // Asks the server for what every API server has.
  net::ClientRequest question(const Backend& backend, const std::string& path) const {
    CHECK(!backend.origins.empty() && backend.client, "only a server with an address is asked");
    net::ClientRequest request;
    request.url = backend.origins[checks % backend.origins.size()] + path;
    request.headers.add("Accept", "application/json");
    request.headers.add("X-Remote-User", "system:kube-aggregator");
    request.headers.add("X-Remote-Group", "system:masters");
    request.timeout = kCheckTimeout;
    request.max_body_bytes = kMaxDiscoveryBytes;
    return request;
  }
  void begin_check(const std::string& name, Backend& backend) {
    backend.check = ++checks;
    net::ClientRequest request =
        question(backend, "/apis/" + backend.group + "/" + backend.version);
    backend.client->send(request, [weak = weak_from_this(), &executor = loop, name, check = checks,
                                   url = request.url](Result<net::Response> response) {
      executor.post([weak, name, check, url, response = std::move(response)]() mutable {
        if (const std::shared_ptr<State> self = weak.lock(); self && !self->ended)
          self->end_check(name, check, url, std::move(response));
      });
    });
  }

  void end_check(const std::string& name, std::uint64_t check, const std::string& url,
                 Result<net::Response> response) {
    auto found = backends.find(name);
    if (found == backends.end() || found->second.check != check) return;
    Backend& backend = found->second;
    backend.check = 0;
    std::string trouble;
    Result<json::Value> list = json::Value();
    if (!response)
      trouble = response.error().message;
    else if (response->status < 200 || response->status > 299)
      trouble = "bad status from " + url + ": " + std::to_string(response->status);
    else if (list = json::parse(response->body); !list)
      trouble = list.error().message;
    const MonoTime now = loop.clock().mono();
    if (trouble.empty()) {
      const json::Array* resources = json::array_at(*list, {"resources"});
      backend.resources = resources ? *resources : json::Array();
      backend.verdict = Verdict{true, "Passed", "all checks passed"};
      backend.failures = 0;
      backend.next_check = now + kCheckAgain;
      ask_for_schema(name, backend);
    } else {
      // One answer that is missing does not yet make a server that has answered unavailable.
      const bool is_first =
          backend.failures++ == 0 && backend.verdict && backend.verdict->available;
      if (!is_first)
        backend.verdict = Verdict{false, "FailedDiscoveryCheck",
                                  "failing or missing response from " + url + ": " + trouble};
      backend.next_check =
          now + std::min(kLastRetry, kFirstRetry * (1 << std::min(backend.failures - 1, 5)));
    }
    conclude();
  }

  void ask_for_schema(const std::string& name, const Backend& backend) {
    const std::string path = "apis/" + backend.group + "/" + backend.version;
    backend.client->send(
        question(backend, "/openapi/v3"),
        [weak = weak_from_this(), &executor = loop, name, path](Result<net::Response> response) {
          executor.post([weak, name, hash = schema_hash(response, path)] {
            const std::shared_ptr<State> self = weak.lock();
            if (!self || self->ended) return;
            auto found = self->backends.find(name);
            if (found == self->backends.end() || found->second.openapi_hash == hash) return;
            found->second.openapi_hash = hash;
            self->publish();
          });
        });
  }

  void conclude() {
    publish();
    tell();
    set_timer();
    std::erase_if(clients, [](const auto& one) { return one.second.use_count() <= 1; });
  }

  void publish() {
    std::vector<RemotePtr> remotes;
    for (const auto& [name, backend] : backends) {
      RemoteVersion one;
      one.group = backend.group;
      one.version = backend.version;
      one.group_priority = json::int_at(backend.spec, {"groupPriorityMinimum"});
      one.version_priority = json::int_at(backend.spec, {"versionPriority"});
      one.available = backend.verdict && backend.verdict->available;
      one.origins = backend.origins;
      one.client = backend.client;
      one.resources = backend.resources;
      one.openapi_hash = backend.openapi_hash;
      remotes.push_back(std::make_shared<const RemoteVersion>(std::move(one)));
    }
    if (std::ranges::equal(remotes, published,
                           [](const RemotePtr& a, const RemotePtr& b) { return is_same(*a, *b); }))
      return;
    published = remotes;
    registry.set_remotes(std::move(remotes));
  }

  // Writes the verdicts into the APIServices. A write that comes too late fails, and what came
  // between wakes us.
  void tell() {
    const CatalogPtr catalog = registry.catalog();
    const ServedPtr served = catalog->find("apiregistration.k8s.io", "v1", "apiservices");
    const store::Snapshot snapshot = store.snapshot();
    std::vector<WriteRequest> requests;
    if (std::optional<WriteRequest> mended =
            mend_authentication(*catalog, snapshot, authentication_data(options)))
      requests.push_back(std::move(*mended));
    for (const auto& [name, backend] : backends) {
      const store::ItemPtr item = backend.verdict ? snapshot.get(served->bucket, name) : nullptr;
      if (!item) continue;
      const json::Value service = decode_object(*served, *item);
      std::optional<json::Array> conditions =
          changed_conditions(service, *backend.verdict, loop.clock().wall());
      if (!conditions) continue;
      WriteRequest request = own_write(served, name);
      request.verb = WriteRequest::Verb::patch;
      request.patch_type = kube::PatchType::merge;
      request.subresource = "status";
      request.body = json::Object{
          {"metadata", json::Object{{"resourceVersion",
                                     json::text_at(service, {"metadata", "resourceVersion"})}}},
          {"status", json::Object{{"conditions", std::move(*conditions)}}}};
      requests.push_back(std::move(request));
    }
    for (WriteRequest& request : requests) request.field_manager = "kube-apiserver";
    if (!requests.empty()) writes.run(std::move(requests), loop, [](std::vector<WriteOutcome>) {});
  }

  void set_timer() {
    std::optional<MonoTime> next;
    for (const auto& [name, backend] : backends)
      if (backend.check == 0 && !backend.origins.empty() && (!next || backend.next_check < *next))
        next = backend.next_check;
    if (!next || (timer && *timer <= *next)) return;
    timer = next;
    const Nanos delay =
        std::max(Nanos(0), std::chrono::duration_cast<Nanos>(*next - loop.clock().mono()));
    loop.post_after(delay, later([at = *next](State& self) {
                      if (self.timer == at) self.timer.reset();
                      self.look();
                    }));
  }
};

Aggregator::Aggregator(store::Store& store, Registry& registry, Writes& writes, Executor& loop,
                       AggregatorOptions options)
    : state_(std::make_shared<State>(store, registry, writes, loop, std::move(options))) {}

Aggregator::~Aggregator() {
  state_->ended = true;
  state_->subscriptions.clear();
}

void Aggregator::start() {
  const std::weak_ptr<State> weak = state_;
  const auto watch = [&](const char* group, const char* plural, std::function<void()> changed) {
    const ServedPtr served = state_->registry.catalog()->find(group, "v1", plural);
    state_->subscriptions.push_back(state_->store.subscribe(served->bucket, std::move(changed)));
  };
  watch("apiregistration.k8s.io", "apiservices", [weak] {
    if (const std::shared_ptr<State> self = weak.lock()) self->wake();
  });
  for (const char* plural : {"services", "endpoints"})
    watch("", plural, [weak] {
      if (const std::shared_ptr<State> self = weak.lock(); self && self->has_backends) self->wake();
    });
  state_->wake();
}

}  // namespace hekla::apiserver
