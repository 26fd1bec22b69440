// The HTTP face of the server: from a request to the read, write or stream that answers it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "apiserver/auth.h"
#include "apiserver/discovery.h"
#include "apiserver/http_watch.h"
#include "apiserver/negotiate.h"
#include "apiserver/published_schema.h"
#include "apiserver/reads.h"
#include "apiserver/registry.h"
#include "apiserver/router.h"
#include "apiserver/writes.h"
#include "base/metrics.h"
#include "kube/pod_streams.h"
#include "net/http.h"

namespace hekla::apiserver {

class AuditLog;  // audit.h
class AuditRecord;
class Backups;       // backup.h
class Conversions;   // conversion.h
class FlowLimits;    // flow_limits.h
class ProxyClients;  // connect/proxy.h

// What requests are answered from. All of it outlives every request.
struct Serving {
  store::Store* store = nullptr;
  Registry* registry = nullptr;
  Writes* writes = nullptr;
  HttpWatches* watches = nullptr;
  const Authenticator* authenticator = nullptr;
  const Authorizer* authorizer = nullptr;
  const Tokens* tokens = nullptr;
  const DiscoveryHandler* discovery = nullptr;
  const PublishedSchema* schema = nullptr;
  Backups* backups = nullptr;
  Conversions* conversions = nullptr;
  std::vector<std::string>
      components;  // those of this process, as `kubectl get componentstatuses` names them
  std::shared_ptr<FlowLimits> limits;
  std::shared_ptr<AuditLog> audit;  // null when nothing is recorded
  Lanes* lanes = nullptr;
  Executor* loop = nullptr;
  const Clock* clock = nullptr;
  Rng* rng = nullptr;
  Metrics* metrics = nullptr;
  std::atomic<kube::PodStreams*> pod_streams{nullptr};
  std::shared_ptr<ProxyClients> proxies;
};

// One request on its way. Shared with whatever will answer it.
struct Exchange {
  const Serving& serving;
  net::Request request;
  std::shared_ptr<net::ResponseWriter> writer;
  RequestInfo info;
  kube::UserInfo user;
  std::string audit_id;
  MonoTime begun;
  ServedPtr served;  // for requests about objects
  Answer answer;
  std::shared_ptr<AuditRecord> audit;  // null when this request is not recorded
  std::vector<std::string> warnings;   // what the answer says besides

  void respond(net::Response response) const;
  void respond(const Error& error) const;
  // What every answer carries.
  void add_headers(net::Headers& headers) const;
  void count(int status) const;
};
using ExchangePtr = std::shared_ptr<Exchange>;

// Runs on a net thread; answers there, at once or later.
void handle_request(const Serving& serving, net::Request request,
                    std::shared_ptr<net::ResponseWriter> writer);

// The groups of verbs, one file each.
void serve_read(const ExchangePtr& exchange);  // get, list, watch
void serve_pod_log(const ExchangePtr& exchange);
void serve_write(const ExchangePtr& exchange);  // create, update, patch, delete, deletecollection
// Requests that are answered and not stored: token requests and reviews. False when it is none of
// them.
bool serve_virtual(const ExchangePtr& exchange);

// How the body of a PATCH is meant; 415 when the kind takes no such patch.
Result<kube::PatchType> patch_type(std::string_view content_type, const Kind& kind);
// What the node agent reports and nobody stores. False when it is none of that.
bool serve_node_report(const ExchangePtr& exchange);
// The page in the version of the request, with what the selectors leave of it then. `then` may run
// on the loop.
void convert_page(const ExchangePtr& exchange, ListPage page,
                  std::move_only_function<void(ListPage)> then);
// A page as the client wants to see it.
void show_list(const ExchangePtr& exchange, ListPage page);

// The body as a value, whatever language it was written in. What it says twice is added to
// `repeated` in the words of a strict decoder of that language.
Result<json::Value> parse_body(const net::Request& request, std::vector<std::string>* repeated);
// What is said of a body that did not parse and should have been of `kind`.
Error unreadable_body(const net::Request& request, const std::string& kind, const Error& error);

}  // namespace hekla::apiserver
